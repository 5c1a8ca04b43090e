"""PRAM keeps frequencies, and the share of cells that it says."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask.masks import Pram, StratifiedPram, ValueCounts
from masks.masking import KEY  # type: ignore[import-not-found] # beside, not in a package
from masks.table_masking import changed  # type: ignore[import-not-found] # as above

SHARES = {"a": 0.7, "b": 0.25, "c": 0.05}
MATRIX = {
    "a": {"a": 0.9, "b": 0.1},
    "b": {"a": 0.2, "b": 0.5, "c": 0.3},
    "c": {"c": 0.6, "a": 0.4},
}


def cells_of(shares, n=40_000):
    """Return a column of values in a mixed order, as often as their shares say."""
    values = [value for value, share in shares.items() for _ in range(round(share * n))]
    return pl.Series("x", values).shuffle(seed=1)


def redrawn(mask, column):
    """Return the column as the mask writes it."""
    return mask.fit("x", column.dtype, ValueCounts.of(column), KEY).apply(column, 0)


def transitions(before, after, values):
    """Return how often each value became each other one."""
    pairs = list(zip(before, after, strict=True))
    return np.array([[pairs.count((a, b)) for b in values] for a in values])


def pvalue(counts, probabilities):
    """Return the probability of such counts by chance: a chi-square test of each row."""
    found = []
    for row, expected in zip(counts, np.asarray(probabilities), strict=True):
        assert not row[expected == 0].any()
        there = expected > 0
        if there.sum() > 1:
            found.append(stats.chisquare(row[there], expected[there] * row.sum()).pvalue)
    return min(found) * len(found)


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("x", ["a"] * 700 + ["b"] * 250 + ["c"] * 50),
        pl.Series("x", [1] * 700 + [2] * 250 + [30] * 50),
        pl.Series("x", [dt.date(2020, 1, 1)] * 700 + [dt.date(2021, 2, 3)] * 300),
        pl.Series("x", [True] * 700 + [False] * 300),
    ],
    ids=["texts", "numbers", "dates", "booleans"],
)
def test_pram_keeps_frequencies_and_the_share_that_it_says(column):
    """Of 40,000 cells: frequencies to 1 %, changed cells as the matrix has them to 2 %."""
    long = pl.concat([column] * 40).shuffle(seed=1)
    plan = Pram(keep=0.6).fit("x", long.dtype, ValueCounts.of(long), KEY)

    found = plan.apply(long, 0)

    assert found.dtype == long.dtype
    shares = {}
    for value, count in long.value_counts().iter_rows():
        shares[value] = count / long.len()
        assert (found == value).sum() / long.len() == pytest.approx(shares[value], abs=0.01)
    same = 0.6 + 0.4 * sum(share**2 for share in shares.values())
    assert (found == long).mean() == pytest.approx(same, abs=0.02)


def test_pram_says_nothing_of_missing_cells_and_draws_under_its_key():
    """Missing cells stay; the same key draws the same, another one another."""
    column = pl.Series("x", ["a", None, "b", "c"] * 100)
    counts = ValueCounts.of(column)

    plans = [Pram(keep=0).fit("x", column.dtype, counts, key) for key in (KEY, KEY, bytes(32))]
    first, again, other = (plan.apply(column, 0) for plan in plans)

    assert first.is_null().to_list() == column.is_null().to_list()
    assert first.equals(again)
    assert not first.equals(other)
    assert "key" not in repr(plans[0])


def test_a_column_without_a_value_stays_so():
    """Nothing to draw from."""
    column = pl.Series("x", [None, None], dtype=pl.String)

    assert (
        Pram(keep=0)
        .fit("x", column.dtype, ValueCounts.of(column), KEY)
        .apply(column, 0)
        .equals(column, null_equal=True)
    )


def test_lists_are_refused():
    """A list is several values."""
    with pytest.raises(SchemaError, match=r"'tags'.*single values"):
        Pram(keep=0.5).written("tags", pl.List(pl.String))


def test_transitions_are_those_of_the_matrix():
    """By a chi-square test, which sees probabilities that are off by a tenth."""
    column = cells_of(SHARES)
    rows = [[MATRIX[a].get(b, 0.0) for b in "abc"] for a in "abc"]

    counts = transitions(column, redrawn(Pram(matrix=MATRIX), column), "abc")

    assert pvalue(counts, rows) > 0.001
    wrong = [[0.89, 0.11, 0.0], [0.22, 0.48, 0.3], [0.36, 0.0, 0.64]]
    for i in range(3):
        assert pvalue(counts[i : i + 1], wrong[i : i + 1]) < 0.001


def test_the_second_stage_makes_a_matrix_invariant():
    """The matrix of two stages by its definition; frequencies stay, those of one stage don't."""
    column = cells_of(SHARES)
    first = np.array([[MATRIX[a].get(b, 0.0) for b in "abc"] for a in "abc"])
    shares = np.array(list(SHARES.values()))
    second = np.array([[first[j, k] * shares[j] for j in range(3)] for k in range(3)])
    both = first @ (second / second.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(shares @ both, shares)

    found = redrawn(Pram(matrix=MATRIX, invariant=True), column)
    single = redrawn(Pram(matrix=MATRIX), column)

    assert pvalue(transitions(column, found, "abc"), both) > 0.001
    counts = [[(each == value).sum() for value in "abc"] for each in (found, single)]
    assert stats.chisquare(counts[0], shares * len(column)).pvalue > 0.001
    assert stats.chisquare(counts[1], shares * len(column)).pvalue < 1e-6


def test_each_value_may_have_a_probability_of_its_own():
    """Values that are always kept are never drawn; expected frequencies stay."""
    column = cells_of(SHARES)
    keep = {"a": 0.9, "b": 0.4, "c": 1.0}
    shares = np.array(list(SHARES.values()))
    kept = np.array(list(keep.values()))
    drawn = shares * (1 - kept) / (shares * (1 - kept)).sum()
    matrix = np.diag(kept) + (1 - kept)[:, None] * drawn
    np.testing.assert_allclose(shares @ matrix, shares)

    found = redrawn(Pram(keep=keep), column)

    counts = transitions(column, found, "abc")
    assert pvalue(counts, matrix) > 0.001
    assert found.filter(column == "c").eq("c").all()
    assert pvalue(counts[:2], [[0.95, 0.05, 0.0], [0.55, 0.45, 0.0]]) < 0.001


def test_one_probability_for_all_has_the_matrix_of_the_paper():
    """By a chi-square test; half and twice the changes fail it."""
    column = cells_of(SHARES)
    shares = np.array(list(SHARES.values()))

    counts = transitions(column, redrawn(Pram(keep=0.8), column), "abc")

    def matrix(keep):
        return keep * np.eye(3) + (1 - keep) * shares

    assert pvalue(counts, matrix(0.8)) > 0.001
    assert pvalue(counts, matrix(0.9)) < 1e-6
    assert pvalue(counts, matrix(0.6)) < 1e-6


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        ([1, 20, None], ["1", "20"]),
        ([True, False, None], ["true", "false"]),
        ([dt.date(2020, 1, 31), dt.date(1900, 1, 1), None], ["2020-01-31", "1900-01-01"]),
        ([0.5, -2.0, None], ["0.5", "-2.0"]),
    ],
    ids=["numbers", "booleans", "dates", "floats"],
)
def test_values_that_are_no_texts_are_named_as_texts(cells, labels):
    """A matrix that swaps two values."""
    matrix = {labels[0]: {labels[1]: 1.0}, labels[1]: {labels[0]: 1.0}}

    found = redrawn(Pram(matrix=matrix), pl.Series("x", cells))

    assert found.to_list() == [cells[1], cells[0], None]


