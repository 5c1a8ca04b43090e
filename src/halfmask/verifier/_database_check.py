"""A copied database: its rows, references and unchanged cells, counted again in SQLite files."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

from halfmask._errors import VerificationError
from halfmask.claims.database_manifest import DatabaseDetails
from halfmask.verifier.checks import ClaimCount, VerifiedKind

if TYPE_CHECKING:
    from halfmask.claims import Claim
    from halfmask.verifier.checks import ReleasedFiles

_URL: Final = "sqlite:///"
#: Tables and views of the copy with their columns, but those that are computed.
_COLUMNS: Final = (
    "SELECT s.name, c.name FROM sqlite_schema s, pragma_table_info(s.name) c "
    "WHERE s.type IN ('table', 'view') AND s.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
)
#: The number in the header of each copy: a source with the same rows has another.
_MARK: Final = int.from_bytes(b"hmsk", "big")
ROWS, REFERENCES, UNCHANGED = "rows-of-table", "references-hold", "unchanged-cells"


def _problems(files: ReleasedFiles) -> list[str]:
    """Say which claims the manifest lacks, and whether the copy has other tables."""
    stated, claims = DatabaseDetails.of(files.manifest), files.manifest.claims
    tables = {each.name for each in stated.tables}
    counted = {each.about.get("table") for each in claims if each.model == ROWS}
    problems = []
    if counted != tables:
        problems.append("The manifest doesn't claim the rows of each table.")
    if sum(each.model == REFERENCES for each in claims) != stated.foreign_keys:
        problems.append("The manifest doesn't claim each of its references.")
    if files.given.originals is not None:
        _path(files.given.originals, "source of the copy")
    if files.given.copy is not None:
        named: set[object] = {
            (it.table, name) for it in stated.masks for name in _columns(it.column)
        }
        for each in claims:
            if each.model == UNCHANGED:
                named |= {(each.about.get("table"), it) for it in _listed(each.about["columns"])}
        if _number(files, "PRAGMA application_id") != _MARK:
            problems.append("The copy has no mark of halfmask: it may be the source.")
        there = _asked(files, _COLUMNS)
        others = {table for table, _ in there if table is not None} - tables
        problems += [f"The copy has {len(others)} other tables or views."] if others else []
        if more := sum(table in tables and (table, name) not in named for table, name in there):
            problems.append(f"The copy has {more} columns without a mask or a claim.")
    return problems


def _columns(masked: str) -> set[str]:
    """Return the columns of a mask, which states those of several in one text."""
    return {masked, *masked.split(", ")}


def check_rows(claim: Claim, files: ReleasedFiles) -> ClaimCount:
    """Count the rows of a table."""
    found = _number(files, f"SELECT count(*) FROM {_quoted(claim.about['table'])}")
    return ClaimCount(holds=found == claim.parameters["rows"], found={"rows": found})


def check_references(claim: Claim, files: ReleasedFiles) -> ClaimCount:
    """Count the rows whose reference leads to no row."""
    mine, its = _names(claim.about["columns"]), _names(claim.about["parent_columns"])
    known = " AND ".join(f"c.{each} IS NOT NULL" for each in mine)
    # The parent stands first: its collation decides, as in the reference.
    same = " AND ".join(f"p.{b} = c.{a}" for a, b in zip(mine, its, strict=True))
    found = _number(
        files,
        f"SELECT count(*) FROM {_quoted(claim.about['table'])} c WHERE {known} AND NOT EXISTS "
        f"(SELECT 1 FROM {_quoted(claim.about['parent'])} p WHERE {same})",
    )
    return ClaimCount(holds=found == 0, found={"lost": found})


def check_unchanged(claim: Claim, files: ReleasedFiles) -> ClaimCount:
    """Count the different rows of unmasked cells that the source hasn't, or has another time."""
    names = [f"t.{each}" for each in _names(claim.about["columns"])]
    # Of a subset, each row is one of the source; of a whole table, as often as there.
    often = [] if DatabaseDetails.of(files.manifest).subset is not None else ["count(*)"]
    listed = ", ".join([*(f"{each} COLLATE BINARY" for each in names), *often])
    by = ", ".join(f"{each} COLLATE BINARY" for each in names)
    table = _quoted(claim.about["table"])
    mine, its = (
        f"SELECT {listed} FROM {base}.{table} t GROUP BY {by}" for base in ("main", "source")
    )
    found = _number(files, f"SELECT count(*) FROM ({mine} EXCEPT {its})")
    return ClaimCount(holds=found == 0, found={"other_rows": found})


def _number(files: ReleasedFiles, query: str) -> int:
    ((found,),) = _asked(files, query)
    return int(str(found))


def _asked(files: ReleasedFiles, query: str) -> list[tuple[object, ...]]:
    """Return what a query gives in the copy; the source is attached to it where it is known."""
    given = files.given
    copy = f"{_path(given.copy, 'copy').as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(copy, uri=True)) as base:
            if given.originals is not None:
                source = _path(given.originals, "source of the copy")
                base.execute("ATTACH ? AS source", (f"{source.as_uri()}?mode=ro",))
            return base.execute(query).fetchall()
    except sqlite3.Error:
        raise VerificationError("The copy can't be read as the manifest states it.") from None


def _path(given: object, what: str) -> Path:
    if isinstance(given, str | os.PathLike):
        path = Path(str(given).removeprefix(_URL))
        if path.is_file():
            return path.absolute()
    raise VerificationError(
        f"The {what} must be the file of an SQLite database.",
        hint="Copies in PostgreSQL are counted only when they are made.",
    )


def _names(given: object) -> list[str]:
    return [_quoted(each) for each in _listed(given)]


def _listed(given: object) -> list[object]:
    if not isinstance(given, list) or not given:
        raise VerificationError("The claim must name columns.")
    return given


def _quoted(name: object) -> str:
    if not isinstance(name, str):
        raise VerificationError("A name in the claim isn't text.")
    return '"' + name.replace('"', '""') + '"'


KIND: Final = VerifiedKind(
    checks={
        ROWS: ("counted", check_rows),
        REFERENCES: ("counted", check_references),
        UNCHANGED: ("counted", check_unchanged),
    },
    inputs=frozenset({"copy", "originals"}),
    needs={ROWS: ("copy",), REFERENCES: ("copy",), UNCHANGED: ("copy", "originals")},
    problems=_problems,
    has_files=False,
)
