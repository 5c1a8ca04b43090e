"""Synthesizer: rows that look like a table's, keep its rules, and hold no rare category."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

from halfmask import ColumnNotFoundError, DataError, ParameterError, SchemaError
from halfmask.synth import (
    AtMost,
    FixedCombinations,
    SumOf,
    Synthesizer,
    blend_rows,
    rotate_groups,
)

MODELS = ("trees", "forest", "boosting", "parametric")


def people(n: int = 600, seed: int = 0) -> pl.DataFrame:
    """Return a table in which income depends on age and town, with missing cells and zeros."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    town = rng.choice(["Lyon", "Nice", "Rome"], n, p=[0.5, 0.3, 0.2])
    income = age * 500 + (town == "Rome") * 20_000 + rng.integers(0, 5_000, n)
    bonus = np.where(rng.random(n) < 0.7, 0, rng.integers(1, 40, n) * 100)
    born = [dt.date(2020, 1, 1) - dt.timedelta(days=int(year) * 365) for year in age]
    return pl.DataFrame(
        {
            "age": age,
            "town": town,
            "income": income,
            "bonus": bonus,
            "born": born,
            "insured": rng.random(n) < age / 100,
            "rate": np.round(rng.random(n) * 10, 1),
        }
    ).with_columns(
        pl.when(pl.col("age") > 70).then(None).otherwise(pl.col("rate")).alias("rate"),
    )


def correlation(table: pl.DataFrame) -> float:
    """Return the correlation of age and income."""
    return float(table.select(pl.corr("age", "income")).item())


@parametrize_with_checks([Synthesizer(random_state=0, min_leaf=2)])
def test_scikit_learns_contract(estimator, check):
    check(estimator)


@pytest.mark.mostly_slow
@pytest.mark.parametrize("model", MODELS)
def test_rows_have_the_types_and_ranges_of_the_table(model):
    table = people()
    drawn = Synthesizer(model=model, random_state=1).fit(table).sample(500)
    assert drawn.schema == table.schema
    assert drawn.height == 500
    for name in ("age", "income", "bonus", "born", "rate"):
        assert table[name].min() <= drawn[name].min() <= drawn[name].max() <= table[name].max()
    assert set(drawn["town"]) <= set(table["town"])
    assert (drawn["bonus"] % 100 == 0).all()
    assert (drawn["rate"].round(1) == drawn["rate"]).drop_nulls().all()


@pytest.mark.mostly_slow
@pytest.mark.parametrize("model", MODELS)
def test_what_belongs_together_stays_together(model):
    """The power of it: drawing each column by itself loses what is asked for here."""
    table = people(2_000)
    drawn = Synthesizer(model=model, random_state=1).fit(table).sample(2_000)
    assert abs(correlation(drawn) - correlation(table)) < 0.06
    rome, other = (
        drawn.filter(pl.col("town") == "Rome", pl.col("age").is_between(40, 50))["income"].mean(),
        drawn.filter(pl.col("town") != "Rome", pl.col("age").is_between(40, 50))["income"].mean(),
    )
    assert rome - other > 10_000
    shuffled = table.with_columns(pl.col("income").shuffle(seed=1))
    assert abs(correlation(shuffled) - correlation(table)) > 0.6


def test_zeros_and_missing_cells_are_as_frequent_as_in_the_table():
    table = people(3_000)
    drawn = Synthesizer(random_state=1).fit(table).sample(3_000)
    assert abs((drawn["bonus"] == 0).mean() - (table["bonus"] == 0).mean()) < 0.05
    assert drawn["rate"].null_count() > 0
    # Whoever is older than 70 has no rate.
    assert drawn.filter(pl.col("age") < 65)["rate"].null_count() < 0.02 * drawn.height


def test_same_seed_same_rows_and_another_seed_others():
    fitted = Synthesizer(random_state=3).fit(people())
    assert_frame_equal(fitted.sample(50), fitted.sample(50))
    assert not fitted.sample(50).equals(fitted.sample(50, random_state=4))


def test_a_rare_category_is_never_written():
    table = people(400).with_columns(
        town=pl.when(pl.int_range(pl.len()) < 4).then(pl.lit("Bern")).otherwise(pl.col("town"))
    )
    drawn = Synthesizer(random_state=1).fit(table).sample(5_000)
    assert "Bern" not in set(drawn["town"])
    assert "Bern" in set(Synthesizer(random_state=1, min_leaf=2).fit(table).sample(5_000)["town"])


