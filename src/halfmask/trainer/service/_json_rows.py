"""Hashed rows in JSON, for those who try things out by hand."""

from __future__ import annotations

import json
from itertools import chain
from typing import Any, NoReturn

import numpy as np

from halfmask._errors import DataError
from halfmask.hashing import HashedRows

_FIELDS = {"rows", "values", "labels", "weights"}


def rows_of_json(body: bytes, *, bits: int, labels: str) -> HashedRows:
    """Return the rows of a JSON object."""
    payload = _parse(body)
    if not isinstance(payload, dict) or not payload.keys() <= _FIELDS or "rows" not in payload:
        raise DataError(
            "The body must be a JSON object with 'rows', and may have 'values', 'labels' and "
            "'weights'."
        )
    rows = _lists(payload["rows"], "rows", int)
    values = _lists(payload["values"], "values", int, float) if "values" in payload else None
    if not rows:
        raise DataError("The body has no rows.")
    lengths = [len(row) for row in rows]
    if values is not None and [len(row) for row in values] != lengths:
        raise DataError("'values' must have the same lengths as 'rows'.")
    flat = _array(list(chain.from_iterable(rows)), np.uint32, "rows")
    floats = None
    if values is not None:
        floats = _array(list(chain.from_iterable(values)), np.float32, "values")
    bounds = None
    if len(set(lengths)) == 1 and lengths[0]:
        shape = (len(rows), lengths[0])
        flat, floats = flat.reshape(shape), None if floats is None else floats.reshape(shape)
    else:
        bounds = np.cumsum([0, *lengths], dtype=np.int64)
    classes = int(labels.partition(":")[2] or 2)
    return HashedRows(
        indices=flat,
        bits=bits,
        indptr=bounds,
        values=floats,
        labels=_labels(payload.get("labels"), number=labels == "number"),
        weights=_numbers(payload.get("weights"), "weights"),
        classes=classes,
    )


def _parse(body: bytes) -> Any:  # noqa: ANN401 # what JSON holds
    try:
        return json.loads(body, object_pairs_hook=_refuse_repeats, parse_constant=_refuse_constant)
    except DataError:
        raise
    # ValueError is also of bytes that are no text, and of integers with thousands of digits.
    except (ValueError, RecursionError):
        raise DataError("The body isn't JSON.") from None


def _refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise DataError("The body has a field twice.")
    return found


def _refuse_constant(_: str) -> NoReturn:
    raise DataError("The body holds a number that isn't finite.")


def _lists(payload: object, name: str, *kinds: type) -> list[list[Any]]:
    if not isinstance(payload, list):
        raise DataError(f"{name!r} must be a list of lists.")
    for row in payload:
        # type() and not isinstance(): true is an int there, and no index.
        if not isinstance(row, list) or not all(type(each) in kinds for each in row):
            raise DataError(f"{name!r} must be a list of lists of numbers of the right type.")
    return payload


def _array(numbers: list[Any], kind: Any, name: str) -> Any:  # noqa: ANN401 # numpy's types
    try:
        with np.errstate(over="ignore"):
            return np.array(numbers, dtype=kind)
    except (OverflowError, ValueError, TypeError):
        raise DataError(f"A number of {name!r} is out of range.") from None


def _labels(payload: object, *, number: bool) -> Any:  # noqa: ANN401 # an array of either type
    if number:
        return _numbers(payload, "labels")
    if payload is None:
        return None
    if not isinstance(payload, list) or not all(type(each) is int for each in payload):
        raise DataError("'labels' must be a list of integers, one for each row.")
    return _array(payload, np.int32, "labels")


def _numbers(payload: object, name: str) -> Any:  # noqa: ANN401 # an array, or None
    if payload is None:
        return None
    if not isinstance(payload, list) or not all(type(each) in {int, float} for each in payload):
        raise DataError(f"{name!r} must be a list of numbers, one for each row.")
    return _array(payload, np.float32, name)
