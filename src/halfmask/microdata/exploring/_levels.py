"""The level of each column that a full-domain release has, in the words of its hierarchy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask.anonymize import LatticePartition, RoundsPartition
from halfmask.data import Dates, Intervals, Order, Prefix

if TYPE_CHECKING:
    from halfmask.anonymize import Coding, Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnLevel:
    """The level of a column in a release, one for each round of a search, and what that is."""

    level: tuple[int, ...]
    height: int
    words: str

    def to_dict(self) -> dict[str, object]:
        """Return everything under its name, for JSON."""
        return {"level": list(self.level), "height": self.height, "words": self.words}


def column_levels(plan: Plan) -> dict[str, ColumnLevel]:
    """Return the level of each column; of classes with levels of their own, none."""
    partition = plan.partition
    if not isinstance(partition, LatticePartition | RoundsPartition):
        return {}
    found = {}
    for place, coding in enumerate(plan.codings):
        levels = tuple(each.levels[place] for each in partition.rounds)
        height = partition.rounds[0].heights[place]
        words = dict.fromkeys(_words(coding, level, height) for level in levels)
        found[coding.column.name] = ColumnLevel(
            level=levels, height=height, words=", then ".join(words)
        )
    return found


def _words(coding: Coding, level: int, height: int) -> str:
    """Return what a level is; of a hierarchy that names no level, how many groups it has."""
    if not level:
        return "unchanged"
    if level == height:
        return "all values"
    named = _named(coding.column.hierarchy, level - 1)
    if named or coding.hierarchy is None:
        return named
    groups = 1 + int(np.count_nonzero(np.asarray(coding.hierarchy.boundaries) > level))
    return f"level {level} of {height} ({groups} {'groups' if groups > 1 else 'group'})"


def _named(rule: object, place: int) -> str:
    """Return what a rule calls a level; nothing where it has no words for it."""
    if isinstance(rule, Intervals):
        return f"intervals of {rule.widths[place]:g}"
    if isinstance(rule, Dates):
        return rule.levels[place]
    if isinstance(rule, Prefix):
        return f"first {rule.keep[place]} characters" if rule.keep[place] > 1 else "first character"
    return f"groups of {rule.sizes[place]}" if isinstance(rule, Order) and rule.sizes else ""