def test_a_number_of_one_person_is_not_copied():
    rng = np.random.default_rng(0)
    table = pl.DataFrame(
        {"weight": rng.normal(70, 10, 1_000), "sex": rng.choice(["f", "m"], 1_000)}
    )
    drawn = Synthesizer(random_state=1).fit(table).sample(1_000)
    assert not set(drawn["weight"]) & set(table["weight"])


def test_a_column_of_names_is_refused_without_a_name():
    table = pl.DataFrame({"name": [f"canary {i}" for i in range(100)], "age": range(100)})
    with pytest.raises(SchemaError, match="'name'") as raised:
        Synthesizer().fit(table)
    assert "canary" not in str(raised.value)


def test_identifiers_are_new_of_the_same_form_and_all_different():
    table = people(200).with_columns(
        card=pl.format("AB-{}", pl.int_range(pl.len()) + 1_000), number=pl.int_range(pl.len()) + 7
    )
    drawn = Synthesizer(identifiers=["card", "number"], random_state=1).fit(table).sample(300)
    assert drawn["card"].n_unique() == 300
    assert drawn["card"].str.contains(r"^[A-Z]{2}-\d{4}$").all()
    assert drawn["number"].to_list() == list(range(1, 301))


def test_one_row_a_constant_column_and_all_missing():
    one = pl.DataFrame({"a": [1], "b": ["x"], "c": pl.Series([None], dtype=pl.Float64)})
    drawn = Synthesizer(random_state=0, min_leaf=1).fit(one).sample(3)
    assert drawn.rows() == [(1, "x", None)] * 3
    with pytest.raises(DataError, match="n_samples = 1"):
        Synthesizer().fit(one)


def test_lists_and_infinite_numbers_are_refused():
    with pytest.raises(SchemaError, match="'tags'"):
        Synthesizer().fit(pl.DataFrame({"tags": [["a"], ["b"]]}))
    with pytest.raises(SchemaError, match="infinite"):
        Synthesizer().fit(pl.DataFrame({"x": [1.0, float("inf")]}))


@pytest.mark.parametrize("names", [{"columns": ["agee"]}, {"order": ["agee"]}])
def test_unknown_columns_are_named(names):
    with pytest.raises(ColumnNotFoundError, match="agee"):
        Synthesizer(**names).fit(people(50))


def test_order_is_kept_and_must_be_whole():
    table = people(100).select("age", "town", "income")
    fitted = Synthesizer(order=["income", "town", "age"], random_state=0).fit(table)
    assert fitted.order_ == ["income", "town", "age"]
    with pytest.raises(ParameterError, match="order"):
        Synthesizer(order=["income"]).fit(table)


def test_pandas_and_arrays_come_back_as_they_went_in():
    pandas = pytest.importorskip("pandas")
    frame = people(100).select("age", "town").to_pandas()
    assert isinstance(Synthesizer(random_state=0).fit(frame).sample(5), pandas.DataFrame)
    array = people(100).select("age", "income").to_numpy()
    assert Synthesizer(random_state=0).fit(array).sample(5).shape == (5, 2)


def test_ordered_categories_come_back_in_order_and_without_rare_ones():
    sizes = pl.Series("size", ["S"] * 100 + ["L"] * 100 + ["M"], dtype=pl.Enum(["S", "M", "L"]))
    drawn = Synthesizer(random_state=1).fit(pl.DataFrame([sizes])).sample(100)
    assert drawn.dtypes == [pl.Enum(["S", "L"])]
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"size": pandas.Categorical(sizes, ["S", "M", "L"], ordered=True)})
    drawn = Synthesizer(random_state=1).fit(frame).sample(100)
    assert drawn["size"].cat.categories.tolist() == ["S", "L"]


# Conditions


def test_rows_have_what_is_given_and_the_rest_goes_with_it():
    table = people(2_000)
    fitted = Synthesizer(random_state=1).fit(table)
    drawn = fitted.sample(500, given={"town": "Rome"})
    assert drawn.height == 500
    assert set(drawn["town"]) == {"Rome"}
    rome = table.filter(pl.col("town") == "Rome")["income"].mean()
    assert abs(drawn["income"].mean() - rome) < 3_000
    aged = fitted.sample(20, given={"age": 30, "town": "Nice"})
    assert set(aged.select("age", "town").rows()) == {(30, "Nice")}


