"""A hierarchy with the rows of a table below each of its nodes, as the page Columns draws it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from halfmask._errors import ParameterError
from halfmask.data import leaf_text
from halfmask.workbench._history import digest_of

if TYPE_CHECKING:
    from halfmask.data import Hierarchy

#: Levels of a tree that are drawn.
MOST_LEVELS: Final = 16


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """A group of a hierarchy, or a value, as the page draws it."""

    level: int
    place: int
    label: str
    rows: int
    inner: tuple[DrawnNode, ...]


class CountedTree:
    """A hierarchy, and how many rows of the table are below each of its nodes."""

    def __init__(self, tree: Hierarchy, cells: pl.Series) -> None:
        self.tree = tree
        counts = leaf_text(cells).alias("0").value_counts(name="rows")
        frame = tree.levels.join(counts, on="0", how="left", maintain_order="left")
        self.frame = frame.with_columns(pl.col("rows").fill_null(0)).with_row_index("place")
        self.seen = digest_of("\0".join(tree.leaves).encode())[:16]

    @property
    def groups(self) -> list[str]:
        """The names of the levels between the values and the root, the finest first."""
        top = self.tree.height - (1 if self.frame[str(self.tree.height - 1)].n_unique() == 1 else 0)
        return [str(level) for level in range(1, top)]

    def levels(self) -> Iterator[tuple[int, int, int]]:
        """Yield how many groups each level has, and the rows of the smallest and largest."""
        for level in range(self.tree.height):
            rows = self.frame.group_by(str(level)).agg(pl.col("rows").sum())["rows"]
            rows = rows.filter(rows > 0)
            yield len(rows), int(rows.min() or 0), int(rows.max() or 0)  # type: ignore[arg-type] # counts

    def nodes(self, first: int, size: int) -> tuple[DrawnNode, ...]:
        """Return the tree above some of its leaves, without the root."""
        names = ["0", *self.groups]
        if len(names) > MOST_LEVELS:
            names = [*names[: MOST_LEVELS - 1], names[-1]]
        more = [pl.col("rows").sum().over(it).alias(f"rows{it}") for it in names]
        more += [pl.col("place").min().over(it).alias(f"place{it}") for it in names]
        part = self.frame.with_columns(more).slice(first, size).to_dicts()
        return tuple(_nodes(part, names))

    def picked(self, texts: Sequence[str]) -> tuple[int, set[str]]:
        """Return the level and the labels of ticked nodes."""
        if not texts or not all(re.fullmatch(r"\d{1,9}:\d{1,9}", it) for it in texts):
            raise ParameterError("Nothing is ticked.", hint="Tick values, or groups of one level.")
        pairs = [(int(level), int(place)) for level, place in (it.split(":") for it in texts)]
        levels = {level for level, _ in pairs}
        if len(levels) > 1:
            raise ParameterError("Values and groups are ticked.", hint="Tick one level at a time.")
        level = levels.pop()
        if level > len(self.groups) or any(place >= self.frame.height for _, place in pairs):
            raise ParameterError("There is no such group.", hint="Open the page again.")
        return level, {str(self.frame[str(level)][place]) for _, place in pairs}


def _nodes(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Iterator[DrawnNode]:
    *lower, top = names
    for label, below in groupby(rows, lambda row: str(row[top])):
        inner = list(below)
        first = inner[0]
        children = tuple(_nodes(inner, lower)) if lower else ()
        yield DrawnNode(int(top), first[f"place{top}"], label, first[f"rows{top}"], children)
