"""Rank swapping: values stay, ranks are near, and relations weaken with the distance."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask._errors import ParameterError, SchemaError
from halfmask.masks import RankSwapping
from masks.table_masking import changed  # type: ignore[import-not-found] # as above


def swapped(table, share, by=(), columns=("x",), key=bytes(range(32))):
    """Return the table with swapped columns."""
    mask = RankSwapping(columns=columns, max_rank_distance=share, by=by)
    return changed(mask, table, key)


def farthest(before, after):
    """Return the most ranks between a cell's value and its new one, ties as near as they can be."""
    ordered = np.sort(before)
    low, high = np.searchsorted(ordered, after, "left"), np.searchsorted(ordered, after, "right")
    own_low = np.searchsorted(ordered, before, "left")
    own_high = np.searchsorted(ordered, before, "right")
    return int(np.maximum(low - own_high + 1, own_low - high + 1).max(initial=0))


@pytest.mark.slow
@settings(max_examples=50)
@given(
    cells=st.lists(st.none() | st.integers(-(2**62), 2**62), max_size=60),
    share=st.floats(0.01, 1.0),
    stratum=st.lists(st.sampled_from("ab"), min_size=60, max_size=60),
)
def test_values_of_each_stratum_stay_and_ranks_are_near(cells, share, stratum):
    """The marginal distribution exactly; no swap is farther than the guarantee."""
    table = pl.DataFrame(
        {"x": cells, "by": stratum[: len(cells)]}, schema={"x": pl.Int64, "by": pl.String}
    )

    found = swapped(table, share, by=("by",))

    for letter in "ab":
        rows = table["by"] == letter
        before, after = table["x"].filter(rows), found["x"].filter(rows)
        assert after.sort().equals(before.sort(), null_equal=True)
        distance = farthest(before.drop_nulls().to_numpy(), after.drop_nulls().to_numpy())
        assert distance <= max(1, int(Fraction(str(share)) * before.count()))


@pytest.mark.slow
@settings(max_examples=50)
@given(n=st.integers(1, 200), share=st.floats(0.005, 1.0))
def test_each_cell_but_one_has_a_partner(n, share):
    """Swaps go both ways, and of different values at most one stays."""
    table = pl.DataFrame({"x": np.random.default_rng(n).permutation(n)})

    found = swapped(table, share)["x"].to_numpy()

    new = dict(zip(table["x"], found, strict=True))
    assert all(new[new[value]] == value for value in new)
    assert sum(new[value] == value for value in new) == n % 2


def test_a_swap_beyond_the_distance_is_seen():
    """Power: one rank more fails the check above."""
    before = np.arange(100)

    assert farthest(before, np.roll(before, 5)) == 95
    after = before.copy()
    after[[10, 16]] = after[[16, 10]]
    assert farthest(before, after) == 6


def test_partners_are_spread_over_the_distance():
    """The density of distances d is 2**(d / most - 1): its mean is 2 - 1 / log 2 of the most.

    Of the ranks at d a share of 2**(d / most - 1) is free, since half of all ranks pick.
    """
    n, most = 100_000, 2000
    table = pl.DataFrame({"x": np.random.default_rng(0).permutation(n)})

    gaps = {
        share: np.abs((swapped(table, share)["x"] - table["x"]).to_numpy())
        for share in (0.01, 0.02, 0.04)
    }

    assert gaps[0.02].max() == most
    mean = (2 - 1 / np.log(2)) * most
    assert gaps[0.02].mean() == pytest.approx(mean, rel=0.02)
    for wrong in (0.01, 0.04):
        assert gaps[wrong].mean() != pytest.approx(mean, rel=0.4)
    shares = np.histogram(gaps[0.02], bins=10, range=(0, most))[0] / n
    edges = 2 ** np.linspace(0, 1, 11)
    np.testing.assert_allclose(shares, np.diff(edges), atol=0.006)


def test_equal_values_have_the_same_chance_whatever_their_row():
    """Of two hundred zeros the swapped ones aren't those of the last rows."""
    table = pl.DataFrame({"x": [0] * 200 + list(range(1, 201))})
    changes = np.zeros(200)

    for i in range(40):
        key = i.to_bytes(32, "little")
        changes += (swapped(table, 0.1, key=key)["x"] != 0).to_numpy()[:200]

    first, last = changes[:100].sum(), changes[100:].sum()
    assert first + last > 200
    assert abs(first - last) < 5 * np.sqrt(first + last)