@pytest.mark.parametrize("value", ["Atlantis", None, 7])
def test_a_condition_that_never_occurs_is_an_error_without_the_value(value):
    fitted = Synthesizer(random_state=1).fit(people())
    with pytest.raises(DataError, match="'town' never occurs") as raised:
        fitted.sample(5, given={"town": value})
    assert "Atlantis" not in str(raised.value)


def test_a_combination_that_never_occurs_ends_with_an_error():
    table = pl.DataFrame({"sex": ["f", "m"] * 200, "pregnant": [True, False] * 200})
    with pytest.raises(DataError, match="Only 0 of"):
        Synthesizer(random_state=1).fit(table).sample(5, given={"sex": "m", "pregnant": True})


# Rules


def spans(n: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    start = pl.Series(rng.integers(0, 3_000, n)).cast(pl.Date)
    wage, bonus = rng.integers(1, 9, n) * 1_000, rng.integers(0, 5, n) * 50
    place = rng.choice(["Lyon", "Nice", "Rome"], n)
    return pl.DataFrame(
        {
            "start": start,
            "end": (start.cast(pl.Int32) + pl.Series(rng.integers(0, 5, n))).cast(pl.Date),
            "wage": wage,
            "bonus": bonus,
            "total": wage + bonus,
            "town": place,
            "country": np.where(place == "Rome", "Italy", "France"),
        }
    )


RULES = (
    AtMost(low="start", high="end"),
    SumOf(total="total", parts=("wage", "bonus")),
    FixedCombinations(columns=("town", "country")),
)


def test_every_row_keeps_every_rule():
    table = spans()
    drawn = Synthesizer(rules=RULES, random_state=1).fit(table).sample(3_000)
    assert drawn.schema == table.schema
    assert drawn.columns == table.columns
    assert (drawn["start"] <= drawn["end"]).all()
    assert (drawn["wage"] + drawn["bonus"] == drawn["total"]).all()
    assert set(drawn.select("town", "country").rows()) <= set(
        table.select("town", "country").rows()
    )
    assert (drawn["end"] - drawn["start"]).max() <= dt.timedelta(days=4)


def test_without_the_rules_rows_break_them():
    """The power of the test above."""
    drawn = Synthesizer(random_state=1).fit(spans()).sample(3_000)
    assert (drawn["start"] > drawn["end"]).any()
    assert (drawn["wage"] + drawn["bonus"] != drawn["total"]).any()


def test_a_table_that_breaks_a_rule_is_refused_with_the_count():
    table = spans().with_columns(
        total=pl.col("total") + (pl.int_range(pl.len()) < 3).cast(pl.Int64)
    )
    with pytest.raises(DataError, match="3 of 400 rows break"):
        Synthesizer(rules=RULES).fit(table)


@pytest.mark.parametrize("dtype", [pl.Int64, pl.Decimal(38, 2)])
def test_sums_of_whole_numbers_and_decimals_are_exact(dtype):
    """One off among ten to the fifteenth is within a tolerance of fractions."""
    table = pl.DataFrame({"a": [10**15] * 50, "b": [0] * 50, "sum": [10**15] * 50}).cast(dtype)
    rule = SumOf(total="sum", parts=("a", "b"))
    assert Synthesizer(rules=[rule], random_state=0).fit(table).sample(3)["sum"][0] == 10**15
    one = (pl.int_range(pl.len()) == 7).cast(pl.Int64).cast(dtype)
    off = table.with_columns(pl.col("sum") + one)
    with pytest.raises(DataError, match="1 of 50 rows break"):
        Synthesizer(rules=[rule]).fit(off)
    floats = off.cast(pl.Float64)
    assert Synthesizer(rules=[rule], random_state=0).fit(floats).sample(3).height == 3


def test_rules_of_the_wrong_types_or_columns_are_refused():
    with pytest.raises(SchemaError, match="two numbers"):
        Synthesizer(rules=[AtMost(low="town", high="wage")]).fit(spans())
    with pytest.raises(ColumnNotFoundError):
        Synthesizer(rules=[AtMost(low="begin", high="end")]).fit(spans())
    with pytest.raises(ParameterError, match="two rules"):
        Synthesizer(rules=[AtMost(low="start", high="end"), AtMost(low="start", high="end")]).fit(
            spans()
        )


# Some columns


def test_redraw_changes_the_named_columns_and_rows_only():
    table = people(500)
    fitted = Synthesizer(columns=["income", "bonus"], random_state=1).fit(table)
    assert set(fitted.order_) == {"income", "bonus"}
    drawn = fitted.redraw(table)
    kept = [name for name in table.columns if name not in ("income", "bonus")]
    assert_frame_equal(drawn.select(kept), table.select(kept))
    assert abs(correlation(drawn) - correlation(table)) < 0.06
    rows = np.arange(500) < 100
    some = fitted.redraw(table, rows=rows)
    assert_frame_equal(some[100:], table[100:])
    assert not some[:100].equals(table[:100])


def test_sampling_needs_the_kept_columns():
    fitted = Synthesizer(columns=["income"], random_state=1).fit(people(100))
    with pytest.raises(ParameterError, match="redraw"):
        fitted.sample(5)


def test_a_rule_must_not_straddle_kept_and_synthesized_columns():
    with pytest.raises(ParameterError, match="kept"):
        Synthesizer(columns=["end"], rules=[AtMost(low="start", high="end")]).fit(spans())


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(
            st.integers(-5, 5) | st.none(), st.sampled_from("abc") | st.none(), st.booleans()
        ),
        min_size=1,
        max_size=40,
    )
)
def test_whatever_the_rows_what_is_drawn_lies_among_them(rows):
    table = pl.DataFrame(
        rows, schema={"n": pl.Int64, "c": pl.String, "b": pl.Boolean}, orient="row"
    )
    drawn = Synthesizer(min_leaf=1, random_state=0).fit(table).sample(30)
    assert drawn.schema == table.schema
    for name in table.columns:
        assert set(drawn[name]) <= set(table[name])


