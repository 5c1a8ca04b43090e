"""Intervals against all tables of whole numbers that fit: in two dimensions they have the ends."""

from __future__ import annotations

import random
from itertools import product

import pytest

import halfmask
from verifier.crosstabs.table_releases import (  # type: ignore[import-not-found] # beside
    Table,
    cells_of,
    change,
    flat,
    intervals,
    release,
)

ROWS, COLUMNS = ("r1", "r2", "r3"), ("c1", "c2", "c3")
DIMENSIONS = (flat("row", *ROWS), flat("column", *COLUMNS))


def fitting(inner, hidden):
    """Yield every table with the same published cells and totals: hidden inner cells by place."""
    by_row = [
        [
            dict(zip(own, values, strict=True))
            for own in [[place for place in hidden if place[0] == row]]
            for values in product(range(sum(inner[it] for it in own) + 1), repeat=len(own))
            if sum(values) == sum(inner[it] for it in own)
        ]
        for row in ROWS
    ]
    for parts in product(*by_row):
        found = {place: value for part in parts for place, value in part.items()}
        if all(
            sum(found[it] for it in hidden if it[1] == column)
            == sum(inner[it] for it in hidden if it[1] == column)
            for column in COLUMNS
        ):
            yield found


def narrowest(inner, hidden):
    tables = list(fitting(inner, hidden))
    return min(
        max(it[place] for it in tables) - min(it[place] for it in tables) for place in hidden
    )


@pytest.mark.parametrize("seed", range(24))
def test_the_narrowest_interval_is_that_of_all_tables(tmp_path, seed):
    rng = random.Random(seed)
    inner = {place: rng.choice((0, 1, 1, 2, 3, 5)) for place in product(ROWS, COLUMNS)}
    hidden = sorted(rng.sample(sorted(inner), rng.randint(3, 8)))
    width = narrowest(inner, hidden)
    table = Table("t", DIMENSIONS, cells_of(inner, DIMENSIONS), set(hidden))
    folder = release(tmp_path / "a", [table], [intervals(max(width, 0.5), len(hidden))])
    assert halfmask.verify(folder).holds is (width > 0)

    def state(more):
        def how(said):
            said["claims"][0]["parameters"]["least_width"] = more

        return how

    change(folder, state(width + 0.01))
    assert not halfmask.verify(folder).holds
