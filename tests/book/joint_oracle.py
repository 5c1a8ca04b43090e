"""What releases leave together, counted person by person with sets: no code of halfmask."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import NamedTuple

Rows = list[tuple[int, int, int]]  # person, class, value of the one sensitive column


class Group(NamedTuple):
    people: frozenset[int]
    least: int
    greatest: Fraction


def classes_in(rows: Rows) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for person, own, _ in rows:
        found.setdefault(person, set()).add(own)
    return found


def groups_of(releases: list[Rows]) -> list[Group]:
    classes = [classes_in(rows) for rows in releases]
    found: dict[tuple[frozenset[int], ...], set[int]] = {}
    for person in set().union(*classes):
        vector = tuple(frozenset(own.get(person, ())) for own in classes)
        found.setdefault(vector, set()).add(person)
    return [measured(group, releases) for group in found.values()]


def measured(group: set[int], releases: list[Rows]) -> Group:
    spreads = [(values_of(group, rows), rows) for rows in releases]
    return Group(
        frozenset(group),
        min(len(mine) for mine, _ in spreads if mine),
        max(distance(mine, rows) for mine, rows in spreads if mine),
    )


def values_of(group: set[int], rows: Rows) -> Counter[int]:
    return Counter(v for p, _, v in rows if p in group)


def distance(mine: Counter[int], rows: Rows) -> Fraction:
    every, n_mine = Counter(v for _, _, v in rows), mine.total()
    total = sum(abs(mine[v] * len(rows) - every[v] * n_mine) for v in every)
    return Fraction(total, 2 * n_mine * len(rows))


def candidates_in(releases: list[Rows]) -> dict[int, set[int]]:
    """Return the values that the classes of a person have in every release that has the person."""
    found: dict[int, set[int]] = {}
    for rows in releases:
        values: dict[int, set[int]] = {}
        for _, own, value in rows:
            values.setdefault(own, set()).add(value)
        for person, classes in classes_in(rows).items():
            here = set().union(*(values[own] for own in classes))
            found[person] = found.get(person, here) & here
    return found


def is_allowed(before: list[Rows], new: Rows, *, k: int, l: int = 1, t: float = 1.0) -> bool:
    """Whether no group below the floor is new, smaller or weaker than before."""
    old = {person: group for group in groups_of(before) for person in group.people}
    for group in groups_of([*before, new]):
        parent = old.get(min(group.people))
        if parent is None or parent.people != group.people:
            parent = Group(group.people, -1, Fraction(-1))  # whatever is below the floor is news
            if len(group.people) < k:
                return False
        if group.least < l and group.least != parent.least:
            return False
        if group.greatest > t and group.greatest != parent.greatest:
            return False
    return True
