"""The claim about copied rows, counted from the original rows that the owner has."""

from __future__ import annotations

import re
from math import sqrt
from typing import TYPE_CHECKING, Final

import polars as pl

from halfmask._errors import ColumnNotFoundError, VerificationError
from halfmask.claims import SyntheticDetails
from halfmask.verifier.checks import ClaimCount
from halfmask.verifier.masked._cell_checks import columns_of
from halfmask.verifier.masked._masked_release import open_stated
from halfmask.verifier.tables._fitting import open_given
from halfmask.verifier.tables.part import FORMULA_NAME, READ_ERRORS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from halfmask.claims import Claim, DataFile, MaskedColumn
    from halfmask.verifier.checks import ReleasedFiles

#: CSV files have an apostrophe before texts that a spreadsheet would run as a formula.
GUARDED: Final = FORMULA_NAME.pattern.replace("'+", "^'('*", 1) + ")"
#: Files of several copies are named after them.
COPY: Final = re.compile(r"data/copy-(\d+)-")
#: Types of decimals, which are in order as numbers.
DECIMAL: Final = re.compile(r"Decimal\(precision=\d+, scale=(\d+)\)")
#: Rows that more original rows equal are nobody's.
FEW: Final = 5
#: What earlier versions didn't count; and what is a sum over copies.
ADDED: Final = (
    ("copied_of_few", "repeated_of_few"),
    ("copied_of_one", "repeated_of_one", "moved_of_few"),
)
DRAWN: Final = ("rows", "copied", "copied_of_few", "copied_of_one", "moved_of_few")
#: What is judged: rows of few people, and those of one person.
JUDGED: Final = {"few": f"at most {FEW} people have", "one": "one person has"}
CURE: Final = (
    "The model copies rows, also with larger leaves: leave out columns, or round or generalize "
    "them."
)
#: How many standard errors copied rows of few people may be above chance.
SURE: Final = 5.0
#: As many more are no copies, such as a number that is written in two ways.
SPARE: Final = 2
#: Rows differ by design where at most one of so many equals another.
REPEATED: Final = 100
#: Moved rows equal others less often where the other cells change: so many times as many may.
EDGES: Final = 1.25
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
        _counted(_occurrences(_opened(folder, copies[each], columns), columns), known)
        for each in (copies if number is None else [int(number)])
    ]
    found = {
        name: sum(it[name] for it in counts) if name in DRAWN else first
        for name, first in counts[0].items()
    }
    # Earlier versions left as many rows of one person as chance in the long run, by luck.
    judged = JUDGED if "moved_of_few" in claim.evidence else ("few",)
    beyond = [(it, whose) for it in counts for whose in judged if _beyond_chance(it, whose)]
    evidence = {name: claim.evidence.get(name) for name in found}
    for names in ADDED:
        if not any(name in claim.evidence for name in names):
            evidence |= {name: found[name] for name in names}
    holds = evidence == found and found["original_rows"] == stated.rows.n_in and not beyond
    words = " ".join(_words(*each) for each in beyond or [(it, "few") for it in counts])
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


