"""Whether a CSV file can go straight into hashed rows, and what its columns need for that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import DataError
from halfmask.data import ReadOptions
from halfmask.data.io.database_url import is_database_url
from halfmask.data.io.dialect import Dialect, sniff
from halfmask.data.io.formats import TEXT_FORMATS, form_of_name, format_of_bytes
from halfmask.data.io.places import TextStream, places_of
from halfmask.hashing._csv_rows import CsvRows, Hashed, NotPlainError
from halfmask.hashing._slots import BinSlot, CategorySlot, LogSlot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.data.io.places import Place
    from halfmask.hashing._plan import HashPlan
    from halfmask.hashing._reading import TableReading
    from halfmask.hashing._slots import PlainSlot, Slot

_SAMPLE = 1 << 20
#: What :mod:`halfmask.kernels.hashing.csv_rows` does with a column; it isn't imported without need.
_TEXT, _WHOLE, _BINNED, _LOGGED, _CELLS, _NUMBER = 1, 2, 3, 4, 5, 6
_CATEGORIES = {"text": _TEXT, "integer": _WHOLE}
#: By what its classes are; a label without classes is a number.
_LABELS = {"text": _CELLS, "integer": _NUMBER, "number": _NUMBER}


def csv_rows(  # keyword-only where it may be mistaken
    table: object,
    plan: HashPlan,
    reading: TableReading,
    *,
    label: str | None,
    label_kind: str | None,
    sent: bool | None,
) -> Iterator[tuple[Hashed, float]] | None:
    """Return the hashed rows of a table and their labels, if it is a plain CSV file."""
    places = _places(table, reading)
    found = []
    for place in places:
        dialect = _dialect(place, reading)
        made = (
            None
            if dialect is None
            else _arrays(dialect, plan, reading, label, label_kind, sent=sent)
        )
        if made is None:
            return None
        found.append((place, made))
    return _rows(found) if found else None


def _rows(found: list[tuple[Place, CsvRows]]) -> Iterator[tuple[Hashed, float]]:
    stamps = [place.stamp() for place, _ in found]
    total, done = sum(stamp[1] for stamp in stamps if stamp), 0
    try:
        for place, made in found:
            for hashed in made.of(place):
                done += hashed.size
                # A compressed file has more bytes than it takes.
                yield hashed, min(1.0, done / max(1, total))
    except NotPlainError:
        # The other way would give rows of another file.
        check_unchanged([place for place, _ in found], stamps)
        raise
    check_unchanged([place for place, _ in found], stamps)


def check_unchanged(places: Sequence[Place], stamps: Sequence[Any]) -> None:
    """Raise a `DataError` if files aren't those any more that they were."""
    if list(stamps) != [place.stamp() for place in places]:
        raise DataError("The table to read has changed while it was read.")


def _places(table: object, reading: TableReading) -> list[Place]:
    """Return the files of a table that may be plain CSV, or none."""
    path = isinstance(table, str | Path) and str(table) != "-" and not is_database_url(table)
    fits = reading.format in {None, "csv", "tsv"} and reading.options in (None, ReadOptions())
    return places_of(table) if path and fits else []  # type: ignore[arg-type] # it is a path


def _dialect(place: Place, reading: TableReading) -> Dialect | None:
    named = form_of_name(place.name)
    declared = reading.format or (named.format if named else None)
    try:
        # The reader of all files reports what is wrong with a file.
        with TextStream(place, encoding="utf-8") as stream:
            start = stream.read(_SAMPLE)
        form = format_of_bytes(start, declared=declared, sure=False, what=place.what)
        if form not in TEXT_FORMATS or form == "jsonl":
            return None
        sample = start.decode("utf-8", errors="ignore").lstrip("\r\n")
        delimiter = "\t" if form == "tsv" else None
        return sniff(sample, delimiter=delimiter, quote='"', what=place.what)
    except (DataError, OSError):
        return None