def test_many_values_have_a_row_each():
    """A ring of five hundred values: each becomes the next one, whatever the rounding."""
    values = [f"v{i:03}" for i in range(500)]
    ring = dict(zip(values, [*values[1:], values[0]], strict=True))
    column = pl.Series("x", values * 20)

    found = redrawn(Pram(matrix={a: {b: 1.0} for a, b in ring.items()}), column)

    assert found.to_list() == [ring[value] for value in column]


@pytest.mark.parametrize("parameters", [{"keep": 0.5}, {"matrix": MATRIX, "invariant": True}])
def test_strata_keep_their_own_frequencies(parameters):
    """A stratum without a value gets none; transitions are those of its own frequencies."""
    parts = {"n": {"a": 0.2, "b": 0.8}, "s": SHARES, "w": {"c": 1.0}}
    table = pl.concat(
        cells_of(shares, 20_000).to_frame().with_columns(by=pl.lit(name))
        for name, shares in parts.items()
    ).sample(fraction=1, shuffle=True, seed=0)
    mask = StratifiedPram(columns=("x",), by=("by",), **parameters)

    found = changed(mask, table)

    assert (found["x"] != table["x"]).sum() > 5000
    for name, shares in parts.items():
        rows = found.filter(by=name)["x"]
        counts = [(rows == value).sum() for value in shares]
        assert sum(counts) == 20_000
        if name != "w":
            expected = np.array(list(shares.values())) * 20_000
            assert stats.chisquare(counts, expected).pvalue > 0.001
            assert stats.chisquare(np.array(counts)[::-1], expected).pvalue < 0.001
        else:
            assert rows.eq("c").all()


