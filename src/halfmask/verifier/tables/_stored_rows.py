"""The rows of a release: one table here, or files that workers read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import polars as pl

from halfmask._errors import EngineError
from halfmask.verifier.tables.part import READ_ERRORS, UnreadableError, open_part

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from halfmask.verifier._workers import Workers

_Found = TypeVar("_Found")


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def opened(path: Path, form: str) -> pl.LazyFrame:
    """Open a data file; categories are taken as texts."""
    table = open_part(path, form)
    dtypes = table.collect_schema()
    as_text = [n for n, dtype in dtypes.items() if dtype in (pl.Categorical, pl.Enum)]
    return table.with_columns(pl.col(as_text).cast(pl.String))


def unseen() -> EngineError:
    """Return the error of a file that isn't the same on every machine."""
    return EngineError(
        "A data file of the release isn't the same for this process and all workers.",
        hint="Put the release into a folder that all of them see under the same path, and don't "
        "change it meanwhile.",
    )


@dataclass(frozen=True, slots=True)
class StoredPart:
    """A data file that was checked."""

    path: Path
    format: str
    sha256: str

    def checked(self) -> pl.LazyFrame:
        """Open the file, once it is found to be the one that was checked."""
        if not self.path.is_file() or sha256_of(self.path) != self.sha256:
            raise unseen()
        return opened(self.path, self.format)


@dataclass(frozen=True, slots=True)
class StoredRows:
    """All rows of a release."""

    table: pl.LazyFrame | None
    parts: tuple[StoredPart, ...] = ()
    workers: Workers | None = None

    def whole(self) -> pl.LazyFrame:
        """Return the rows as one table of this process."""
        if self.table is not None:
            return self.table
        return pl.concat([part.checked() for part in self.parts])

    def fold(
        self,
        summarize: Callable[[pl.LazyFrame], _Found],
        merge: Callable[[_Found, _Found], _Found],
    ) -> _Found:
        """Return what a function finds in the table, or what it finds in each file, merged."""
        if self.workers is None:
            return summarize(self.whole())
        return self.workers.fold(self.parts, partial(_of_part, summarize), merge)


def _of_part(summarize: Callable[[pl.LazyFrame], _Found], part: StoredPart) -> _Found:
    table = part.checked()
    try:
        return summarize(table)
    except READ_ERRORS:
        # Their messages quote cells, and a panic would end the worker.
        raise UnreadableError("It can't be read to its end.") from None
