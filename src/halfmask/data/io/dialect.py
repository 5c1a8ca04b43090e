"""How the cells of a CSV file are kept apart, found from its first rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from halfmask._errors import DataError

# In the order in which they win when nothing else tells them apart.
DELIMITERS = (",", ";", "\t", "|")
_ROWS = 200
_FIELD_LIMIT = 1 << 30


@dataclass(frozen=True, slots=True)
class Dialect:
    """The delimiter and quote of a CSV file, and its first row."""

    delimiter: str
    quote: str
    first: tuple[str, ...]


def sniff(sample: str, *, delimiter: str | None, quote: str, what: str) -> Dialect:
    r"""Find the delimiter that cuts the first rows into the same number of cells.

    Examples
    --------
    >>> sniff("name;age\n'Doe; J';41\n", delimiter=None, quote="'", what="It").delimiter
    ';'
    """
    best: Dialect | None = None
    best_score = (-1.0, -1)
    for candidate in [delimiter] if delimiter else DELIMITERS:
        rows = list(islice(_rows(sample, candidate, quote), _ROWS))
        if not rows:
            continue
        width = len(rows[0])
        alike = sum(len(row) == width for row in rows) / len(rows)
        # A delimiter that cuts nothing cuts every row alike: it is the last resort.
        score = (alike if width > 1 else -0.5, width)
        if score > best_score:
            best, best_score = Dialect(candidate, quote, tuple(rows[0])), score
    if best is None:
        raise DataError(f"{what} is empty.", hint="Give a table with a header and rows.")
    return best


def _rows(sample: str, delimiter: str, quote: str) -> Iterator[list[str]]:
    """Yield the rows of the sample that hold anything, without the last if it may be cut off."""
    # Only `csv` reads rows one by one here; its limit is the process's, and is put back.
    limit = csv.field_size_limit(_FIELD_LIMIT)
    try:
        reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter, quotechar=quote)
        rows = [row for row in islice(reader, _ROWS + 1) if row]
    except csv.Error:
        rows = []
    finally:
        csv.field_size_limit(limit)
    yield from rows[:-1] if len(rows) > 1 else rows
