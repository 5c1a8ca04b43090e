"""Values become codes in an order that cuts can use, and new values find their place."""

from __future__ import annotations

import datetime as dt
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask import Anonymizer, KAnonymity, Ranges
from halfmask._errors import ColumnNotFoundError, HierarchyError, ParameterError, SchemaError
from halfmask.anonymize import Guided, Mdav, Mondrian
from halfmask.anonymize.coding import Coding, RangeGrid, code_column, relative_weights
from halfmask.data import Column, Hierarchy, Intervals
from halfmask.kernels.partition.records import APART

TREE = Hierarchy.from_rows(
    [("paris", "fr", "eu"), ("rome", "it", "eu"), ("lyon", "fr", "eu"), ("oslo", "no", "north")],
    column="x",
)


def coding_of(values, *, kind="numeric", missing=False, hierarchy=None, order=()):
    column = Column(name="x", role="quasi_identifier", kind=kind, hierarchy=hierarchy, order=order)
    return code_column(column, pl.Series("x", values), missing=missing)


def codes(coding, cells, dtype=None):
    return coding.codes(pl.Series("x", cells, dtype=dtype)).tolist()


def test_numbers_keep_their_order():
    coding = coding_of([30, 10, 20])

    assert coding.values.to_list() == [10, 20, 30]
    assert coding.ordered
    assert codes(coding, [20, 10, 30, 20]) == [1, 0, 2, 1]


def test_a_number_never_seen_takes_the_next_smaller_ones_place():
    coding = coding_of([10, 20, 30])

    assert codes(coding, [5, 10, 19, 20, 29, 31, 2**40]) == [0, 0, 0, 1, 1, 2, 2]


@pytest.mark.slow
@settings(deadline=None)
@given(
    values=st.sets(st.integers(-(2**62), 2**62), min_size=1, max_size=20),
    cells=st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=20),
)
def test_codes_of_integers_by_table_or_search(values, cells):
    coding = coding_of(list(values))
    ordered = sorted(values)

    expected = [max(0, sum(value <= cell for value in ordered) - 1) for cell in cells]

    assert codes(coding, cells) == expected


@pytest.mark.slow
@settings(deadline=None)
@given(
    start=st.integers(-(2**62), 2**62),
    steps=st.sets(st.integers(0, 300), min_size=1, max_size=20),
    cells=st.lists(st.integers(-10, 310), min_size=1, max_size=20),
)
def test_codes_of_integers_that_lie_close(start, steps, cells):
    """Close values are coded by a table; it clips and fills like the search."""
    coding = coding_of([start + step for step in steps])
    ordered = sorted(steps)

    expected = [max(0, sum(step <= cell for step in ordered) - 1) for cell in cells]

    assert codes(coding, [start + cell for cell in cells]) == expected


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt8, pl.Int32, pl.UInt64, pl.Float32, pl.Float64])
def test_a_batch_may_have_another_number_type(dtype):
    coding = coding_of([10, 20, 30])

    assert codes(coding, [10, 25, 99], dtype) == [0, 1, 2]


def test_fractions_lie_between_whole_numbers():
    assert codes(coding_of([10, 20]), [9.9, 10.5, 19.999, 20.0]) == [0, 0, 0, 1]
    assert codes(coding_of([10.5, 20.5]), [10, 11, 21]) == [0, 0, 1]


def test_decimals_are_compared_by_value():
    values = [Decimal("1.10"), Decimal("2.5")]
    coding = coding_of(pl.Series("x", values, dtype=pl.Decimal(10, 2)))

    assert coding.ordered
    assert codes(coding, values, pl.Decimal(10, 2)) == [0, 1]
    assert codes(coding, [Decimal("2.500"), Decimal("2.487")], pl.Decimal(10, 3)) == [1, 0]
    assert codes(coding, [1, 2, 3]) == [0, 0, 1]


def test_dates_are_compared_in_one_unit():
    days = [dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1)]  # noqa: DTZ001 # without a zone
    coding = coding_of(pl.Series("x", days, dtype=pl.Datetime("us")), kind="datetime")

    assert codes(coding, days, pl.Datetime("ms")) == [0, 1]
    assert codes(coding, days, pl.Datetime("ns")) == [0, 1]
    assert codes(coding, [dt.date(2020, 12, 31), dt.date(2021, 1, 1)]) == [0, 1]


