"""One column of the rows at each of its levels, by rules that don't depend on the rows."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from halfmask._errors import HierarchyError, ParameterError
from halfmask.data import Dates, Groups, Hierarchy, Intervals, Order, Prefix, as_text, leaf_text

if TYPE_CHECKING:
    from halfmask.data import HierarchyRule

#: What is written for a column without a hierarchy where its values aren't.
ROOT = "*"
Codes: TypeAlias = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeveledColumn:
    """The label of each row at each level."""

    name: str
    codes: Codes
    labels: tuple[pl.Series, ...]

    def __repr__(self) -> str:
        return f"LeveledColumn({self.name!r}, {len(self.labels)} levels)"

    @classmethod
    def of(cls, series: pl.Series, hierarchy: Hierarchy | HierarchyRule | None) -> LeveledColumn:
        """Return a column at its levels."""
        if depends_on_rows(hierarchy):
            raise ParameterError(
                f"The hierarchy of column {series.name!r} depends on the values that there are: "
                f"{type(hierarchy).__name__}.",
                hint="Give Intervals, Groups, Order, Dates, Prefix with a length, or a hierarchy "
                "with all possible values.",
            )
        texts = leaf_text(series)
        known = texts.drop_nulls().unique().sort()
        codes = texts.cast(pl.Enum(known)).to_physical().cast(pl.Int32).fill_null(len(known))
        root = ROOT  # the same whichever values there are
        if hierarchy is None:
            levels = [known, pl.Series([ROOT] * len(known), dtype=pl.String)]
        elif isinstance(hierarchy, Hierarchy):
            highest = set(hierarchy.labels(hierarchy.height - 1))
            root = highest.pop() if len(highest) == 1 else ROOT
            levels = _levels(hierarchy, known)
        else:
            values = series.drop_nulls().unique().sort()
            if not len(values):  # a table of missing cells has as many levels as any other
                values = _placeholder(hierarchy, values)
            levels = _levels(hierarchy.build(values, column=series.name), known)
        written = [
            pl.concat([as_text(each), pl.Series([None], dtype=pl.String)]) for each in levels[:-1]
        ]
        written.append(pl.Series([root] * (len(known) + 1), dtype=pl.String))
        return cls(name=series.name, codes=codes.to_numpy(), labels=tuple(written))

    @property
    def height(self) -> int:
        """The highest level, which covers all values."""
        return len(self.labels) - 1

    def nodes(self, level: int) -> Codes:
        """Return the node of each value at a level, missing included."""
        return self.labels[level].rank("dense").fill_null(0).to_numpy().astype(np.int32)

    def at(self, level: int) -> pl.Series:
        """Return the label of each row at a level."""
        return self.labels[level].gather(self.codes.astype(np.uint32)).alias(self.name)


def depends_on_rows(hierarchy: Hierarchy | HierarchyRule | None) -> bool:
    """Return whether the labels or levels of a value depend on which other values there are.

    Examples
    --------
    >>> depends_on_rows(Prefix(keep=(2,))), depends_on_rows(Prefix(keep=(2,), length=5))
    (True, False)
    """
    if isinstance(hierarchy, Prefix):
        return hierarchy.length is None  # then labels are as long as the longest value
    known = Hierarchy | Intervals | Groups | Order | Dates
    return hierarchy is not None and not isinstance(hierarchy, known)


def _placeholder(rule: HierarchyRule, none: pl.Series) -> pl.Series:
    """Return one value, where a rule needs one to have its levels."""
    if isinstance(rule, Intervals):
        return pl.Series([0])
    if isinstance(rule, Dates):
        return pl.Series([dt.date(2000, 1, 1)])
    return pl.Series(["0"]) if isinstance(rule, Prefix) else none


def _levels(tree: Hierarchy, known: pl.Series) -> list[pl.Series]:
    leaves = pl.Series(tree.leaves, dtype=pl.String)
    if not known.is_in(leaves.implode()).all():
        raise HierarchyError(
            f"The hierarchy of column {tree.column!r} lacks a value of the table.",
            hint="It must have all possible values, whichever the table has.",
        )
    places = known.cast(pl.Enum(leaves)).to_physical()
    levels = [pl.Series(tree.labels(level), dtype=pl.String) for level in range(tree.height)]
    if len(set(tree.labels(tree.height - 1))) > 1:
        levels.append(pl.Series([ROOT] * len(leaves), dtype=pl.String))
    return [level.gather(places) for level in levels]