@pytest.mark.parametrize(
    "cells",
    [
        pl.Series("x", [dt.date(2020, 1, day) for day in (1, 9, 5, 3)]),
        pl.Series("x", [dt.datetime(2020, 1, 1, hour) for hour in (1, 9, 5, 3)]),  # noqa: DTZ001 # local
        pl.Series("x", [-0.5, float("inf"), -1e300, 0.25]),
        pl.Series("x", [0.25, -1.5, 9.0, 3.0], dtype=pl.Float32),
        pl.Series("x", [2**64 - 1, 0, 2**63, 5], dtype=pl.UInt64),
        pl.Series("x", [Decimal("1.10"), Decimal(-4), Decimal("1e20"), Decimal(2)]),
        pl.Series("x", ["low", "high", "mid", "low"], dtype=pl.Enum(["low", "mid", "high"])),
        pl.Series("x", [10**30, -(10**30), 5, 0], dtype=pl.Int128),
    ],
    ids=lambda cells: str(cells.dtype.base_type().__name__),
)
def test_types_with_an_order_are_swapped_with_their_neighbours(cells):
    """Of four cells at a quarter: the first two ranks, and the last two."""
    found = swapped(cells.to_frame(), 0.25)["x"]

    order = cells.arg_sort()
    assert found.gather(order).equals(cells.gather(order.gather([1, 0, 3, 2])))


@pytest.mark.parametrize("spread", [1, 2.0**-45])
def test_long_tails_and_heaps_are_sorted_by_all_digits(spread):
    """Numbers that agree in their leading digits, and far ones that cost those digits."""
    rng = np.random.default_rng(5)
    numbers = np.concatenate([1 + spread * rng.random(500), [1e300, -1e300], np.zeros(300)])
    table = pl.DataFrame({"x": rng.permutation(numbers)})

    found = swapped(table, 0.01)

    assert found["x"].sort().equals(table["x"].sort())
    assert farthest(table["x"].to_numpy(), found["x"].to_numpy()) <= 8


def test_columns_are_swapped_independently_and_under_their_key():
    """The same key gives the same; another key and another column other partners."""
    x = np.random.default_rng(1).permutation(500)
    table = pl.DataFrame({"x": x, "y": x})

    first, again, other = (
        swapped(table, 0.2, columns=("x", "y"), key=key)
        for key in (bytes(range(32)), bytes(range(32)), bytes(32))
    )

    assert first.equals(again)
    assert (first["x"] != other["x"]).mean() > 0.9
    assert (first["x"] != first["y"]).mean() > 0.9


def test_relations_of_near_ranks_stay():
    """Correlation of ranks with an unswapped column falls with the distance."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=5000)
    table = pl.DataFrame({"x": x, "y": x + 0.5 * rng.normal(size=5000)})

    found = [
        table.with_columns(swapped(table, share)["x"])
        .select(pl.corr("x", "y", method="spearman"))
        .item()
        for share in (0.02, 0.3, 1.0)
    ]

    assert found[0] > 0.85
    assert found[0] > found[1] + 0.05 > found[2] + 0.1


@pytest.mark.real_data
def test_casc_microdata_keeps_its_distributions(shared_data):
    """Each of the thirteen columns of Census; within fifteen percent of the ranks."""
    table = pl.read_csv(shared_data / "sdc/CASCrefmicrodata.csv")

    found = swapped(table, 0.15, columns=tuple(table.columns))

    for name in table.columns:
        assert found[name].sort().equals(table[name].sort())
        assert farthest(table[name].to_numpy(), found[name].to_numpy()) <= 162


@pytest.mark.parametrize("dtype", [pl.String(), pl.Boolean(), pl.List(pl.Int64), pl.Categorical()])
def test_columns_without_an_order_are_refused(dtype):
    """The order of letters says nothing."""
    with pytest.raises(SchemaError, match=r"'x'.*'rank-swapping'"):
        RankSwapping(columns=("x",), max_rank_distance=0.1).written({"x": dtype})


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"columns": ("x",), "max_rank_distance": 0}, "max_rank_distance"),
        ({"columns": ("x",), "max_rank_distance": 1.5}, "max_rank_distance"),
        ({"columns": (), "max_rank_distance": 0.1}, "no columns"),
        ({"columns": ("x", "x"), "max_rank_distance": 0.1}, "twice"),
        ({"columns": ("x",), "max_rank_distance": 0.1, "by": ("x",)}, "both in 'columns' and"),
        ({"columns": "xy", "max_rank_distance": 0.1}, "a list of texts"),
        (
            {"columns": ("x",), "max_rank_distance": 0.1, "by": "g"},
            "a list of texts",
        ),
        ({"columns": ("x",), "max_rank_distance": 0.1, "orders": {"x": "ab"}}, "lists of values"),
        ({"columns": ("x",), "max_rank_distance": 0.1, "orders": [("x", "ab")]}, "must map names"),
    ],
)
def test_parameters_that_can_not_be_are_refused(parameters, said):
    """By name."""
    with pytest.raises(ParameterError, match=said):
        RankSwapping(**parameters)
