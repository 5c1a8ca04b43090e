"""The claim about copied rows, counted from the original rows that the owner has."""

from __future__ import annotations

import re
from math import sqrt
from typing import TYPE_CHECKING, Final

import polars as pl

from halfmask._errors import ColumnNotFoundError, VerificationError
from halfmask.claims import SyntheticDetails
from halfmask.verifier._checks import ClaimCount
from halfmask.verifier.masked._cell_checks import columns_of
from halfmask.verifier.masked._masked_release import open_stated
from halfmask.verifier.tables._part import FORMULA_NAME, READ_ERRORS
from halfmask.verifier.tables._people import open_given

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from halfmask.claims import Claim, DataFile, MaskedColumn
    from halfmask.verifier._checks import ReleasedFiles

#: CSV files have an apostrophe before texts that a spreadsheet would run as a formula.
GUARDED: Final = FORMULA_NAME.pattern.replace("'+", "^'('*", 1) + ")"
#: Files of several copies are named after them.
COPY: Final = re.compile(r"data/copy-(\d+)-")
#: Rows that more original rows equal are nobody's.
FEW: Final = 5
#: What is counted of them, since this version; and what is a sum over copies.
OF_FEW: Final = ("copied_of_few", "repeated_of_few")
DRAWN: Final = ("rows", "copied", "copied_of_few")
CURE: Final = (
    "The model copies rows: raise min_leaf in [synthesis], or leave out columns. Another draw "
    "copies as many."
)
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
    """Open the original rows: the released columns of them."""
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


def copies_of(files: Sequence[DataFile]) -> dict[int, list[DataFile]]:
    """Return the files of each copy, by its number; of a single one, 1."""
    found: dict[int, list[DataFile]] = {}
    for file in files:
        named = COPY.match(file.name)
        found.setdefault(int(named[1]) if named else 1, []).append(file)
    return found


def check_copied_rows(claim: Claim, files: ReleasedFiles) -> ClaimCount:
    """Count released rows that equal an original row, and original rows that equal another.

    The second is chance: so often does the row of a person equal that of somebody else. Rows that
    more than five people have are nobody's, and aren't judged. Each copy is judged by itself.
    """
    stated = SyntheticDetails.of(files.manifest)
    columns, copies = stated.columns, copies_of(files.manifest.files)
    if columns_of(claim) != [each.name for each in columns]:
        raise VerificationError("The claim isn't about all columns.")
    number = claim.parameters.get("copy")
    known = _occurrences(open_originals(files.given.originals, columns), columns)
    folder = files.path.parent
    counts = [
        _counts(_occurrences(_opened(folder, copies[each], columns), columns), known)
        for each in (copies if number is None else [int(number)])
    ]
    found = {
        name: sum(it[name] for it in counts) if name in DRAWN else first
        for name, first in counts[0].items()
    }
    beyond = [it for it in counts if _beyond_chance(it)]
    evidence = {name: claim.evidence.get(name) for name in found}
    if not any(name in claim.evidence for name in OF_FEW):
        evidence |= {name: found[name] for name in OF_FEW}
    holds = evidence == found and found["original_rows"] == stated.rows.n_in and not beyond
    words = " ".join(map(_words, beyond or counts))
    return ClaimCount(holds=holds, found=found, words=words, cure=CURE if beyond else "")


def _opened(
    folder: Path, files: Sequence[DataFile], columns: Sequence[MaskedColumn]
) -> pl.LazyFrame:
    table, faults = open_stated(folder, files, columns)
    if table is None:
        raise VerificationError(" ".join(faults))
    if any(file.format == "csv" for file in files):
        return table.with_columns(pl.col(pl.String).str.replace(GUARDED, "$1"))
    return table


def _counts(released: pl.DataFrame, known: pl.DataFrame) -> dict[str, int]:
    """Return how many rows equal others, and how many of them those of few people."""
    cells = released.columns[:-1]
    people = known.rename({"n": "people"})
    both = released.join(people, on=cells, how="inner", nulls_equal=True)
    again = known.filter(pl.col("n") > 1)
    return {
        "rows": _rows(released),
        "copied": _rows(both),
        "copied_of_few": _rows(both.filter(pl.col("people") <= FEW)),
        "original_rows": _rows(known),
        "repeated": _rows(again),
        "repeated_of_few": _rows(again.filter(pl.col("n") <= FEW + 1)),
    }


def _beyond_chance(counts: Mapping[str, int]) -> bool:
    """Return whether rows of few people are copied five standard errors more than by chance."""
    rows, original_rows = counts["rows"], counts["original_rows"]
    if not rows or not original_rows:
        return True
    copied, repeated = counts["copied_of_few"], counts["repeated_of_few"]
    share = (copied + repeated) / (rows + original_rows)
    error = sqrt(share * (1 - share) * (1 / rows + 1 / original_rows))
    return copied / rows - repeated / original_rows > SURE * error


def _words(counts: Mapping[str, int]) -> str:
    chance = counts["repeated_of_few"] * counts["rows"] / max(1, counts["original_rows"])
    return (
        f"{counts['copied_of_few']:,} of {counts['rows']:,} rows equal one that at most {FEW} "
        f"people have; by chance {chance:,.0f} would."
    )


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
    if column.dtype == "Time" and dtype == pl.String:
        return cell.str.to_time("%H:%M:%S%.f")
    if column.dtype.startswith("Datetime"):
        return _moments(cell, dtype)
    return cell if dtype in (pl.Date, pl.Time) else cell.cast(pl.String)


def _moments(cell: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return times on the clock of their zone, in nanoseconds."""
    if dtype == pl.String:
        cell = cell.str.replace(" ", "T").str.replace(r"(T.*)(?:Z|[+-]\d{2}:?\d{2})$", "${1}")
        return cell.str.to_datetime(time_unit="ns")
    return cell.dt.replace_time_zone(None).cast(pl.Datetime("ns"))


def _rows(table: pl.DataFrame) -> int:
    return int(table["n"].sum())
