"""Microaggregation: groups of k, their averages, and what combinations are shared."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask.data import open_table
from halfmask.kernels.partition import mdav
from halfmask.masks import Microaggregation, mask_table
from halfmask.verifier.masked._combination_checks import check_groups

KEY = bytes(range(32))


def written(mask, table):
    """Return the columns that the mask writes, of the types that it says."""
    types = mask.written(table.schema)
    found = mask.fit(table.select(*mask.columns, *mask.reads), KEY).apply(table, 0)
    assert dict(found.schema) == types
    assert found.height == table.height
    return found


def least_shared(*columns):
    """Count, in plain Python, how many rows share the rarest combination."""
    rows = list(zip(*(column.to_list() for column in columns), strict=True))
    return min(rows.count(row) for row in rows)


@st.composite
def tables(draw):
    """Tables of mixed columns, with missing cells in any of them."""
    n = draw(st.integers(2, 40))

    def cells(values):
        return draw(st.lists(st.none() | values, min_size=n, max_size=n))

    return pl.DataFrame(
        {
            "whole": pl.Series(cells(st.integers(-3, 9)), dtype=pl.Int32),
            "share": pl.Series(cells(st.floats(0, 1)), dtype=pl.Float64),
            "born": pl.Series(cells(st.dates(date(1950, 1, 1), date(2000, 1, 1))), dtype=pl.Date),
            "size": pl.Series(cells(st.sampled_from(["s", "m", "l"])), dtype=pl.String),
            "town": pl.Series(cells(st.sampled_from(["A", "B"])), dtype=pl.Categorical),
            "code": pl.Series(cells(st.integers(1, 3)), dtype=pl.Int64),
            "is": pl.Series(cells(st.booleans()), dtype=pl.Boolean),
        }
    )


NUMBERS = ("whole", "share", "born")
ALL = (*NUMBERS, "size", "town", "code", "is")


def of_all(k):
    return Microaggregation(
        columns=ALL, k=k, method="gower", orders={"size": ("s", "m", "l")}, categories=("code",)
    )


@pytest.mark.slow
@settings(max_examples=50)
@given(tables(), st.integers(2, 5))
def test_every_written_combination_is_shared_by_k_rows(table, k):
    k = min(k, table.height)
    for mask in (Microaggregation(columns=NUMBERS, k=k), of_all(k)):
        found = written(mask, table)

        assert least_shared(*found) >= k
        for name in mask.columns:  # missing stays missing
            assert (found[name].is_null() | table[name].is_not_null()).all()


@pytest.mark.slow
@given(tables(), st.integers(2, 5))
def test_each_column_by_itself_is_shared_by_k_rows(table, k):
    k = min(k, *(table[name].count() or table.height for name in NUMBERS))
    if k < 2:
        return
    found = written(Microaggregation(columns=NUMBERS, k=k, method="univariate"), table)

    for name in NUMBERS:
        assert found[name].is_null().equals(table[name].is_null())
        if found[name].count():
            assert least_shared(found[name].drop_nulls()) >= k


def test_groups_of_one_row_less_would_be_seen(monkeypatch):
    """The count above has power: it sees groups of k - 1."""
    whole = mdav.mdav_groups
    monkeypatch.setattr(mdav, "mdav_groups", lambda *args, k, **more: whole(*args, k=k - 1, **more))
    table = pl.DataFrame({"a": np.random.default_rng(0).normal(size=50)})

    assert least_shared(*written(Microaggregation(columns=("a",), k=4), table)) < 4


def test_averages_are_means_lower_medians_and_first_modes():
    table = pl.DataFrame(
        {
            "pay": [1, 2, 101, 100],
            "price": [Decimal("0.01"), Decimal("0.02"), Decimal("9.00"), Decimal("9.01")],
            "size": ["l", "s", "m", "l"],
            "town": ["Y", "X", "Z", "Z"],
        },
        schema_overrides={"price": pl.Decimal(10, 2)},
    )
    mask = Microaggregation(
        columns=("pay", "price", "size", "town"),
        k=2,
        method="gower",
        orders={"size": ("s", "m", "l")},
    )

    assert written(mask, table).rows() == [
        (2, Decimal("0.02"), "s", "X"),
        (2, Decimal("0.02"), "s", "X"),
        (100, Decimal("9.00"), "m", "Z"),
        (100, Decimal("9.00"), "m", "Z"),
    ]


def test_an_enum_is_ordered():
    table = pl.DataFrame({"size": pl.Series(["l", "s", "l"], dtype=pl.Enum(["s", "m", "l"]))})
    mask = Microaggregation(columns=("size",), k=3, method="gower")

    assert written(mask, table)["size"].to_list() == ["l"] * 3


def test_a_group_with_a_missing_cell_is_missing_in_this_column():
    table = pl.DataFrame({"a": [1.0, 1.0, None, 9.0], "b": [1.0, 2.0, 9.0, 9.0]})

    assert written(Microaggregation(columns=("a", "b"), k=2), table).rows() == [
        (1.0, 1.5),
        (1.0, 1.5),
        (None, 9.0),
        (None, 9.0),
    ]


def test_nan_is_missing():
    table = pl.DataFrame({"a": [1.0, 2.0, float("nan"), None]})

    found = written(Microaggregation(columns=("a",), k=2), table)

    assert found["a"].to_list() == [1.5, 1.5, None, None]


def test_strata_are_not_mixed():
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"a": rng.normal(size=60), "area": [None, "N", "S"] * 20})
    for method in ("mdav", "gower", "univariate"):
        mask = Microaggregation(columns=("a",), k=4, method=method, by=("area",))
        found = written(mask, table)

        assert least_shared(found["a"], table["area"]) >= 4
        for _, rows in table.with_columns(found["a"].alias("after")).group_by("area"):
            assert np.isclose(*rows.select("a", "after").mean().row(0))


def test_blocks_have_groups_of_k_too():
    table = pl.DataFrame(np.random.default_rng(2).normal(size=(500, 3)), schema=["a", "b", "c"])
    whole = written(Microaggregation(columns=("a", "b", "c"), k=5), table)
    parts = written(Microaggregation(columns=("a", "b", "c"), k=5, block_rows=100), table)

    assert least_shared(*parts) >= 5
    assert not parts.equals(whole)


def test_a_table_behind_the_mask_is_the_same_in_each_pass():
    rng = np.random.default_rng(3)
    table = pl.DataFrame({"a": rng.normal(size=99), "b": rng.integers(0, 9, 99), "c": range(99)})
    mask = Microaggregation(columns=("a", "b"), k=3)
    masked = mask_table(open_table(table), {}, key=KEY, table_masks=[mask])

    batches = pl.concat(masked.batches(columns=["b", "c", "a"]))
    assert batches["c"].to_list() == list(range(99))
    assert batches.select("a", "b").equals(masked.read().select("a", "b"))
    assert least_shared(batches["a"], batches["b"]) >= 3


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"k": 1}, "'k' parameter"),
        ({"columns": ()}, "has no columns"),
        ({"by": ("a",)}, "in 'columns' and in 'by'"),
        ({"method": "pca"}, "'method' parameter"),
        ({"block_rows": 0}, "'block_rows' parameter"),
        ({"categories": ("a",)}, "is for numbers"),
        ({"method": "gower", "categories": ("b",)}, "must name columns that it groups"),
        ({"method": "gower", "categories": ("a",), "orders": {"a": ("x",)}}, "each once"),
        ({"method": "gower", "orders": {"a": ("x", "x")}}, "each value once"),
    ],
)
def test_parameters_that_cannot_be_are_refused(given, error):
    with pytest.raises(ParameterError, match=error):
        Microaggregation(**{"columns": ("a",), "k": 2, **given})


@pytest.mark.parametrize(
    ("column", "given", "error"),
    [
        (pl.Series("a", ["x"]), {}, "is for numbers, dates and times"),
        (pl.Series("a", [True]), {"method": "univariate"}, "is for numbers, dates and times"),
        (pl.Series("a", [[1]]), {"method": "gower"}, "single values"),
        (
            pl.Series("a", [True]),
            {"method": "gower", "orders": {"a": ("x",)}},
            "which is for texts",
        ),
    ],
)
def test_columns_of_other_types_are_refused(column, given, error):
    mask = Microaggregation(columns=("a",), k=2, **given)

    with pytest.raises(SchemaError, match=error):
        mask.written({"a": column.dtype})


@pytest.mark.parametrize("method", ["mdav", "gower", "univariate"])
def test_fewer_rows_than_k_are_refused(method):
    mask = Microaggregation(columns=("a",), k=3, method=method)

    with pytest.raises(DataError, match="the table has only 2"):
        mask.fit(pl.DataFrame({"a": [1.0, 2.0]}), KEY)


def test_strata_of_fewer_rows_than_k_are_refused_without_their_names():
    mask = Microaggregation(columns=("a",), k=3, by=("area",))
    table = pl.DataFrame({"a": [1.0] * 6, "area": ["N"] * 3 + ["canary"] * 2 + ["W"]})

    with pytest.raises(DataError, match="2 strata have only 1") as caught:
        mask.fit(table, KEY)
    assert "canary" not in f"{caught.value} {caught.value.hint}"


def test_too_few_known_cells_are_refused_if_they_are_grouped_alone():
    mask = Microaggregation(columns=("a",), k=3, method="univariate")

    with pytest.raises(DataError, match="has 2 known cells"):
        mask.fit(pl.DataFrame({"a": [1.0, 2.0, None, None]}), KEY)


def test_a_table_without_rows_has_none_after():
    table = pl.DataFrame({"a": []}, schema={"a": pl.Float64})

    assert written(Microaggregation(columns=("a",), k=3), table).height == 0


def claims_of(mask, table):
    after = written(mask, table)
    return [
        (it.model, it.about["columns"], it.parameters, it.evidence, check_groups(it, after.lazy()))
        for it in mask.claims(mask.columns, after.select)
    ]


def test_its_k_is_claimed_and_counted_by_the_verifier():
    table = pl.DataFrame({"a": [1, 2, 3, 9, 8, 9, None, None], "b": range(8)})
    ((model, columns, parameters, evidence, count),) = claims_of(
        Microaggregation(columns=("a", "b"), k=2), table
    )

    assert (model, columns, parameters) == ("groups-of-k", ["a", "b"], {"k": 2})
    assert evidence["smallest"] >= 2
    assert count.holds


def test_one_changed_cell_breaks_the_claim():
    """The verifier's count has power: a row that leaves its group is seen."""
    table = pl.DataFrame({"a": range(9), "b": range(9)})
    mask = Microaggregation(columns=("a", "b"), k=3)
    after = written(mask, table)
    (claim,) = mask.claims(mask.columns, after.select)
    changed = after.with_columns(a=pl.when(pl.int_range(9) == 4).then(0).otherwise("a"))

    assert check_groups(claim, after.lazy()).holds
    assert not check_groups(claim, changed.lazy()).holds


