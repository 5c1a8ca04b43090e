"""A fitted protection of the quasi-identifiers: small, a value, applied batch by batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import ColumnNotFoundError, SchemaError
from halfmask.anonymize._cells import CellColumn
from halfmask.anonymize.recodings import Level, Ranges, Representative
from halfmask.engines import map_in_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize._cells import CellCounts
    from halfmask.anonymize._fitted import Fitted
    from halfmask.anonymize._partition import Partition
    from halfmask.anonymize.coding import Coding
    from halfmask.anonymize.method import Method
    from halfmask.anonymize.recodings import Recoding
    from halfmask.data import Schema
    from halfmask.guarantees import Guarantee


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How rows find their cell, and what is written for each cell.

    Parameters
    ----------
    codings
        The quasi-identifiers' codes.
    partition
        The cells.
    written
        What each quasi-identifier is in each cell, (cells,) each; both bounds are a struct.
    guarantees, method, recoding
        The guarantees, and how the cells were found and are written.
    column_recodings
        Recodings of single columns in the place of `recoding`.

    Guarantees
    ----------
    Applying it to a batch never looks at another batch. The guarantee holds for the rows that the
    plan was fitted to; rows that come later are placed among them and take their classes' values.

    It holds the column's distinct values: it belongs in a vault, never in a release.
    """

    codings: tuple[Coding, ...]
    partition: Partition
    written: tuple[pl.Series, ...]
    guarantees: tuple[Guarantee, ...]
    method: Method
    recoding: Recoding
    column_recodings: Mapping[str, Recoding] = field(default_factory=dict)

    def __repr__(self) -> str:
        models = ", ".join(map(repr, self.guarantees))
        return f"Plan({self.partition.n_cells} cells, {models}, on {list(self.quasi_identifiers)})"

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The names of the columns that are recoded."""
        return tuple(coding.column.name for coding in self.codings)

    def recoding_of(self, column: str) -> Recoding:
        """Return how a quasi-identifier is written.

        Parameters
        ----------
        column
            The quasi-identifier.
        """
        return self.column_recodings.get(column, self.recoding)

    def written_as(self, column: str) -> Recoding:
        """Return what writes a column: `Ranges` for `Level` without a hierarchy.

        Parameters
        ----------
        column
            The quasi-identifier.
        """
        recoding = self.recoding_of(column)
        coding = self.codings[self.quasi_identifiers.index(column)]
        if isinstance(recoding, Level) and coding.hierarchy is None:
            return Ranges()
        return recoding

    def weaknesses_of(self, column: str) -> tuple[str, ...]:
        """Return the names of the weaknesses of what is written for a column.

        Ends of ranges are values only where ranges are written, and not those of a grid.

        Parameters
        ----------
        column
            The quasi-identifier.
        """
        recoding, place = self.written_as(column), self.quasi_identifiers.index(column)
        coding, written = self.codings[place], self.written[place]
        if not isinstance(recoding, Ranges):
            return recoding.weaknesses
        has_ranges = written.dtype != pl.String or written.str.starts_with("[").any()
        own_ends = coding.ordered and coding.grid is None and has_ranges
        return ("range-ends-are-values",) if own_ends else ()

    @property
    def publishable(self) -> bool:
        """Whether the plan may be published: never, it holds values."""
        return False

    def codes(self, batch: pl.DataFrame) -> list[NDArray[np.int64]]:
        """Return the codes of a batch, column by column; -1 where a cell has no place.

        Parameters
        ----------
        batch
            A table with the quasi-identifiers.
        """
        missing = [name for name in self.quasi_identifiers if name not in batch.columns]
        if missing:
            raise ColumnNotFoundError.of(missing, batch.columns, where="the table")
        return [coding.codes(batch[coding.column.name]) for coding in self.codings]

    def cells(self, batch: pl.DataFrame) -> NDArray[np.int32]:
        """Return the cell of each row; -1 for an unseen category or a suppressed row.

        Parameters
        ----------
        batch
            A table with the quasi-identifiers.
        """
        if not batch.height:
            return np.empty(0, dtype=np.int32)
        return self.partition.cells_of(self.codes(batch))

    def apply(self, batch: pl.DataFrame, *, cells: NDArray[np.int32] | None = None) -> pl.DataFrame:
        """Return the batch with its quasi-identifiers recoded, without cell-less rows.

        Parameters
        ----------
        batch
            A table with the quasi-identifiers, and any other columns, which stay.
        cells
            The cell of each row where it is known already, such as at the fit.
        """
        cells = self.cells(batch) if cells is None else cells
        placed = pl.Series(cells >= 0)
        if not placed.all():
            batch, cells = batch.filter(placed), cells[cells >= 0]
        columns = self.released_columns(batch.columns)
        return batch.with_columns(self.written_for(pl.Series(cells))).select(columns)

    @property
    def released(self) -> tuple[pl.Series, ...]:
        """What is released of each quasi-identifier in each cell: bounds are two."""
        return tuple(
            column
            for series in self.written
            for column in (series.struct.unnest() if series.dtype == pl.Struct else [series])
        )

    def released_columns(self, columns: Sequence[str]) -> list[str]:
        """Return the names of columns in a release, in their order.

        Parameters
        ----------
        columns
            Columns of the table.
        """
        written = dict(zip(self.quasi_identifiers, self.written, strict=True))
        return [
            each
            for name in columns
            for each in (
                written[name].struct.fields
                if name in written and written[name].dtype == pl.Struct
                else [name]
            )
        ]

    def value_spans(self, counts: CellCounts) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Return the least and greatest code of each cell, per quasi-identifier.

        Missing cells don't count; (-1, -1) where a cell has nothing else.

        Parameters
        ----------
        counts
            The rows of each code in each cell.
        """
        return [
            CellColumn.of(coding, place, partition=self.partition, counts=counts).value_range()
            for place, coding in enumerate(self.codings)
        ]

    def written_for(self, cells: pl.Series) -> list[pl.Series]:
        """Return each released column of the quasi-identifiers for rows of these cells.

        Parameters
        ----------
        cells
            The cell of each row; a missing one leaves the row's quasi-identifiers missing.
        """
        # polars turns indices of any other type into these, once a column.
        places = cells.cast(pl.UInt32)
        return list(map_in_order(self.released, lambda series: series.gather(places)))


