"""Support files: the order or tree of a sensitive column's values, as the release states it."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from halfmask._errors import VerificationError
from halfmask.verifier.tables._counting import ClassCells, sum_cells

if TYPE_CHECKING:
    from pathlib import Path

    from halfmask.verifier.tables.part import SensitiveValues

Ints: TypeAlias = NDArray[np.int64]

MAX_BYTES: Final = 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Tree:
    """The values of a column in the order of its support file, and the nodes above them."""

    place_of: Ints
    parents: list[Ints]

    def ordered(self, cells: ClassCells) -> ClassCells:
        """Return cells whose values are numbered in the order of the support file."""
        return sum_cells(
            cells.owners, self.place_of[cells.values], cells.counts, len(self.place_of)
        )


def read_tree(path: Path, values: SensitiveValues) -> Tree:
    """Read a support file and check it against the values that the data has.

    Notes
    -----
    A missing cell is the last in the order and a child of the root; a tree whose top level has
    several nodes has a root above them.
    """
    rows = read_rows(path)
    if len({len(row) for row in rows}) > 1:
        raise VerificationError("The support file has rows of different length.")
    place = {row[0]: i for i, row in enumerate(rows)}
    if len(place) != len(rows):
        raise VerificationError("The support file names a value twice.")
    found = [_find(label, place) for label in values.labels]
    lacking = found.count(None)
    unused = len(place) - len(set(found) - {None})
    if len(set(found) - {None}) < len(found) - lacking:
        raise VerificationError("The support file has one row for two values.")
    if lacking or unused:
        raise VerificationError(
            f"The support file lacks {lacking} values that the data has and names {unused} "
            "that it doesn't have."
        )
    n = len(rows)
    place_of = [each for each in found if each is not None] + [n] * values.has_missing
    return Tree(np.array(place_of, dtype=np.int64), _parents(rows, values.has_missing))


def _find(label: str, place: Mapping[str, int]) -> int | None:
    """Return the place of a value; CSV files have an apostrophe before what may be a formula."""
    found = place.get(label)
    return place.get(label[1:]) if found is None and label.startswith("'") else found


def read_rows(path: Path) -> list[list[str]]:
    if path.stat().st_size > MAX_BYTES:
        raise VerificationError("The support file is larger than a tree of values can be.")
    try:
        with path.open("r", encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file, delimiter=";", strict=True))
    except (ValueError, csv.Error):
        raise VerificationError("The support file isn't a table with ; between cells.") from None
    return [row for row in rows if row]


def _parents(rows: list[list[str]], has_missing: bool) -> list[Ints]:  # noqa: FBT001 # internal
    parents: list[Ints] = []
    below = list(range(len(rows)))
    n_below = len(rows)
    for level in range(1, len(rows[0]) if rows else 1):
        numbers: dict[str, int] = {}
        above = [numbers.setdefault(row[level], len(numbers)) for row in rows]
        parents.append(_mapping(below, above, n_below, len(numbers), has_missing))
        below, n_below = above, len(numbers)
    if n_below > 1 or not parents:
        parents.append(np.zeros(n_below + has_missing, dtype=np.int64))
    elif has_missing:
        # The single node of the top level is the root, and takes the missing in.
        parents[-1][-1] = 0
    return parents


def _mapping(
    below: list[int],
    above: list[int],
    n_below: int,
    n_above: int,
    has_missing: bool,  # noqa: FBT001 # internal
) -> Ints:
    mapping = np.full(n_below + has_missing, n_above, dtype=np.int64)
    mapping[:n_below] = -1
    for low, high in zip(below, above, strict=True):
        if mapping[low] not in (-1, high):
            raise VerificationError("The support file has a level that doesn't coarsen the last.")
        mapping[low] = high
    return mapping