def test_decimals_keep_their_size():
    rng = np.random.default_rng(0)
    cents = pl.Series("price", rng.integers(0, 100_000, 400)).cast(pl.String)
    table = pl.DataFrame({"price": cents}).select(
        (pl.col("price").cast(pl.Decimal(12, 2)) / 100).cast(pl.Decimal(12, 2)),
        pl.Series("sort", rng.integers(0, 3, 400)),
    )
    drawn = Synthesizer(random_state=1).fit(table).sample(400)
    assert drawn.schema == table.schema
    assert table["price"].min() <= drawn["price"].min()
    assert drawn["price"].max() <= table["price"].max()
    turned = rotate_groups(table, k=5, numbers=["price", "sort"], rng=rng).rows
    mixed = blend_rows(table, drawn, original_share=0.5, numbers=["price"], rng=rng)
    for made in (turned, mixed):
        assert made.schema == table.schema
        means = [each["price"].cast(pl.Float64).to_numpy().mean() for each in (made, table)]
        assert abs(means[0] - means[1]) < 60


@pytest.mark.parametrize(
    "cells",
    [
        pl.Series([2**63 + i for i in range(100)], dtype=pl.UInt64),
        pl.Series([(-1) ** i * (2**62 + i) for i in range(100)], dtype=pl.Int64),
    ],
)
def test_whole_numbers_beyond_64_bits_are_refused_without_a_value(cells):
    with pytest.raises(SchemaError, match="64 bits with a sign") as raised:
        Synthesizer().fit(pl.DataFrame({"n": cells}))
    assert not any(str(value) in str(raised.value) for value in cells)


def test_what_is_at_most_something_missing_stays_missing():
    start = np.random.default_rng(0).integers(0, 100, 400)
    ends = [None if i % 2 else int(it) + 50 for i, it in enumerate(start)]
    table = pl.DataFrame({"start": start, "end": ends})
    rule = AtMost(low="start", high="end")
    drawn = Synthesizer(rules=[rule], random_state=1).fit(table).sample(400)
    assert 150 < drawn["end"].null_count() < 250
    assert (drawn["end"] > drawn["start"]).drop_nulls().all()
    whole = table.with_columns(start=pl.col("start") - 0.5)
    drawn = Synthesizer(rules=[rule], random_state=1).fit(whole).sample(400)
    assert drawn.schema == whole.schema