def _arrays(
    dialect: Dialect,
    plan: HashPlan,
    reading: TableReading,
    label: str | None,
    label_kind: str | None,
    *,
    sent: bool | None,
) -> CsvRows | None:
    """Return what is done with each column, or None if some of it can't be done here."""
    columns = {name: position for position, name in enumerate(dialect.first)}
    there = label is not None and label in columns
    left_out = {*reading.leave_out, *([label] if there else [])}
    slots = plain_slots(plan)
    if (
        slots is None
        # An empty line is a missing cell where there is one column, and nothing elsewhere.
        or not 1 < len(columns) == len(dialect.first)
        or not left_out <= set(columns)
        or set(columns) - left_out != set(slots)
        or (sent and not there)
    ):
        return None
    arrays = _Arrays(len(columns), plan.settings.bits)
    kinds = {column.name: column.kind for column in plan.columns}
    for number, (name, slot) in enumerate(slots.items()):
        if not arrays.add(columns[name], number, slot, kinds[name]):
            return None
    if there and label is not None and sent is not False:
        what = _LABELS.get(label_kind or "number")
        if what is None:
            return None
        arrays.whats[columns[label]] = what
    return arrays.made(dialect, features=len(slots), log_bits=_log_bits(slots))


def plain_slots(plan: HashPlan) -> dict[str, PlainSlot] | None:
    """Return the slot of each column, if each has one and nothing else is asked for."""
    wired = plan._hasher.wired  # noqa: SLF001 # of this package
    if wired.bags or plan.settings.signed:
        return None
    found: dict[str, PlainSlot] = {}
    for slot in wired.slots:
        if not isinstance(slot, CategorySlot | BinSlot | LogSlot):
            return None
        found[slot.column] = slot
    return found


def _log_bits(slots: Mapping[str, PlainSlot]) -> int:
    return next((slot.bits for slot in slots.values() if isinstance(slot, LogSlot)), 0)


class _Arrays:
    """The arrays of `halfmask.kernels.hashing.csv_rows.hash_rows`, filled column by column."""

    def __init__(self, width: int, bits: int) -> None:
        self.whats = np.zeros(width, np.int8)
        self._bits = bits
        self._slots = np.zeros(width, np.int64)
        self._keys = np.zeros((width, 2), np.uint64)
        self._missing = np.zeros(width, np.uint32)
        self._tables: dict[int, NDArray[np.uint64]] = {}
        self._edges: dict[int, NDArray[np.float64]] = {}

    def add(self, column: int, number: int, slot: Slot, kind: str) -> bool:
        """Say what is done with a column; return whether that can be done."""
        self._slots[column] = number
        if isinstance(slot, CategorySlot):
            if kind not in _CATEGORIES:
                return False
            self.whats[column] = _CATEGORIES[kind]
            self._keys[column] = slot.key
            self._missing[column] = self._indices(np.array([slot.missing]))[0]
            return True
        if kind not in {"integer", "float"} or not isinstance(slot, BinSlot | LogSlot):
            return False
        self._tables[column] = slot.table
        if isinstance(slot, BinSlot):
            self._edges[column] = slot.edges
        self.whats[column] = _BINNED if isinstance(slot, BinSlot) else _LOGGED
        return True

    def made(self, dialect: Dialect, *, features: int, log_bits: int) -> CsvRows:
        """Return what was filled."""
        tables, table_starts = _concatenate_columns(self._tables, len(self.whats), np.uint64)
        edges, edge_starts = _concatenate_columns(self._edges, len(self.whats), np.float64)
        return CsvRows(
            dialect=dialect,
            features=features,
            bits=self._bits,
            whats=self.whats,
            slots=self._slots,
            keys=self._keys,
            missing=self._missing,
            tables=self._indices(tables),
            table_starts=table_starts,
            edges=edges,
            edge_starts=edge_starts,
            log_bits=log_bits,
        )

    def _indices(self, hashes: NDArray[np.uint64]) -> NDArray[np.uint32]:
        return (hashes & np.uint64((1 << self._bits) - 1)).astype(np.uint32)


def _concatenate_columns(
    parts: Mapping[int, NDArray[Any]], width: int, dtype: type
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return arrays of some columns one behind the other, and where those of each begin."""
    starts = np.zeros(width + 1, np.int64)
    np.cumsum([len(parts.get(column, ())) for column in range(width)], out=starts[1:])
    found = [parts[column] for column in range(width) if column in parts]
    return np.concatenate([np.zeros(0, dtype), *found]), starts
