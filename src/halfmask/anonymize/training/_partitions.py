"""Which partitions are tried: the same tree led in several ways, or the one that was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask.anonymize._guided import Guided

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from halfmask.anonymize._method import Method
    from halfmask.anonymize.training._guidance import Guidance
    from halfmask.guarantees import Guarantee

__all__ = ["Led", "parted_by", "partitions"]

#: A share of the gain below which the widest column is cut already: with few classes, columns that
#: the guide hardly looks at must still be told apart somewhere.
WIDER = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Led:
    """A method and what leads it.

    Parameters
    ----------
    name
        How the partition is called.
    method
        How classes are found.
    guide
        What leads, (rows, outputs).
    by_others
        Whether columns that aren't recoded are cut, too.
    """

    name: str
    method: Method
    guide: NDArray[np.float64]
    by_others: bool = False

    def __repr__(self) -> str:
        return f"Led({self.name!r})"


def partitions(
    method: Method | None,
    guidance: Guidance,
    *,
    several: bool,
    labels: NDArray[np.float64] | None = None,
) -> list[Led]:
    """Return what is tried, the likeliest first.

    Parameters
    ----------
    method
        The one that was asked for; ``None``: :class:`Guided`.
    guidance
        What leads.
    several
        Whether there may be more than one: a method that was asked for is led by all that leads,
        and :class:`Guided` is tried with a second ``least_gain``.
    labels
        For a model that answers in steps the labels as a guide, (rows, outputs): then the likeliest
        leads, and they, and :class:`Guided` is led to the end rather than wider.

    Notes
    -----
    Where other columns reach a model that answers in steps, they are cut too: a class has at least
    k rows of one point then as ever, and its point goes along with them.
    """
    end = {", wider": Guided(least_gain=WIDER)}
    guides = {"rows": guidance.said}
    others: dict[str, NDArray[np.float64]] = {}
    if guidance.alone is not None:
        guides = {"quasi-identifiers alone": guidance.alone} | guides
    if labels is not None:
        end = {", to the end": Guided(least_gain=0.0)}
        others = {} if guidance.alone is None else {"labels": labels, "rows": guidance.said}
        guides = dict([*guides.items()][:1]) | {"labels": labels}
    methods = {"": Guided()} | end if method is None else {"": method}
    found = [
        Led(name=f"led by {guided_by}{how}", method=each, guide=guide)
        for how, each in methods.items()
        for guided_by, guide in guides.items()
    ]
    found += [
        Led(
            name=f"led by {guided_by}{how}, by other columns too",
            method=each,
            guide=guide,
            by_others=True,
        )
        for how, each in methods.items()
        for guided_by, guide in others.items()
    ]
    return found if several else found[:1]


def parted_by(
    table: pl.DataFrame, names: Sequence[str], guarantees: Sequence[Guarantee]
) -> list[str]:
    """Return quasi-identifiers and after them what else rows can be parted by.

    Other columns are those of numbers that are there in each row, and that no guarantee judges.
    """
    judged = {guarantee.column for guarantee in guarantees}
    others = [
        column.name
        for column in table
        if column.dtype.is_numeric()
        and not column.has_nulls()
        and column.name not in judged.union(names)
    ]
    return [*names, *others]
