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


def vector_of(person: int, releases: list[Rows]) -> tuple[frozenset[int], ...]:
    return tuple(frozenset(c for p, c, _ in rows if p == person) for rows in releases)


def groups_of(releases: list[Rows]) -> list[Group]:
    people = {p for rows in releases for p, _, _ in rows}
    found: dict[tuple[frozenset[int], ...], set[int]] = {}
    for person in people:
        found.setdefault(vector_of(person, releases), set()).add(person)
    return [
        Group(
            frozenset(group),
            min(len(values_of(group, rows)) for rows in releases if values_of(group, rows)),
            max(distance_of(group, rows) for rows in releases if values_of(group, rows)),
        )
        for group in found.values()
    ]


def values_of(group: set[int], rows: Rows) -> Counter[int]:
    return Counter(v for p, _, v in rows if p in group)


def distance_of(group: set[int], rows: Rows) -> Fraction:
    mine, every = values_of(group, rows), Counter(v for _, _, v in rows)
    return Fraction(1, 2) * sum(
        abs(Fraction(mine[v], mine.total()) - Fraction(every[v], every.total())) for v in every
    )


def candidates_of(person: int, releases: list[Rows]) -> set[int]:
    sets = [
        {v for _, c, v in rows if c == mine}
        for rows in releases
        for p, mine, _ in rows
        if p == person
    ]
    return set.intersection(*sets) if sets else set()


def is_allowed(before: list[Rows], new: Rows, *, k: int, l: int = 1, t: float = 1.0) -> bool:
    """Whether no group below the floor is new, smaller or weaker than before."""
    old = {person: group for group in groups_of(before) for person in group.people}
    for group in groups_of([*before, new]):
        parent = old.get(min(group.people))
        unchanged = parent is not None and parent.people == group.people
        if len(group.people) < k and not unchanged:
            return False
        if group.least < l and not (unchanged and group.least == parent.least):
            return False
        if group.greatest > t and not (unchanged and group.greatest == parent.greatest):
            return False
    return True
