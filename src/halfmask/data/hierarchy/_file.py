"""Hierarchies from files, in the format of ARX."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from pathlib import Path
from typing import IO

from halfmask._errors import HierarchyError, ParameterError
from halfmask.data.hierarchy.tree import Hierarchy

GZIP = b"\x1f\x8b"


def read_hierarchy(
    where: str | Path | IO[bytes] | IO[str], *, column: str, delimiter: str = ";"
) -> Hierarchy:
    r"""Read a hierarchy from a CSV file of ARX: raw value, then coarser labels.

    Parameters
    ----------
    where
        A path or an open file; UTF-8, with or without byte order mark, plain or gzip. Fields may
        be quoted with ``"``; empty lines are skipped.
    column
        The column that the hierarchy is for.
    delimiter
        The one character between the fields.

    Returns
    -------
    Hierarchy
        With the root ``"*"`` added where the file's last level has more than one node.

    Raises
    ------
    HierarchyError
        If the file can't be read, or its rows are no hierarchy (see `Hierarchy.from_rows`).
    ParameterError
        If the delimiter isn't one character.

    Notes
    -----
    Source: ARX, ``AttributeType.Hierarchy.create(file, charset, delimiter)``, and the files that
    it ships.

    Examples
    --------
    >>> import io
    >>> read_hierarchy(io.StringIO("1;odd;*\n2;even;*\n"), column="n").height
    3
    """
    if len(delimiter) != 1:
        raise ParameterError(
            f"The 'delimiter' parameter of read_hierarchy must be one character. "
            f"Got {len(delimiter)} characters instead."
        )
    text = _text(where, column)
    try:
        rows = [row for row in csv.reader(text, delimiter=delimiter, strict=True) if row]
    except csv.Error:
        raise HierarchyError(
            f"The hierarchy file of column {column!r} is not well-formed CSV.",
            hint='Check its quotes: a quote inside of a quoted field is doubled ("").',
        ) from None
    _check_delimiter(rows, column, delimiter)
    return Hierarchy.from_rows(rows, column=column)


def _text(where: str | Path | IO[bytes] | IO[str], column: str) -> io.StringIO:
    """Return the whole text of a file; hierarchies are small next to the data."""
    try:
        raw = Path(where).read_bytes() if isinstance(where, str | Path) else where.read()
        if isinstance(raw, bytes):
            plain = gzip.decompress(raw) if raw.startswith(GZIP) else raw
            raw = plain.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise HierarchyError(
            f"The hierarchy file of column {column!r} is not UTF-8.",
            hint="Save it as UTF-8.",
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        # The error's own text holds the path.
        raise HierarchyError(
            f"The hierarchy file of column {column!r} can't be read ({type(error).__name__}).",
            hint="Check that the file is there; paths in a policy start at the policy's folder.",
        ) from None
    return io.StringIO(raw, newline="")


def _check_delimiter(rows: list[list[str]], column: str, delimiter: str) -> None:
    """Raise where a file of one level looks like one with another delimiter."""
    if not rows or any(len(row) != 1 for row in rows):
        return
    for other in set(",;\t|") - {delimiter}:
        counts = {row[0].count(other) for row in rows}
        if len(counts) == 1 and 0 not in counts:
            raise HierarchyError(
                f"The hierarchy file of column {column!r} has one level, and each of its lines "
                f"has the same number of {other!r}.",
                hint=f"Give delimiter={other!r}.",
            )