def write_cells(
    fitted: Fitted, counts: CellCounts, recodings: Mapping[str, Recoding], schema: Schema
) -> Iterable[pl.Series]:
    """Yield what each quasi-identifier is in each cell."""
    chosen: Sequence[NDArray[np.int64] | None] = [None] * len(fitted.codings)
    if any(isinstance(recoding, Representative) for recoding in recodings.values()):
        kept = np.flatnonzero(fitted.cell_of_row >= 0)
        codes = [column[kept] for column in fitted.codes]
        rows = representative_rows(fitted.cell_of_row[kept], codes, fitted.codings)
        chosen = [column[rows].astype(np.int64) for column in codes]

    def write(place: int) -> pl.Series:
        coding = fitted.codings[place]
        column = CellColumn.of(
            coding,
            place,
            partition=fitted.partition,
            counts=counts,
            representatives=chosen[place],
        )
        series = recodings[coding.column.name].write(column)
        _check_bounds(series, schema)
        return series

    return map_in_order(range(len(fitted.codings)), write)


def _check_bounds(written: pl.Series, schema: Schema) -> None:
    """Raise if a column of bounds would have the name of another column."""
    if written.dtype != pl.Struct:
        return
    for name in written.struct.fields:
        if name in schema:
            raise SchemaError(
                f"The bounds of column {written.name!r} need the name {name!r}, which another "
                "column has.",
                hint="Rename that column, or write the ranges as text.",
            )


def representative_rows(
    cell_of_row: NDArray[np.int32],
    codes: Sequence[NDArray[np.integer]],
    codings: Sequence[Coding],
) -> NDArray[np.int64]:
    """Return for each cell the number of the row that is nearest the cell's middle.

    Notes
    -----
    Of rows that are equally near the first in the table is taken.
    """
    n = len(cell_of_row)
    distance = np.zeros(n)
    for column, coding in zip(codes, codings, strict=True):
        rows = pl.DataFrame({"cell": cell_of_row, "code": column.astype(np.int64)})
        if coding.ordered:
            middle = rows.select(pl.col("code").quantile(0.5, "lower").over("cell")).to_series()
            width = max(1, coding.n_codes - 1)
            distance += np.abs(column - middle.to_numpy()) / width
        else:
            counted = rows.select("cell", "code", n=pl.len().over("cell", "code")).with_columns(
                most=pl.col("n").max().over("cell")
            )
            distance += (counted["n"] < counted["most"]).to_numpy()
    nearest = (
        pl.DataFrame({"cell": cell_of_row, "distance": distance, "row": np.arange(n)})
        .sort("cell", "distance", "row")
        .group_by("cell", maintain_order=True)
        .first()
    )
    return nearest["row"].to_numpy().astype(np.int64)