def test_a_sum_that_its_type_cannot_hold_is_refused():
    rng = np.random.default_rng(0)
    wage = rng.integers(0, 200, 400)
    bonus = np.minimum(255 - wage, rng.integers(0, 200, 400))
    narrow = pl.DataFrame({"wage": wage, "bonus": bonus, "pay": wage + bonus}).cast(pl.UInt8)
    rule = SumOf(total="pay", parts=("wage", "bonus"))
    with pytest.raises(DataError, match="UInt8 can't hold"):
        Synthesizer(rules=[rule], random_state=1).fit(narrow).sample(4_000)
    wide = narrow.with_columns(pl.col("pay").cast(pl.Int64))
    drawn = Synthesizer(rules=[rule], random_state=1).fit(wide).sample(4_000)
    parts = drawn["wage"].cast(pl.Int64) + drawn["bonus"].cast(pl.Int64)
    assert (parts == drawn["pay"]).all()
    assert drawn["pay"].max() > 255


@pytest.mark.parametrize("low_digits", [0, 1, 2, None])
def test_rules_write_numbers_with_the_digits_of_the_table(low_digits):
    """0.1 + 0.2 is 0.3: sixteen digits would tell a synthetic row from all others."""
    rng = np.random.default_rng(0)
    net = np.round(rng.gamma(2, 100, 600), low_digits or 0)
    tax = np.round(rng.gamma(1, 50, 600), 2)
    frame = pl.DataFrame({"net": net, "tax": tax, "gross": np.round(net + tax, 2)})
    frame = frame.cast({"net": pl.Int64}) if low_digits is None else frame
    table = frame.with_columns(total=(pl.col("net") + pl.col("tax")).round(2))
    rules = (AtMost(low="net", high="gross"), SumOf(total="total", parts=("net", "tax")))

    for rule in rules:
        drawn = Synthesizer(rules=[rule], random_state=1).fit(table).sample(600)
        for name in rule.about:
            texts = [repr(it) for it in drawn[name]]
            assert max(len(it.partition(".")[2]) for it in texts) <= 2
        assert rule.name != "at-most" or (drawn["net"] <= drawn["gross"]).all()


def test_numbers_without_a_grid_stay_without_one():
    """Seven digits are as many as there are."""
    rng = np.random.default_rng(0)
    low = rng.random(400)
    table = pl.DataFrame({"low": low, "high": low + rng.random(400) / 1000})

    drawn = (
        Synthesizer(rules=[AtMost(low="low", high="high")], random_state=1).fit(table).sample(400)
    )

    assert (drawn["low"] <= drawn["high"]).all()
    assert (drawn["high"] - drawn["low"]).max() <= 0.0010001


@pytest.mark.parametrize("dtype", [pl.Int64, pl.Float64, pl.Decimal(12, 0)])
@pytest.mark.parametrize("codes", [(-8,), (-9, -8), (99_999,), (-8, 99_999)])
def test_nothing_is_drawn_between_a_code_and_amounts(dtype, codes):
    """603 cells of -8 mean that nobody knows: -2 and 35 would be incomes that nobody has."""
    rng = np.random.default_rng(0)
    amounts = 100 + 50 * rng.gamma(1.5, 40, 3900).round().astype(np.int64)
    cells = np.concatenate([amounts, np.repeat(codes, 600 // len(codes))])
    rng.shuffle(cells)
    table = pl.DataFrame({"income": cells, "age": rng.integers(18, 90, len(cells))})
    table = table.cast({"income": dtype})

    drawn = Synthesizer(random_state=1).fit(table).sample(4000)["income"].cast(pl.Float64)

    found = drawn.filter(~drawn.is_in([float(it) for it in codes]))
    assert found.min() >= 100
    assert found.max() <= amounts.max()
    assert found.n_unique() > 200
    if dtype == pl.Int64:  # incomes keep their grid, whatever the codes are
        assert set(found % 50) == {0}
    assert 400 < len(drawn) - len(found) < 800


@pytest.mark.parametrize(
    ("rule", "named"),
    [
        (SumOf, {"total": "pay", "parts": "ab"}),
        (SumOf, {"total": "pay", "parts": ("a", "a")}),
        (SumOf, {"total": "a", "parts": ("a", "b")}),
        (FixedCombinations, {"columns": "ab"}),
        (FixedCombinations, {"columns": ("a", "b", "b")}),
        (AtMost, {"low": "a", "high": "a"}),
    ],
)
def test_rules_are_about_different_columns(rule, named):
    with pytest.raises(ParameterError, match=r"different|list of names|other columns"):
        rule(**named)
