"""The protocol of recodings."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:
    import polars as pl

    from halfmask.anonymize._cells import CellColumn


@runtime_checkable
class Recoding(Protocol):
    """What is written for a class.

    Guarantees expected of one: a cell's rows all get the one value that :meth:`write` gives, and
    cells that get equal values in every column become one class; all guarantees here allow that,
    for none is broken by joining classes that keep it.
    """

    name: ClassVar[str]

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """What it gives away of a class, by name."""

    def write(self, cells: CellColumn) -> pl.Series:
        """Return one column's value for each cell.

        Parameters
        ----------
        cells
            The codes and values of one quasi-identifier in each cell.
        """