@pytest.mark.parametrize(
    "cells",
    [["10"], [dt.date(2020, 1, 1)], [True], [dt.timedelta(days=1)]],
    ids=["text", "dates", "truth", "durations"],
)
def test_a_column_of_numbers_stays_one(cells):
    with pytest.raises(SchemaError, match="held Int64 at the fit"):
        codes(coding_of([10, 20]), cells)


@pytest.mark.parametrize("cells", [["a"], [1], [dt.time(1, 2)]])
def test_a_column_of_dates_stays_one(cells):
    coding = coding_of([dt.date(2020, 1, 1)], kind="datetime")

    with pytest.raises(SchemaError, match="held Date at the fit"):
        codes(coding, cells)


def test_categories_take_their_natural_order():
    coding = coding_of(["b", "a", "c"], kind="categorical")

    assert coding.values.to_list() == ["a", "b", "c"]
    assert not coding.ordered
    assert codes(coding, ["c", "a", "z"]) == [2, 0, -1]


def test_categories_may_be_given_an_order():
    coding = coding_of(["a", "b", "c"], kind="ordinal", order=("c", "unused", "a", "b"))

    assert coding.values.to_list() == ["c", "a", "b"]


def test_labels_of_ranges_are_ordered_by_their_numbers():
    labels = ["100+", "10-14", "5-9", "<5", "unknown"]

    for kind in ("ordinal", "categorical"):
        coding = coding_of(labels, kind=kind)
        assert coding.values.to_list() == ["<5", "5-9", "10-14", "100+", "unknown"]


def test_ordinal_texts_without_an_order_are_refused():
    with pytest.raises(SchemaError, match="texts have no order") as refused:
        coding_of(["low", "mid", "canary"], kind="ordinal")

    assert "canary" not in str(refused.value)


def test_texts_that_are_integers_are_ordered_as_integers():
    assert coding_of(["10", "9", "-1"], kind="categorical").values.to_list() == ["-1", "9", "10"]


def test_texts_of_one_integer_have_one_order():
    """Two texts of one number: the order in which they came must not show in the codes."""
    one = coding_of(["1", "01", "001", "2"], kind="categorical")
    other = coding_of(["2", "001", "01", "1"], kind="categorical")

    assert one.values.to_list() == other.values.to_list()
    assert codes(one, ["01", "1"]) == codes(other, ["01", "1"])


def test_numbers_as_categories_are_found_whatever_their_type():
    coding = coding_of([39, 7], kind="categorical")

    assert not coding.ordered
    assert codes(coding, [7, 39, 8]) == [0, 1, -1]
    assert codes(coding, [7.0, 39.0, 7.5]) == [0, 1, -1]
    assert codes(coding, ["39"]) == [1]


def test_truth_values_are_categories():
    coding = coding_of([True, False], kind="categorical")

    assert codes(coding, [True, False, None]) == [1, 0, -1]


@pytest.mark.parametrize(
    ("values", "kind"), [([1, 2], "numeric"), (["a", "b"], "categorical"), ([0.5, 1.5], "numeric")]
)
def test_missing_has_the_last_code_if_it_was_seen(values, kind):
    seen = coding_of(values, kind=kind, missing=True)
    never = coding_of(values, kind=kind)

    assert codes(seen, [None, values[0]]) == [2, 0]
    assert codes(never, [None, values[1]]) == [-1, 1]
    assert (seen.n_values, seen.n_codes) == (2, 3)
    assert (never.n_values, never.n_codes) == (2, 2)


def test_a_column_of_missing_cells_only():
    for hierarchy in (None, TREE, Intervals(widths=(5,))):
        coding = coding_of(pl.Series("x", [], dtype=pl.Int64), missing=True, hierarchy=hierarchy)
        assert codes(coding, [None, None], pl.Int64) == [0, 0]
        assert codes(coding, [None, 3]) == [0, -1]
        assert coding.n_codes == 1
        assert len(coding.boundaries) == 0


