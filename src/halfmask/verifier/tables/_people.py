"""The population that a table was drawn from, given to the verifier."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl

from halfmask._errors import ColumnNotFoundError, VerificationError
from halfmask.verifier.tables._support import read_rows
from halfmask.verifier.tables.part import READ_ERRORS, open_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.verifier.checks import HierarchyFiles

FORMATS: Final = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".jsonl": "jsonl",
}


@dataclass(frozen=True, slots=True)
class People:
    """A population, and the hierarchies in whose nodes it is written."""

    table: pl.DataFrame
    hierarchies: HierarchyFiles

    def __repr__(self) -> str:
        return f"People({self.table.height} rows)"

    def tree(self, column: str) -> dict[str, list[str]] | None:
        """Return the labels of each leaf of a column, its own first; None without a hierarchy."""
        given = self._given(column)
        if given is None:
            return None
        rows = (
            [list(row) for row in given.rows()]
            if isinstance(given, pl.DataFrame)
            else (read_rows(Path(str(given))))
        )
        if len({len(row) for row in rows}) > 1:
            raise VerificationError("A hierarchy of the population has rows of different length.")
        # Where a file has no single root, halfmask writes "*" for all.
        root = [] if len({row[-1] for row in rows}) == 1 else ["*"]
        return {str(row[0]): [*map(str, row), *root] for row in rows}

    def _given(self, column: str) -> object:
        if isinstance(self.hierarchies, Mapping):
            return self.hierarchies.get(column)
        path = Path(self.hierarchies) / f"{column.replace('/', '%2F')}.csv"
        return path if path.is_file() else None


def open_people(
    population: object, hierarchies: HierarchyFiles | None, columns: Sequence[str]
) -> People:
    """Read a population."""
    try:
        table = open_given(population, what="population")
        known = table.collect_schema().names()
        absent = [name for name in columns if name not in known]
        if absent:
            raise ColumnNotFoundError.of(absent, known, where="the population")
        people = table.select(pl.col(list(columns))).collect(engine="streaming")
    except READ_ERRORS as error:
        if isinstance(error, VerificationError | ColumnNotFoundError):
            raise
        raise VerificationError("The population can't be read as a table.") from None
    if not people.height:
        raise VerificationError("The population has no rows.")
    return People(people, {} if hierarchies is None else hierarchies)


def open_given(given: object, *, what: str) -> pl.LazyFrame:
    """Open a table that a release doesn't hold."""
    if isinstance(given, pl.LazyFrame | pl.DataFrame):
        return given.lazy()
    if isinstance(given, str | os.PathLike):
        path = Path(given)
        fmt = FORMATS.get(path.suffix.lower())
        if fmt is None or not path.is_file():
            raise VerificationError(
                f"The {what} isn't a plain file of a known format.",
                hint=f"Its name must end in one of {', '.join(FORMATS)}.",
            )
        return open_part(path, fmt)
    if hasattr(given, "__arrow_c_stream__"):
        return pl.DataFrame(given).lazy()
    raise VerificationError(f"The {what} must be a frame or a path. Got {type(given).__name__}.")
