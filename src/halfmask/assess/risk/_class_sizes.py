"""The distribution of class sizes: how many rows hide among how many."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.risk._wording import row_text

if TYPE_CHECKING:
    from halfmask.assess.risk._alike import Alike

_BIN_STARTS = (1, 2, 3, 5, 10, 20, 50, 100, 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeBin:
    """Classes of about the same size.

    Parameters
    ----------
    low, high
        The smallest and the largest size of the bin; ``None`` has no upper end.
    classes
        How many classes there are.
    rows
        How many rows are in them.
    """

    low: int
    high: int | None
    classes: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassSizes:
    """How many rows are in classes of each size.

    Parameters
    ----------
    classes
        The number of classes.
    smallest, largest
        The sizes of the smallest and the largest class.
    average
        The rows by the classes.
    median_of_rows
        The size that half of the rows have at least: how many the middle row looks like.
    bins
        The whole distribution; bins without classes too.
    """

    classes: int
    smallest: int
    largest: int
    average: float
    median_of_rows: int
    bins: tuple[SizeBin, ...]

    @property
    def sentence(self) -> str:
        """The numbers in one sentence, for a privacy officer."""
        return (
            f"There are {self.classes:,} groups of rows that look alike, the smallest of "
            f"{row_text(self.smallest)} and the largest of {row_text(self.largest)}; half of "
            f"the rows are in groups of {self.median_of_rows:,} or more."
        )

    def to_dict(self) -> dict[str, object]:
        """Return the numbers under their names, for JSON."""
        return asdict(self)


def class_sizes(alike: Alike) -> ClassSizes:
    """Count classes and rows by size, a wildcard's matches included in the size.

    Parameters
    ----------
    alike
        Groups of rows with equal quasi-identifiers, and the rows that each matches.
    """
    order = np.argsort(-alike.sample, kind="stable")
    reached = np.cumsum(alike.rows[order])
    middle = int(np.searchsorted(reached, (alike.n_rows + 1) // 2))
    in_bin = np.searchsorted(_BIN_STARTS, alike.sample, side="right") - 1
    n_classes = np.bincount(in_bin, minlength=len(_BIN_STARTS))
    ends = (*(start - 1 for start in _BIN_STARTS[1:]), None)
    bins = tuple(
        SizeBin(
            low=low,
            high=high,
            classes=int(n_classes[place]),
            rows=int(alike.rows[in_bin == place].sum()),
        )
        for place, (low, high) in enumerate(zip(_BIN_STARTS, ends, strict=True))
    )
    return ClassSizes(
        classes=len(alike.rows),
        smallest=int(alike.sample.min()),
        largest=int(alike.sample.max()),
        average=alike.n_rows / len(alike.rows),
        median_of_rows=int(alike.sample[order][middle]),
        bins=bins,
    )
