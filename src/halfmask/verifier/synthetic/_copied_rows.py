"""The claim about copied rows, counted from the original rows that the owner has."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Final

import polars as pl

from halfmask._errors import ColumnNotFoundError, VerificationError
from halfmask.verifier._checks import ClaimCount
from halfmask.verifier.masked._cell_checks import columns_of
from halfmask.verifier.tables._part import FORMULA_NAME, READ_ERRORS
from halfmask.verifier.tables._people import open_given

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.claims import Claim, MaskedColumn
    from halfmask.claims._synthetic_manifest import SyntheticManifest

__all__ = ["check_copies", "open_originals"]

#: CSV files have an apostrophe before texts that a spreadsheet would run as a formula.
GUARDED: Final = FORMULA_NAME.pattern.replace("'+", "^'('*", 1) + ")"
#: How many standard errors copied rows may be above chance.
SURE: Final = 5.0
#: Types whose values are compared as such; of all others their text is.
PLAIN: Final[dict[str, pl.DataType]] = {
    str(dtype): dtype
    for dtype in (
        *(pl.Int8(), pl.Int16(), pl.Int32(), pl.Int64(), pl.Int128()),
        *(pl.UInt8(), pl.UInt16(), pl.UInt32(), pl.UInt64()),
        *(pl.Float32(), pl.Float64()),
    )
}


def open_originals(originals: object, columns: Sequence[MaskedColumn]) -> pl.LazyFrame:
    """Open the original rows: the released columns of them.

    Parameters
    ----------
    originals
        A frame, or the path of a plain file: Parquet, CSV, Arrow or JSON lines.
    columns
        The released columns.

    Raises
    ------
    ColumnNotFoundError
        If a released column isn't there.
    VerificationError
        If it can't be read as a table.
    """
    try:
        table = open_given(originals, what="originals")
        known = table.collect_schema().names()
    except READ_ERRORS as error:
        if isinstance(error, VerificationError):
            raise
        raise VerificationError("The originals can't be read as a table.") from None
    absent = [each.name for each in columns if each.name not in known]
    if absent:
        raise ColumnNotFoundError.of(absent, known, where="the originals")
    return table.select(each.name for each in columns)


def check_copies(
    claim: Claim, table: pl.LazyFrame, originals: pl.LazyFrame, stated: SyntheticManifest
) -> ClaimCount:
    """Count released rows that equal an original row, and original rows that equal another.

    The second is chance: so often does the row of a person equal that of somebody else.

    Parameters
    ----------
    claim
        ``"copied-rows"``, about all columns, with both counts as evidence.
    table, originals
        The released and the original rows.
    stated
        The released columns with their types, the format of the files, and the rows.
    """
    if columns_of(claim) != [each.name for each in stated.columns]:
        raise VerificationError("The claim isn't about all columns.")
    if any(file.format == "csv" for file in stated.files):
        table = table.with_columns(pl.col(pl.String).str.replace(GUARDED, "$1"))
    released, known = (_occurrences(each, stated.columns) for each in (table, originals))
    cells = released.columns[:-1]
    both = released.join(known, on=cells, how="semi", nulls_equal=True)
    found = {
        "rows": _rows(released),
        "copied": _rows(both),
        "original_rows": _rows(known),
        "repeated": _rows(known.filter(pl.col("n") > 1)),
    }
    evidence = {name: claim.evidence.get(name) for name in found}
    holds = evidence == found and found["original_rows"] == stated.n_in
    return ClaimCount(holds=holds and not _beyond_chance(**found), found=found)


def _beyond_chance(*, rows: int, copied: int, original_rows: int, repeated: int) -> bool:
    """Return whether copied rows are more than five standard errors above chance."""
    if not rows or not original_rows:
        return True
    share = (copied + repeated) / (rows + original_rows)
    error = sqrt(share * (1 - share) * (1 / rows + 1 / original_rows))
    return copied / rows - repeated / original_rows > SURE * error


def _occurrences(table: pl.LazyFrame, columns: Sequence[MaskedColumn]) -> pl.DataFrame:
    """Return the different rows, their cells as c0, c1, ..., and how often each occurs as n."""
    schema = table.collect_schema()
    cells = [_cells(each, schema[each.name]).alias(f"c{i}") for i, each in enumerate(columns)]
    counts = table.select(cells).group_by(pl.all()).agg(pl.len().alias("n"))
    return counts.collect(engine="streaming")


def _cells(column: MaskedColumn, dtype: pl.DataType) -> pl.Expr:
    """Return cells such that those of one value are equal, whatever file they are from."""
    cell = pl.col(column.name)
    stated = PLAIN.get(column.dtype)
    if stated is not None:
        cell = cell.cast(stated)
        return cell.fill_nan(None) if stated.is_float() else cell
    if column.dtype == "Date" and dtype == pl.String:
        return cell.str.to_date()
    if column.dtype.startswith("Datetime"):
        return _moments(cell, dtype)
    if column.dtype == "Time" and dtype == pl.String:
        return cell.str.to_time("%H:%M:%S%.f")
    return cell if dtype in (pl.Date, pl.Time) else cell.cast(pl.String)


def _moments(cell: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return times on the clock of their zone, in nanoseconds."""
    if dtype == pl.String:
        cell = cell.str.replace(" ", "T").str.replace(r"(T.*)(?:Z|[+-]\d{2}:?\d{2})$", "${1}")
        return cell.str.to_datetime(time_unit="ns")
    return cell.dt.replace_time_zone(None).cast(pl.Datetime("ns"))


def _rows(table: pl.DataFrame) -> int:
    return int(table["n"].sum())