def _counted(released: pl.DataFrame, known: pl.DataFrame) -> dict[str, int]:
    """Return how many rows equal others, and how many of them those of few people."""
    people = known.rename({"n": "people"})
    both = _both(released, people)
    again = known.filter(pl.col("n") > 1)
    found = {
        "rows": _rows(released),
        "copied": _rows(both),
        "copied_of_few": _rows(both.filter(pl.col("people") <= FEW)),
        "original_rows": _rows(known),
        "repeated": _rows(again),
        "repeated_of_few": _rows(again.filter(pl.col("n") <= FEW + 1)),
        "copied_of_one": _rows(both.filter(pl.col("people") == 1)),
        "repeated_of_one": _rows(again.filter(pl.col("n") == 2)),
    }
    is_more = any(found[f"copied_of_{each}"] > _repeated(found, each) for each in JUDGED)
    cells = released.columns[:-1]
    moved = [_moved_of_few(released, people, each) for each in cells] if is_more else []
    return found | {"moved_of_few": max(moved, default=0) // 2}


def _moved_of_few(released: pl.DataFrame, people: pl.DataFrame, cell: str) -> int:
    """Return how many rows equal one of few with a cell moved up, and how many moved down.

    It is 0 unless rows differ by that cell by design, such as one for each day, without gaps. Only
    rows whose other cells more than five people have are compared: those of few tell of a person.
    """
    others = [each for each in people.columns[:-1] if each != cell]
    size = pl.col("people").sum()
    known = people.filter(pl.col(cell).is_not_null(), (size.over(others) if others else size) > FEW)
    again = known.filter(pl.col("people") > 1)["people"].sum()
    cells = released[cell].drop_nulls().unique().sort()
    total = int(known["people"].sum())
    if not total or again * REPEATED > total or len(cells) < 2 or _has_gaps(known[cell], total):
        return 0
    few = known.filter(pl.col("people") <= FEW)
    found = 0
    for beside in (pl.concat([cells[1:], cells[-2:-1]]), pl.concat([cells[1:2], cells[:-1]])):
        places = released.join(pl.DataFrame([cells, beside.alias("beside")]), on=cell)
        moved = places.with_columns(pl.col("beside").alias(cell)).drop("beside")
        found += _rows(_both(moved.select(released.columns), few))
    return found


def _has_gaps(cells: pl.Series, people: int) -> bool:
    """Return whether numbers lie so far apart that it says something if one is met exactly.

    Categories don't, nor do numbers that more than five people have each.
    """
    points = cells.unique().sort().to_physical()
    is_number = cells.dtype.is_numeric() or cells.dtype.is_temporal()
    if not is_number or FEW * len(points) < people:
        return False
    apart = sorted(points.diff().drop_nulls().to_list())
    return bool(points[-1] - points[0] > 2 * apart[len(points) // 20] * (len(points) - 1))


def _both(released: pl.DataFrame, people: pl.DataFrame) -> pl.DataFrame:
    """Return the released rows that equal original ones."""
    return released.join(people, on=people.columns[:-1], how="inner", nulls_equal=True)


def _beyond_chance(counts: Mapping[str, int], whose: str) -> bool:
    """Return whether rows of one person, or of few, are copied more than by chance.

    Of few people they may be five standard errors more: where nearly all rows are such, no others
    can be drawn.
    """
    rows, original_rows = counts["rows"], counts["original_rows"]
    if not rows or not original_rows:
        return True
    copied, chance = counts[f"copied_of_{whose}"], _repeated(counts, whose)
    share = (copied + counts[f"repeated_of_{whose}"]) / (rows + original_rows)
    error = 0.0 if whose == "one" else sqrt(share * (1 - share) * rows * (1 + rows / original_rows))
    return copied > max(chance + SURE * error, EDGES * counts["moved_of_few"]) + SPARE


def _repeated(counts: Mapping[str, int], whose: str) -> float:
    """Return how many of the rows would be theirs by Good's estimate of chance."""
    return counts[f"repeated_of_{whose}"] * counts["rows"] / max(1, counts["original_rows"])


def _words(counts: Mapping[str, int], whose: str) -> str:
    chance = max(_repeated(counts, whose), counts["moved_of_few"])
    return (
        f"{counts[f'copied_of_{whose}']:,} of {counts['rows']:,} rows equal one that "
        f"{JUDGED[whose]}; by chance {chance:,.0f} would."
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
    if (scale := DECIMAL.match(column.dtype)) is not None:
        return cell.cast(pl.Decimal(38, int(scale[1])))
    return cell if dtype in (pl.Date, pl.Time) else cell.cast(pl.String)


def _moments(cell: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return times on the clock of their zone, in nanoseconds."""
    if dtype == pl.String:
        cell = cell.str.replace(" ", "T").str.replace(r"(T.*)(?:Z|[+-]\d{2}:?\d{2})$", "${1}")
        return cell.str.to_datetime(time_unit="ns")
    return cell.dt.replace_time_zone(None).cast(pl.Datetime("ns"))


def _rows(table: pl.DataFrame) -> int:
    return int(table["n"].sum())