def test_a_batch_whose_column_has_no_type():
    assert codes(coding_of([1, 2], missing=True), [None, None]) == [2, 2]
    assert codes(coding_of(["a"], kind="categorical", missing=True), [None]) == [1]


def test_no_rows():
    assert codes(coding_of([1, 2]), [], pl.Int64) == []
    assert codes(coding_of(["a"], kind="categorical"), [], pl.String) == []


def test_a_hierarchy_gives_its_order():
    coding = coding_of(["lyon", "oslo", "paris"], kind="categorical", hierarchy=TREE)

    assert coding.values.to_list() == ["paris", "lyon", "oslo"]
    assert coding.hierarchy is not None
    assert coding.hierarchy.leaves == ("paris", "lyon", "oslo")
    assert coding.boundaries.tolist() == [1, 3]
    assert codes(coding, ["oslo", "lyon", "rome"]) == [2, 1, -1]


def test_missing_is_no_part_of_the_tree():
    coding = coding_of(["lyon", "oslo"], kind="categorical", hierarchy=TREE, missing=True)

    assert coding.boundaries.tolist() == [3, APART]
    assert codes(coding, [None, "oslo"]) == [2, 1]


def test_a_hierarchy_of_numbers_in_order_keeps_them_numbers():
    coding = coding_of([31, 22, 39], hierarchy=Intervals(widths=(5, 10)))

    assert coding.ordered
    assert coding.boundaries.tolist() == [3, 2]
    assert codes(coding, [22, 35, 50]) == [0, 1, 2]


def test_a_hierarchy_of_numbers_out_of_order_makes_them_categories():
    odd = Hierarchy.from_rows([("1", "odd"), ("3", "odd"), ("2", "even")], column="x")
    coding = coding_of([1, 2, 3], hierarchy=odd)

    assert not coding.ordered
    assert codes(coding, [1, 3, 2, 4]) == [0, 1, 2, -1]
    assert codes(coding, [1.0, 3.0]) == [0, 1]


def test_a_hierarchy_that_lacks_a_value():
    with pytest.raises(HierarchyError, match="lacks 1 value") as caught:
        coding_of(["lyon", "canary"], kind="categorical", hierarchy=TREE)

    assert "canary" not in str(caught.value)


def test_text_that_is_said_to_be_numeric():
    with pytest.raises(SchemaError, match="has kind numeric, but holds") as caught:
        coding_of(["canary"])

    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("value", [float("inf"), float("-inf")])
def test_infinite_numbers(value):
    with pytest.raises(SchemaError, match="infinite"):
        coding_of([1.0, value])


@pytest.mark.slow
def test_a_category_of_a_hundred_thousand_values():
    values = [f"v{i}" for i in range(100_000)]
    coding = coding_of(values, kind="categorical")

    found = coding.codes(pl.Series(values))

    assert np.unique(found).size == 100_000


def test_a_repr_names_the_column_and_counts():
    assert repr(coding_of(["canary"], kind="categorical")) == "Coding('x', 1 codes)"
    assert isinstance(coding_of([1]), Coding)


def test_spans_of_time_are_refused():
    with pytest.raises(SchemaError, match="'x' holds spans of time"):
        coding_of([dt.timedelta(hours=1), dt.timedelta(hours=2)])


@pytest.mark.parametrize(
    ("kind", "texts", "says"),
    [
        ("numeric", ["1,5", "2,5", "CANARY"], 'number_formats = "1234,5" in .* coerce'),
        ("numeric", ["+1", "2"], 'dtypes = "integer" in'),
        ("datetime", ["1.2.1980", "31.12.2001"], 'date_formats = "%d.%m.%Y" in'),
        ("datetime", ["1,5", "2,5"], "date_formats or number_formats"),
    ],
)
def test_texts_that_are_numbers_are_told_with_what_to_declare(kind, texts, says):
    """It isn't always a marker of missing cells."""
    column = Column(name="pay", role="quasi_identifier", kind=kind)

    with pytest.raises(SchemaError, match=says) as caught:
        code_column(column, pl.Series("pay", texts), missing=False)

    assert "CANARY" not in str(caught.value)


