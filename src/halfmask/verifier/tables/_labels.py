"""What is written for a class, read back: which values of a person fit it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from datetime import datetime, time
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from halfmask._errors import VerificationError
from halfmask.verifier.tables.labels import OR_MISSING, ROOT, Label, read_label

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Fits: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]
_Key: TypeAlias = "Decimal | datetime | time"

#: More digits of a second than Python's times hold.
FINE_SECOND: Final = re.compile(r"\.\d{6}\d*[1-9]")


def value_fits(
    labels: Sequence[str], values: Sequence[str], *, is_number: bool, is_scale: bool
) -> Fits:
    """Return which values fit each label of a column of ranges and sets.

    Notes
    -----
    The root covers everyone who has a value in the column, as in ARX; not who has none.
    """
    read = [read_label(label) for label in labels if label != ROOT]
    fits = np.zeros((len(labels) + 1, len(values) + 1), dtype=np.bool_)
    fits[0, 0] = True
    rest = 1 + np.array([place for place, label in enumerate(labels) if label != ROOT], np.int64)
    fits[1:, 1:] = True
    if not read:
        return fits
    fits[rest, 0] = [label.missing for label in read]
    if is_scale or any(label.form != "values" for label in read):
        fits[rest, 1:] = _between(read, values)
    else:
        fits[rest, 1:] = _named(read, values, is_number=is_number)
    return fits


def node_fits(
    labels: Sequence[str], values: Sequence[str], rows: Mapping[str, Sequence[str]]
) -> Fits:
    """Return which values fit each label of a column of nodes: those with it in their row."""
    fits = np.zeros((len(labels) + 1, len(values) + 1), dtype=np.bool_)
    fits[0, 0] = True
    below: dict[str, list[int]] = {}
    for place, value in enumerate(values, start=1):
        for node in set(rows.get(value, ())):
            below.setdefault(node, []).append(place)
    for number, label in enumerate(labels, start=1):
        fits[number, below.get(label, [])] = True
        if label.endswith(OR_MISSING):
            fits[number, 0] = True
            fits[number, below.get(label.removesuffix(OR_MISSING), [])] = True
    return fits


def bound_fits(labels: Sequence[str], values: Sequence[str], *, is_least: bool) -> Fits:
    """Return which values are on the right side of each bound, itself included."""
    fits = np.zeros((len(labels) + 1, len(values) + 1), dtype=np.bool_)
    fits[0, 0] = True
    low, high, rank = _ranks([Label("values", (label,), False) for label in labels], values)
    if is_least:
        fits[1:, 1:] = rank >= low[:, None]
    else:
        fits[1:, 1:] = rank < high[:, None]
    return fits


def _named(labels: Sequence[Label], values: Sequence[str], *, is_number: bool) -> Fits:
    """Return which values are named by each label."""
    places: dict[object, list[int]] = {}
    for place, value in enumerate(values):
        places.setdefault(_same(value) if is_number else value, []).append(place)
    fits = np.zeros((len(labels), len(values)), dtype=np.bool_)
    for number, label in enumerate(labels):
        for part in label.parts:
            fits[number, places.get(_same(part) if is_number else part, [])] = True
    return fits


def _same(text: str) -> object:
    try:
        return Decimal(text)
    except InvalidOperation:
        return text


def _between(labels: Sequence[Label], values: Sequence[str]) -> Fits:
    """Return which values lie between the ends of each label, both included."""
    low, high, rank = _ranks(labels, values)
    return (rank >= low[:, None]) & (rank < high[:, None])


def _ranks(labels: Sequence[Label], values: Sequence[str]) -> tuple[Ints, Ints, Ints]:
    """Return how many values are below each label, and not above it, and the rank of each value."""
    keys = [_key(value) for value in values]
    unread = keys.count(None)
    if unread:
        raise VerificationError(
            f"{unread} values of the population are no number and no time, but ranges are written."
        )
    ends = [(_key(label.parts[0]), _key(label.parts[-1])) for label in labels]
    known = [key for pair in (*ends, keys) for key in pair if key is not None]
    several = any(label.form == "values" and len(label.parts) > 1 for label in labels)
    if several or len(known) < 2 * len(ends) + len(keys) or len(set(map(type, known))) > 1:
        raise VerificationError("The labels of the release aren't all numbers, or all times.")
    try:
        order = sorted(range(len(keys)), key=lambda place: keys[place])  # type: ignore[arg-type, return-value] # of one type
        ranked = [keys[place] for place in order]
        rank = np.empty(len(keys), dtype=np.int64)
        rank[order] = np.arange(len(keys))
        low = np.array([bisect_left(ranked, first) for first, _ in ends], dtype=np.int64)  # type: ignore[type-var]
        high = np.array(
            [
                (bisect_left if label.form == "open range" else bisect_right)(ranked, last)  # type: ignore[type-var]
                for label, (_, last) in zip(labels, ends, strict=True)
            ],
            dtype=np.int64,
        )
    except TypeError:  # a time with a zone against one without
        raise VerificationError("Times with a zone can't be compared with others.") from None
    return low, high, rank


def _key(text: str) -> _Key | None:
    """Return the number or time that a text is; None if it is neither."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        pass
    else:
        return None if number.is_nan() else number
    if FINE_SECOND.search(text):
        return None  # it would be cut short
    for read in (datetime.fromisoformat, time.fromisoformat):
        try:
            return read(text)
        except ValueError:
            continue
    return None