def test_strata_of_several_columns_and_missing_cells():
    """Missing cells stay, each column has draws of its own, and the key decides."""
    x = ["a", "b", None, "a"] * 1000
    table = pl.DataFrame({"x": x, "y": x, "s": [1, 2, 1, None, 1] * 800})
    mask = StratifiedPram(columns=("x", "y"), by=("s",), keep=0.2)

    found, other = changed(mask, table), changed(mask, table, key=bytes(32))

    assert not found["x"].equals(other["x"])
    assert found.filter(pl.col("x") != pl.col("y")).height > 500


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({}, "either 'keep' or a 'matrix'"),
    "both": ({"keep": 0.5, "matrix": MATRIX}, "either 'keep' or a 'matrix'"),
    "keep of one": ({"keep": 1.0}, "below 1"),
    "keep that is nan": ({"keep": float("nan")}, "below 1"),
    "keeps of one": ({"keep": {"canary": 1.0}}, "not all of them 1"),
    "keeps above one": ({"keep": {"canary": 1.1, "b": 0.0}}, "from 0 to 1"),
    "invariant keep": ({"keep": 0.5, "invariant": True}, "'invariant' without a 'matrix'"),
    "sum": ({"matrix": {"canary": {"canary": 0.9}}}, "Row 1 of the 'matrix' .* sums to 0.9"),
    "sum of rounding": (
        {"matrix": {"canary": {"canary": 0.333, "b": 0.666}, "b": {"b": 1.0}}},
        "sums to 0.999",
    ),
    "no probability": (
        {"matrix": {"canary": {"canary": 1.5, "b": -0.5}, "b": {"b": 1.0}}},
        "Row 1 .* no probability",
    ),
    "no row": ({"matrix": {"a": {"canary": 1.0}}}, "Row 1 .* writes 1 values that have no row"),
    "identity": ({"matrix": {"canary": {"canary": 1.0}}}, "changes no value"),
    "empty": ({"matrix": {}}, "changes no value"),
    "keep that is a text": ({"keep": "canary"}, "below 1. Got str"),
    "keeps that are texts": ({"keep": {"a": "canary"}}, "from 0 to 1"),
    "rows of texts": ({"matrix": {"a": {"a": "canary"}}}, "Row 1 .* no probability"),
    "no mapping": ({"matrix": [["canary"]]}, "must map each value to a mapping"),
    "rows that are lists": ({"matrix": {"canary": [1.0]}}, "must map each value to a mapping"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_parameters_that_can_not_be_are_refused(fault):
    """By name and row, without a value."""
    parameters, said = FAULTS[fault]

    with pytest.raises(ParameterError, match=said) as refused:
        Pram(**parameters)
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize("invariant", [False, True])
@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        ({"a": {"canary": 1.0}, "canary": {"a": 1.0}}, "'x' has 2 values that 'matrix'"),
        (MATRIX | {"canary": {"a": 1.0}}, "names 1 values that column 'x'"),
    ],
)
def test_a_matrix_of_other_values_than_the_column_is_refused(invariant, matrix, said):
    """Too few and too many: how many, and of which column."""
    column = cells_of(SHARES, 100)
    table = column.to_frame().with_columns(by=pl.lit(1))
    strata = StratifiedPram(columns=("x",), by=("by",), matrix=matrix, invariant=invariant)

    with pytest.raises(DataError, match=said) as refused:
        redrawn(Pram(matrix=matrix, invariant=invariant), column)
    with pytest.raises(DataError, match=said) as again:
        changed(strata, table)
    assert "canary" not in str(refused.value) + str(again.value)


def test_probabilities_of_other_values_than_the_column_are_refused():
    """A value without one would be kept or changed by chance."""
    with pytest.raises(DataError, match="'x' has 2 values that 'keep'"):
        redrawn(Pram(keep={"a": 0.5}), cells_of(SHARES, 100))


def test_strata_are_needed():
    """Without them it is the mask of a column."""
    with pytest.raises(ParameterError, match="no strata"):
        StratifiedPram(columns=("x",), by=(), keep=0.5)
    with pytest.raises(ParameterError, match="either 'keep' or a 'matrix'"):
        StratifiedPram(columns=("x",), by=("y",))
