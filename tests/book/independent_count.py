"""Count what releases say of people together, by sets and dicts: nothing of halfmask is called.

A release is a mapping from each of its people to its rows, as :func:`read_people` reads them: the
class of a row is what is written of the quasi-identifiers, its value what is written of one column.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence
    from pathlib import Path

    #: Of each person: class and value of each of its rows.
    People = Mapping[Hashable, Sequence[tuple[tuple[str, ...], str]]]
    Groups = dict[tuple[frozenset[tuple[str, ...]], ...], set[Hashable]]


def read_people(
    folder: Path,
    whose: Mapping[str, Hashable],
    *,
    row: str,
    quasi_identifiers: Sequence[str],
    value: str,
) -> People:
    """Return the people of a release in CSV whose column ``row`` says which row each one is."""
    people: defaultdict[Hashable, list[tuple[tuple[str, ...], str]]] = defaultdict(list)
    for file in json.loads((folder / "manifest.json").read_text())["files"]:
        with (folder / file["name"]).open(newline="", encoding="utf-8") as opened:
            for line in csv.DictReader(opened):
                written = tuple(line[name] for name in quasi_identifiers)
                people[whose[line[row]]].append((written, line[value]))
    return dict(people)


def join_groups(releases: Sequence[People]) -> Groups:
    """Return the people who have the same classes in every release, and miss in the same ones."""
    groups: Groups = defaultdict(set)
    for person in set().union(*releases):
        vector = (frozenset(written for written, _ in each.get(person, ())) for each in releases)
        groups[tuple(vector)].add(person)
    return dict(groups)


def count_k(releases: Sequence[People]) -> int:
    """Return the size of the smallest group."""
    return min(map(len, join_groups(releases).values()))


def people_under(releases: Sequence[People], k: int) -> int:
    """Return how many people are in a group of less than k."""
    return sum(len(each) for each in join_groups(releases).values() if len(each) < k)


def share_who_must_wait(earlier: Sequence[People], new: People, k: int) -> float:
    """Return the share of a release that can't leave: people in a group of less than k.

    If some of such a group leave without the others, they are even fewer. So no choice of who waits
    holds back a smaller share.
    """
    groups = join_groups([*earlier, new]).values()
    return sum(len(each) for each in groups if len(each) < k and not each.isdisjoint(new)) / len(
        new
    )


def count_l(releases: Sequence[People], groups: Iterable[set[Hashable]] | None = None) -> int:
    """Return the least number of different values that a group, or any, has in a release."""
    return min(
        len({value for person in group for _, value in release.get(person, ())})
        for group in groups or join_groups(releases).values()
        for release in releases
        if not group.isdisjoint(release)
    )


def count_t(releases: Sequence[People], groups: Iterable[set[Hashable]] | None = None) -> float:
    """Return the greatest total variation distance of values in a group to those of a release."""
    return max(
        _distance(
            [value for person in group for _, value in release.get(person, ())],
            [value for rows in release.values() for _, value in rows],
        )
        for group in groups or join_groups(releases).values()
        for release in releases
        if not group.isdisjoint(release)
    )


def _distance(some: Sequence[str], all_of_them: Sequence[str]) -> float:
    values = set(all_of_them)
    shares = (
        abs(some.count(v) / len(some) - all_of_them.count(v) / len(all_of_them)) for v in values
    )
    return sum(shares) / 2


def find_candidates(releases: Sequence[People]) -> dict[Hashable, set[str]]:
    """Return the values that each person can have if it has the same one in every release."""
    candidates: dict[Hashable, set[str]] = {}
    for release in releases:
        in_class: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
        for rows in release.values():
            for written, value in rows:
                in_class[written].add(value)
        for person, rows in release.items():
            here = set().union(*(in_class[written] for written, _ in rows))
            candidates[person] = candidates.get(person, here) & here
    return candidates
