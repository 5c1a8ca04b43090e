"""Persons with several values: no few values are held by everybody in a class."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask import DistinctLDiversity, EntropyLDiversity, ParameterError
from halfmask.guarantees import Classes
from halfmask.verifier.tables._counting import ClassCells
from halfmask.verifier.tables._rules import values_to_cover

N_VALUES = 5
#: A class: the set of values of each of its persons.
CLASS = st.lists(
    st.sets(st.integers(0, N_VALUES - 1), min_size=1, max_size=3), min_size=1, max_size=6
)


def classes_of(table):
    """Return the classes of a table in which each person is in one class."""
    rows = [
        (number, person, value)
        for number, people in enumerate(table)
        for person, values in enumerate(people)
        for value in sorted(values)
    ]
    first = np.cumsum([0, *map(len, table)])
    persons = [int(first[number]) + person for number, person, _ in rows]
    return Classes.from_codes(
        [number for number, _, _ in rows],
        len(table),
        {"ill": ([value for *_, value in rows], N_VALUES)},
        person_of_row=persons,
    )


def values_that_cover(people):
    """Return by brute force the least number of values of which each person has one."""
    return next(
        n
        for n in range(1, N_VALUES + 1)
        if any(all(set(few) & one for one in people) for few in combinations(range(N_VALUES), n))
    )


@given(st.lists(CLASS, min_size=1, max_size=3))
def test_no_fewer_values_cover_a_class_than_is_said(table):
    """The level is safe; with one value for each person it is exact, and so it is for l = 2."""
    levels = DistinctLDiversity(l=2, column="ill").judge(classes_of(table)).levels
    for people, level in zip(table, levels, strict=True):
        least = values_that_cover(people)
        assert level <= least
        assert (level >= 2) == (least >= 2)
        if all(len(values) == 1 for values in people):
            assert level == least == len(set().union(*people))


@given(st.lists(CLASS, min_size=1, max_size=3))
def test_the_verifier_counts_the_same_in_its_own_way(table):
    levels = DistinctLDiversity(l=2, column="ill").judge(classes_of(table)).levels
    values, counts, starts = [], [], [0]
    for people in table:
        held = [sum(value in one for one in people) for value in range(N_VALUES)]
        values += [value for value, n in enumerate(held) if n]
        counts += [n for n in held if n]
        starts.append(len(values))
    persons = np.array([len(people) for people in table])
    cells = ClassCells(np.array(starts), np.array(values), np.array(counts), persons)
    assert values_to_cover(cells).tolist() == levels.tolist()


def test_different_values_alone_would_not_be_enough():
    """Three values in the class, and everybody has the flu."""
    judged = DistinctLDiversity(l=2, column="ill").judge(classes_of([[{0, 1}, {0, 2}, {0}]]))
    assert judged.achieved == 1
    assert not judged.holds


def test_merging_may_break_it_where_a_person_is_in_both_classes():
    apart = Classes.from_codes(
        [0, 0, 1, 1], 2, {"ill": ([0, 1, 1, 0], 2)}, person_of_row=[0, 1, 0, 1]
    )
    together = Classes.from_codes(
        [0, 0, 0, 0], 1, {"ill": ([0, 1, 1, 0], 2)}, person_of_row=[0, 1, 0, 1]
    )
    guarantee = DistinctLDiversity(l=2, column="ill")
    assert guarantee.judge(apart).holds
    assert not guarantee.judge(together).holds
    assert not guarantee.merges_in(apart.members)
    one_each = Classes.from_codes([0, 0, 1], 2, {"ill": ([0, 1, 1], 2)}, person_of_row=[0, 1, 2])
    assert guarantee.merges_in(one_each.members)


def test_models_that_need_one_value_refuse_several():
    with pytest.raises(ParameterError, match="several values of the column: 1 persons"):
        EntropyLDiversity(l=2, column="ill").judge(classes_of([[{0, 1}, {2}]]))