def test_columns_that_are_grouped_alone_are_claimed_alone():
    table = pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0, None], "b": [5, 4, 3, 2, 1]})
    found = claims_of(Microaggregation(columns=("a", "b"), k=2, method="univariate"), table)

    # One missing cell of "a" is a value of its own that one row has.
    assert [columns for _, columns, *_ in found] == [["b"]]
    assert all(count.holds for *_, count in found)


def test_less_than_k_is_not_claimed():
    mask = Microaggregation(columns=("a",), k=3)

    assert mask.claims(["a"], lambda _: pl.DataFrame({"a": [1, 1, 1, 2, 2]})) == []


def standardized(table):
    values = table.to_numpy().astype(float)
    return (values - values.mean(axis=0)) / values.std(axis=0)


def error_share(path, k):
    """Return the squared error within groups, in per cent of the total."""
    before = pl.read_csv(path).cast(pl.Float64)
    mask = Microaggregation(columns=tuple(before.columns), k=k)
    points, after = standardized(before), written(mask, before).to_numpy()
    moved = (after - before.to_numpy().mean(axis=0)) / before.to_numpy().std(axis=0)
    return 100 * float(((points - moved) ** 2).sum() / (points**2).sum())


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "k", "share"),
    [
        ("Tarragona.csv", 3, 16.9326),
        ("Tarragona.csv", 4, 19.5460),
        ("CASCrefmicrodata.csv", 3, 5.6922),
        ("CASCrefmicrodata.csv", 4, 7.4947),
        ("CASCrefmicrodata.csv", 5, 9.0884),
        ("CASCrefmicrodata.csv", 10, 14.1559),
    ],
)
def test_the_loss_on_reference_data_is_the_published_one(shared_data, name, k, share):
    """SSE/SST of MDAV in per cent, as papers on these data sets of the CASC project report it."""
    assert round(error_share(shared_data / "sdc" / name, k), 4) == share


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["Tarragona.csv", "CASCrefmicrodata.csv"])
@pytest.mark.parametrize("k", [3, 10])
def test_an_attacker_links_no_more_than_one_row_of_k(shared_data, name, k):
    """Distance-based record linkage on all columns; ties are shared among the equal rows."""
    before = pl.read_csv(shared_data / "sdc" / name)
    mask = Microaggregation(columns=tuple(before.columns), k=k)
    after = written(mask, before)
    points, moved = standardized(before), after.to_numpy().astype(float)
    moved = (moved - before.to_numpy().mean(axis=0)) / before.to_numpy().std(axis=0)
    gaps = ((points[:, None, :] - moved[None, :, :]) ** 2).sum(axis=2)
    nearest = np.isclose(gaps, gaps.min(axis=1, keepdims=True))
    right = nearest[np.arange(len(points)), np.arange(len(points))] / nearest.sum(axis=1)

    assert least_shared(*after) >= k
    assert right.mean() <= 1 / k