METHODS = [Mondrian(), Guided(), Mdav()]


def _widths(anonymizer: Anonymizer) -> np.ndarray:
    """Return the mean width of the rows' cells in each column, as a share of the column's."""
    plan = anonymizer.plan_
    steps = np.array([max(1, coding.n_codes - 1) for coding in plan.codings])
    widths = (plan.partition.high - plan.partition.low) / steps
    return np.average(widths, axis=0, weights=plan.partition.sizes)


def _fitted(method, rows, **more) -> Anonymizer:
    anonymizer = Anonymizer(guarantees=[KAnonymity(k=8)], method=method, **more)
    return anonymizer.fit(rows, np.arange(len(rows)) % 2)


@given(st.lists(st.floats(1e-3, 1e300), min_size=1, max_size=8))
def test_the_mean_of_relative_weights_is_one(weights):
    found = relative_weights(weights)
    assert found.mean() == pytest.approx(1)
    assert np.array_equal(np.argsort(-found)[:1], np.argsort(-np.array(weights))[:1])


@pytest.mark.parametrize("method", METHODS, ids=lambda it: it.name)
def test_a_weight_makes_its_column_narrower_and_the_others_wider(method):
    rows = np.random.default_rng(5).normal(size=(600, 3))
    even = _widths(_fitted(method, rows))
    heavy = _widths(_fitted(method, rows, weights={"x1": 8.0}))
    assert heavy[1] < 0.75 * even[1]
    assert heavy[0] > even[0]
    assert heavy[2] > even[2]


@pytest.mark.parametrize("method", METHODS, ids=lambda it: it.name)
def test_equal_weights_change_nothing(method):
    rows = np.random.default_rng(6).normal(size=(300, 2))
    plain, equal = _fitted(method, rows), _fitted(method, rows, weights={"x0": 3, "x1": 3})
    assert np.array_equal(plain.cells_, equal.cells_)


def test_a_weight_decides_which_rows_are_suppressed():
    """Two rims of one cell: the one of the heavier column is given up."""
    rows = np.array([[float(it), 0.0] for it in range(4)] + [[0.0, float(it)] for it in range(4)])

    def outer(weights):
        fitted = Anonymizer(
            guarantees=[KAnonymity(k=6)], max_suppression_fraction=0.2, weights=weights
        ).fit(rows)
        return fitted.cells_.tolist().index(-1)

    assert outer({"x0": 5}) == 3
    assert outer({"x1": 5}) == 7


def test_weights_keep_the_guarantee():
    rows = np.random.default_rng(7).integers(0, 9, size=(200, 3)).astype(float)
    for method in METHODS:
        fitted = _fitted(method, rows, weights={"x0": 100.0, "x2": 0.01})
        assert np.bincount(fitted.cells_).min() >= 8


def test_weights_that_gowers_distance_ignores_are_refused():
    frame = pl.DataFrame({"age": [1.0, 2, 3, 4], "city": ["a", "b", "a", "b"]})
    anonymizer = Anonymizer(guarantees=[KAnonymity(k=2)], method=Mdav(), weights={"age": 2})
    with pytest.raises(ParameterError, match="numbers or dates"):
        anonymizer.fit(frame)


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf"), "2", True])
def test_a_weight_that_is_none_is_refused(weight):
    rows = np.zeros((4, 1))
    with pytest.raises(ParameterError, match="weight"):
        Anonymizer(guarantees=[KAnonymity(k=2)], weights={"x0": weight}).fit(rows)
    with pytest.raises(ParameterError, match="weight"):
        Column(name="age", role="quasi_identifier", kind="numeric", weight=weight)


def test_weights_of_unknown_columns_and_other_things_are_refused():
    rows = np.zeros((4, 1))
    with pytest.raises(ColumnNotFoundError, match="'age'"):
        Anonymizer(guarantees=[KAnonymity(k=2)], weights={"age": 2}).fit(rows)
    others: list[Any] = [[2.0], {0: 2.0}]
    for weights in others:
        with pytest.raises(ParameterError, match="weights"):
            Anonymizer(guarantees=[KAnonymity(k=2)], weights=weights).fit(rows)


