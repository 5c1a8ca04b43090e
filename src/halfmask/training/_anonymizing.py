"""Anonymizing: the rows' classes, whatever leads, and by which columns they may be parted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl

from halfmask._errors import ColumnNotFoundError, ParameterError, SchemaError
from halfmask.anonymize._anonymizer import Anonymizer
from halfmask.anonymize._columns import named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from halfmask.data import Hierarchy, HierarchyRule, Kind
    from halfmask.guarantees import Guarantee
    from halfmask.training._encoding import Encoding
    from halfmask.training._estimator import AnonymizedEstimator
    from halfmask.training._partitions import Led

__all__ = [
    "Anonymizing",
    "as_seen",
    "judged",
    "labels_column",
    "names_of",
    "numbers_are_there",
    "parted_by",
]

Given = TypeVar("Given")

#: Larger tables aren't cut by the columns that the model sees, which are copied for it.
MOST_NUMBERS = 50_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Anonymizing:
    """How classes are made.

    Parameters
    ----------
    table
        The rows, and what guarantees judge beside them.
    seen
        What the model sees of them, and the same beside it; ``None`` where that isn't cut.
    names
        The quasi-identifiers.
    seen_names
        The columns that the model sees of them.
    parted
        What classes that are parted by other columns too are parted by.
    guarantees, hierarchies, kinds, max_suppression_fraction
        As in :class:`Anonymizer`.
    """

    table: pl.DataFrame
    seen: pl.DataFrame | None
    names: Sequence[str]
    seen_names: Sequence[str]
    parted: Sequence[str]
    guarantees: Sequence[Guarantee]
    hierarchies: Mapping[str, Hierarchy | HierarchyRule] | None
    kinds: Mapping[str, Kind] | None
    max_suppression_fraction: float

    @classmethod
    def of(
        cls,
        model: AnonymizedEstimator,
        table: pl.DataFrame,
        names: Sequence[str],
        encoded: NDArray[np.float64],
        *,
        others: Sequence[str],
        in_steps: bool,
    ) -> Anonymizing:
        """Take what an estimator was told.

        Parameters
        ----------
        model
            Its settings, and its encoding.
        table, names
            The rows with what is judged beside them, and the quasi-identifiers.
        encoded
            The rows as the model sees them.
        others
            What else reaches it, and may be cut.
        in_steps
            Whether it answers in steps: then the columns that it sees may be cut, unless it was
            said how the table's are.
        """
        encoding, may = model.encoder_, in_steps and not (model.hierarchies or model.kinds)
        return cls(
            table=table,
            seen=as_seen(encoding, encoded, table, model.guarantees) if may else None,
            names=names,
            seen_names=encoding.seen_names(),
            parted=parted_by(table, names, others, model.guarantees),
            guarantees=model.guarantees,
            hierarchies=model.hierarchies,
            kinds=model.kinds,
            max_suppression_fraction=model.max_suppression_fraction,
        )

    def of_part(self, places: NDArray[np.int64]) -> Anonymizing:
        """Return how classes of some of the rows are made."""
        seen = None if self.seen is None else self.seen[places]
        return replace(self, table=self.table[places], seen=seen)

    def fitted(self, led: Led) -> Anonymizer:
        """Return classes of the rows."""
        by_encoding = self.seen is not None and led.by_encoding
        return self.led_by(led).fit(self.seen if by_encoding else self.table, led.guide)

    def led_by(self, led: Led) -> Anonymizer:
        """Return what is to be fitted."""
        names = self.parted if led.by_others else self.seen_names if led.by_encoding else self.names
        return Anonymizer(
            guarantees=self.guarantees,
            method=led.method,
            quasi_identifiers=[*names],
            hierarchies=self._given(self.hierarchies, led),
            kinds=self._given(self.kinds, led),
            max_suppression_fraction=self.max_suppression_fraction,
        )

    def _given(self, given: Mapping[str, Given] | None, led: Led) -> Mapping[str, Given] | None:
        """Return what was said of quasi-identifiers: other columns are numbers and nothing else."""
        if given is None or not led.by_others:
            return given
        return {name: value for name, value in given.items() if name in self.names}


def judged(
    table: pl.DataFrame, labels: NDArray[Any], name: str, guarantees: Sequence[Guarantee]
) -> pl.DataFrame:
    """Return a table with the labels beside it, where a guarantee judges them.

    Raises
    ------
    ParameterError
        If a column has their name.
    """
    if name not in {guarantee.column for guarantee in guarantees}:
        return table
    if name in table.columns:
        raise ParameterError(
            f"A guarantee judges y as {name!r}, and a column has that name too.",
            hint="Pass another name as label.",
        )
    return table.with_columns(labels_column(name, labels))


def as_seen(
    encoding: Encoding,
    encoded: NDArray[np.float64],
    beside: pl.DataFrame,
    guarantees: Sequence[Guarantee],
) -> pl.DataFrame | None:
    """Return what the model sees of quasi-identifiers, and beside it what guarantees judge.

    Parameters
    ----------
    encoding
        Tells which of its columns depend on quasi-identifiers.
    encoded
        The rows as the model sees them, (rows, columns).
    beside
        The table, with labels where a guarantee judges them.

    Notes
    -----
    **Edge cases.** ``None`` where the model sees nothing of them, where it would be more than
    ``MOST_NUMBERS`` numbers, and where what is judged has a name of theirs or isn't there.
    """
    names = encoding.seen_names()
    judges = {guarantee.column for guarantee in guarantees if guarantee.column}
    if not names or judges.intersection(names) or not judges.issubset(beside.columns):
        return None
    if len(names) * len(encoded) > MOST_NUMBERS:
        return None
    return encoding.seen(encoded).with_columns(beside.select(sorted(judges)))


def labels_column(name: str, labels: NDArray[Any]) -> pl.Series:
    """Return labels as guarantees order them: numbers by size, all else as text."""
    values = np.asarray(labels.tolist()) if labels.dtype == object else labels
    return pl.Series(name, values if values.dtype.kind in "iuf" else values.astype(str))


def names_of(quasi_identifiers: Sequence[str | int] | None, columns: list[str]) -> list[str]:
    """Return the names of quasi-identifiers, as a plan orders them.

    Parameters
    ----------
    quasi_identifiers
        Names or positions; ``None``: all columns.
    columns
        The columns of the table.

    Raises
    ------
    ColumnNotFoundError
        If one isn't there.
    ParameterError
        If a number is one column's name and another's position.
    """
    if quasi_identifiers is None:
        return columns
    names = [named(each, columns) for each in quasi_identifiers]
    unknown = [name for name in names if name not in columns]
    if unknown:
        raise ColumnNotFoundError.of(unknown, columns, where="the rows")
    return [name for name in columns if name in names]


def parted_by(
    table: pl.DataFrame,
    names: Sequence[str],
    reaching: Sequence[str],
    guarantees: Sequence[Guarantee],
) -> list[str]:
    """Return quasi-identifiers and after them what else rows can be parted by.

    Parameters
    ----------
    table
        The rows.
    names
        The quasi-identifiers.
    reaching
        What reaches the model beside them.
    guarantees
        No column that they judge is cut; nor is one with a cell that is missing or infinite.
    """
    judged = {guarantee.column for guarantee in guarantees}
    others = [
        name
        for name in reaching
        if name not in judged.union(names)
        and table[name].dtype.is_numeric()
        and not table[name].has_nulls()
        and bool(table[name].cast(pl.Float64).is_finite().all())  # decimals can't say it
    ]
    return [*names, *others]


def numbers_are_there(table: pl.DataFrame, parted: Sequence[str], names: Sequence[str]) -> None:
    """Raise if rows lack what they are parted by beside quasi-identifiers.

    Raises
    ------
    SchemaError
        If they do.
    """
    lacking = [name for name in parted if name not in names and table[name].has_nulls()]
    if lacking:
        raise SchemaError(
            f"Classes were parted by columns that lack numbers in some rows: {lacking}.",
            hint="Fill them in, or predict the rows as they are.",
        )
