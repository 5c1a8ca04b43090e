"""Distinction and separation against counts of all pairs."""

from __future__ import annotations

from itertools import combinations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import ColumnNotFoundError, ParameterError
from halfmask.assess.risk import separation

ROWS = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.tuples(*[st.none() | st.integers(0, 2)] * n), min_size=2, max_size=14)
)


def frame_of(rows):
    names = [f"c{i}" for i in range(len(rows[0]))]
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.Int64), orient="row")


@pytest.mark.slow
@given(ROWS, st.integers(1, 4))
def test_every_set_is_counted_as_pairs_are(rows, largest):
    frame = frame_of(rows)

    found = separation(frame, quasi_identifiers=frame.columns, largest=largest)

    sets = {
        names
        for size in range(1, min(largest, len(rows[0])) + 1)
        for names in combinations(range(len(rows[0])), size)
    }
    assert {tuple(int(name[1:]) for name in each.columns) for each in found.sets} == sets
    for each in found.sets:
        cells = [tuple(row[int(name[1:])] for name in each.columns) for row in rows]
        differ = [a != b for a, b in combinations(cells, 2)]
        assert each.classes == len(set(cells))
        assert each.unique == sum(cells.count(cell) == 1 for cell in cells)
        assert each.distinction == len(set(cells)) / len(cells)
        assert each.separation == sum(differ) / len(differ)


def test_the_nearest_to_a_key_comes_first_and_a_key_is_named():
    table = pl.DataFrame({"a": [1, 1, 2, 2], "b": [1, 2, 3, 4], "c": [1, 1, 1, 2]})

    found = separation(table, quasi_identifiers=["a", "b", "c"], largest=2)

    assert found.worst.columns == ("b",)
    assert found.sentence == "The rows all differ on b: this is a key of the table."
    distinctions = [each.distinction for each in found.sets]
    assert distinctions == sorted(distinctions, reverse=True)


def test_what_is_said_has_the_numbers():
    table = pl.DataFrame({"a": [1, 1, 2, 2], "b": [1, 2, 1, 1]})

    found = separation(table, quasi_identifiers=["a", "b"])

    assert found.sentence == (
        "Of all sets of up to 2 columns, a and b comes nearest to a key: 3 combinations of values "
        "for 4 rows (75 %), and 83.33 % of all pairs of rows differ."
    )
    assert found.to_dict() == {
        "rows": 4,
        "largest": 2,
        "n_sets": 3,
        "sets": [each.to_dict() for each in (found.sets[1], found.sets[2], found.sets[0])],
    }


def test_a_table_of_one_value_separates_nothing():
    table = pl.DataFrame({"a": [1] * 5})

    worst = separation(table, quasi_identifiers=["a"]).worst

    assert (worst.classes, worst.separation) == (1, 0.0)


def test_bad_parameters_are_refused():
    table = pl.DataFrame({f"c{i}": [1, 2] for i in range(60)})

    with pytest.raises(ParameterError, match="largest"):
        separation(table, quasi_identifiers=["c1"], largest=0)
    with pytest.raises(ParameterError, match="523,685 sets of up to 4 columns"):
        separation(table, quasi_identifiers=table.columns, largest=4)
    with pytest.raises(ParameterError, match="two rows"):
        separation(table[:1], quasi_identifiers=["c1"])
    with pytest.raises(ColumnNotFoundError, match="'other'"):
        separation(table, quasi_identifiers=["other"])