def test_levels_out_of_order_are_refused():
    with pytest.raises(SchemaError, match="least level"):
        Column(name="a", role="quasi_identifier", kind="numeric", least_level=2, greatest_level=1)
    with pytest.raises(ParameterError, match="least_level"):
        Column(name="a", role="quasi_identifier", kind="numeric", least_level=-1)


def test_on_adult_a_weight_moves_detail_to_its_column(adult_csv):
    """Without a weight the country keeps the least detail, because most rows have one value."""
    columns = ["age", "education", "marital-status", "occupation", "sex", "hours-per-week"]
    table = pl.read_csv(adult_csv, n_rows=6_000).select(columns)

    def kept(**weights):
        fitted = Anonymizer(guarantees=[KAnonymity(k=10)], weights=weights, method=Mondrian()).fit(
            table
        )
        return dict(zip(columns, 1 - _widths(fitted), strict=True))

    even, heavy = kept(), kept(occupation=6.0)
    assert heavy["occupation"] > even["occupation"] + 0.1
    assert heavy["age"] < even["age"]


STEPS = st.sampled_from([0.1, 0.05, 0.3, 0.25, 1.0, 2.5, 5.0, 7.0, 100.0, 1e-6])


@given(st.floats(-1e9, 1e9), STEPS)
def test_a_number_lies_in_its_piece(value, step):
    grid = RangeGrid(step=step)
    start = grid.starts(pl.Series("x", [value]))
    end = grid.ends(start)

    assert start[0] <= value < end[0]
    # Both ends are the multiples that the step's decimals say, and neighbours.
    decimal = Fraction(str(step))
    place = round(Fraction(start[0]) / decimal)
    assert float(place * decimal) == pytest.approx(start[0], abs=1e-9 * max(1, abs(value)))
    assert float((place + 1) * decimal) == pytest.approx(end[0], abs=1e-9 * max(1, abs(value)))


@given(st.floats(-1e6, 1e6), STEPS)
def test_the_end_of_a_piece_is_the_start_of_the_next(value, step):
    grid = RangeGrid(step=step)
    end = grid.ends(grid.starts(pl.Series("x", [value])))
    assert grid.starts(end)[0] == end[0]


@given(st.integers(-(2**40), 2**40), st.integers(1, 10**6))
def test_whole_numbers_stay_whole(value, step):
    start = RangeGrid(step=step).starts(pl.Series("x", [value]))
    assert start.dtype == pl.Int64
    assert start[0] == value // step * step
    assert RangeGrid(step=step).ends(start)[0] == start[0] + step


@pytest.mark.parametrize(
    ("unit", "start", "end"),
    [
        (
            "minute",
            datetime.fromisoformat("2024-02-29T13:59:00"),
            datetime.fromisoformat("2024-02-29T14:00:00"),
        ),
        (
            "hour",
            datetime.fromisoformat("2024-02-29T13:00:00"),
            datetime.fromisoformat("2024-02-29T14:00:00"),
        ),
        (
            "day",
            datetime.fromisoformat("2024-02-29T00:00:00"),
            datetime.fromisoformat("2024-03-01T00:00:00"),
        ),
        (
            "week",
            datetime.fromisoformat("2024-02-26T00:00:00"),
            datetime.fromisoformat("2024-03-04T00:00:00"),
        ),
        (
            "month",
            datetime.fromisoformat("2024-02-01T00:00:00"),
            datetime.fromisoformat("2024-03-01T00:00:00"),
        ),
        (
            "quarter",
            datetime.fromisoformat("2024-01-01T00:00:00"),
            datetime.fromisoformat("2024-04-01T00:00:00"),
        ),
        (
            "year",
            datetime.fromisoformat("2024-01-01T00:00:00"),
            datetime.fromisoformat("2025-01-01T00:00:00"),
        ),
    ],
)
def test_times_end_at_starts_of_units(unit, start, end):
    found = RangeGrid(unit=unit).starts(
        pl.Series("t", [datetime.fromisoformat("2024-02-29T13:59:59.123456")])
    )
    assert found.to_list() == [start]
    assert RangeGrid(unit=unit).ends(found).to_list() == [end]


def test_fractions_of_whole_numbers_and_hours_of_dates_are_refused():
    with pytest.raises(SchemaError, match="whole step"):
        RangeGrid(step=0.5).starts(pl.Series("age", [1]))
    with pytest.raises(SchemaError, match="hour"):
        RangeGrid(unit="hour").starts(pl.Series("born", [date(2024, 1, 1)]))
    with pytest.raises(ParameterError, match="step"):
        Ranges(step=0)
    with pytest.raises(ParameterError, match="unit"):
        Ranges(unit="fortnight")  # type: ignore[arg-type] # as it says


def _written(rows: pl.DataFrame, recoding: Ranges, k: int = 4) -> pl.DataFrame:
    anonymizer = Anonymizer(guarantees=[KAnonymity(k=k)], method=Mondrian(), recoding=recoding)
    written = anonymizer.fit_transform(rows)
    assert isinstance(written, pl.DataFrame)
    return written


def test_every_row_lies_in_its_range_and_no_ranges_of_one_column_overlap():
    draw = np.random.default_rng(1)
    rows = pl.DataFrame({"pay": draw.normal(30, 9, 400)})

    texts = _written(rows, Ranges(step=2.5))["pay"]

    ends = texts.str.strip_chars("[)").str.split(", ").list.eval(pl.element().cast(pl.Float64))
    low, high = ends.list.get(0), ends.list.get(1)
    assert ((low <= rows["pay"]) & (rows["pay"] < high)).all()
    assert (low % 2.5 == 0).all()
    assert (high % 2.5 == 0).all()
    pieces = pl.DataFrame({"low": low, "high": high}).unique().sort("low")
    assert (pieces["low"][1:] >= pieces["high"][:-1]).all()
    assert min(texts.value_counts()["count"].to_list()) >= 4


def test_no_end_is_a_microsecond_of_somebody():
    draw = np.random.default_rng(2)
    seconds = pl.Series(draw.integers(0, 10**7, 300).tolist())
    times = pl.select(
        pl.lit("2024-01-01").str.to_datetime()
        + pl.duration(seconds=pl.lit(seconds), microseconds=pl.lit(seconds))
    ).to_series()
    rows = pl.DataFrame({"seen": times})

    texts = _written(rows, Ranges(unit="hour"))["seen"]
    plain = _written(rows, Ranges())["seen"]

    assert not plain.str.contains(":00:00.000000").all()
    assert texts.str.count_matches(":00:00").eq(2).all()


def test_missing_cells_stay_beside_the_pieces():
    rows = pl.DataFrame({"pay": [1.0, 2.0, 3.0, None, None]})
    texts = _written(rows, Ranges(step=10), k=5)["pay"]
    assert set(texts) == {"[0.0, 10.0) or missing"}


def test_new_rows_find_their_piece():
    rows = pl.DataFrame({"age": list(range(20, 60))})
    anonymizer = Anonymizer(guarantees=[KAnonymity(k=10)], recoding=Ranges(step=10)).fit(rows)

    found = anonymizer.transform(pl.DataFrame({"age": [20, 29, 30, 59]}))["age"]

    assert found.to_list() == ["[20, 30)", "[20, 30)", "[30, 40)", "[50, 60)"]


def test_a_hierarchy_and_a_step_are_refused_together():
    anonymizer = Anonymizer(
        guarantees=[KAnonymity(k=2)],
        recoding=Ranges(step=10),
        hierarchies={"age": Intervals((5,))},
    )
    with pytest.raises(SchemaError, match="hierarchy"):
        anonymizer.fit(pl.DataFrame({"age": [1, 2, 3, 4]}))


def test_ends_of_the_grid_are_no_weakness():
    assert Ranges().weaknesses == ("range-ends-are-values",)
    assert Ranges(step=5).weaknesses == ("range-ends-are-values",)  # dates still end at values
    assert Ranges(step=5, unit="month").weaknesses == ()
