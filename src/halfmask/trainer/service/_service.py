"""What the routes share: the store, the memory that bodies may take, threads, rows in JSON."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np
from fastapi import Response

from halfmask._errors import DataError
from halfmask.hashing import HashedRows
from halfmask.trainer.defences import Guard
from halfmask.trainer.service._access import Access
from halfmask.trainer.service._meters import Meters
from halfmask.trainer.service._responses import ARROW_STREAM, JSON, arrow_of, json_of
from halfmask.trainer.store import (
    CANARIES,
    EXAMPLES,
    Batch,
    Budget,
    Entry,
    Lease,
    Model,
    RefusedError,
    Store,
    Token,
    Unpacked,
    bytes_of,
    unpack,
)

if TYPE_CHECKING:
    from halfmask.trainer.service._options import ServiceOptions


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


Result = TypeVar("Result")
#: The kinds of labels that losses learn from; a softmax has classes.
_LABELS = {"squared": "number", "quantile": "number"}


class Service:
    """One service over one folder.

    The event loop only moves bytes. Bodies are checked in one pool of threads, predictions are
    made in another, what waits for the disk waits in a third, models are opened, made and deleted
    in a fourth, where a compiler may take its time, and digests of large models in a fifth. Tokens
    have a thread of their own: a revoked one becomes invalid even if the others wait. So no pool
    blocks another.
    """

    def __init__(self, folder: str | Path, options: ServiceOptions) -> None:
        self.options = options
        self.meters = Meters()
        self.store = Store(folder, limits=options.limits, flushed=self.meters.on_flush)
        self.backlog = Budget(options.limits.backlog_bytes)
        self.predicting = Budget(options.predict_bytes)
        self.checking = ThreadPoolExecutor(options.threads, "check")
        self.predictors = ThreadPoolExecutor(options.threads, "predict")
        self.waiting = ThreadPoolExecutor(4, "disk")
        self.making = ThreadPoolExecutor(4, "make")
        self.digesting = ThreadPoolExecutor(1, "digest")
        self.token_pool = ThreadPoolExecutor(1, "tokens")
        self.access = Access(self.store.tokens, self.token_pool)

    async def run(
        self, pool: ThreadPoolExecutor, function: Callable[..., Result], *values: object
    ) -> Result:
        """Run a function in a thread of a pool."""
        return await asyncio.get_running_loop().run_in_executor(pool, function, *values)

    def close(self) -> None:
        """Finish what was begun, then close the store."""
        for pool in (
            self.checking,
            self.predictors,
            self.making,
            self.waiting,
            self.digesting,
            self.token_pool,
        ):
            pool.shutdown(wait=True)
        self.store.close()

    def batch(
        self, model: Model, pieces: list[bytes], kind: str, lease: Lease, owner: tuple[Token, bytes]
    ) -> Batch:
        """Return a body as a batch that the model may learn. Runs in a thread."""
        token, _ = owner
        body, found = self._unpacked(model, pieces, kind, lease)
        wanted = labels_of(model)
        for part in found.parts:
            if part.label_kind != wanted:
                raise DataError(f"This model learns from labels of the kind {wanted!r}.")
            weights = part.weights
            if (
                token.max_weight is not None
                and weights is not None
                and len(weights)
                and float(weights.max()) > token.max_weight
            ):
                raise DataError("A weight is larger than this token's may be.")
        return _batch(EXAMPLES, body, found.parts, lease, owner)

    def canaries(
        self, model: Model, pieces: list[bytes], kind: str, lease: Lease, token: Token
    ) -> Batch:
        """Return a body as rows that the model's guard may judge by. Runs in a thread."""
        if model.guard is None:
            raise RefusedError("This model has no guard.", status=409, word="no-guard")
        body, found = self._unpacked(model, pieces, kind, lease)
        wanted, least = labels_of(model), Guard(**model.guard).min_rows
        if any(part.label_kind != wanted for part in found.parts):
            raise DataError(f"This model's canaries have labels of the kind {wanted!r}.")
        if any(part.weights is not None for part in found.parts):
            raise DataError("Canaries have no weights: each of them counts the same.")
        if found.rows < least:
            raise DataError(f"This model's guard needs at least {least:,} canaries.")
        rows = HashedRows.concat(found.parts)
        return _batch(CANARIES, body, (rows,), lease, (token, b""))

    def predicted(
        self, model: Model, pieces: list[bytes], kind: str, lease: Lease, *, arrow: bool
    ) -> tuple[Response, int]:
        """Return predictions as an answer, and how many rows they are of. Runs in a thread."""
        _, found = self._unpacked(model, pieces, kind, lease)
        if any(part.labels is not None or part.weights is not None for part in found.parts):
            raise DataError(
                "Rows to predict must come without labels and weights.",
                hint="Leave them out: they aren't needed, and would reveal the labels.",
            )
        size = 4 * found.rows * outputs_of(model)
        if size > (self.options.limits.body_bytes if arrow else self.options.json_bytes):
            raise RefusedError(
                "The answer would be too long.",
                status=413,
                word="too-large",
                hint="Ask for fewer rows at once, or for Arrow.",
            )
        lease.take(size)
        learned = model.learned
        rows = found.parts[0] if len(found.parts) == 1 else HashedRows.concat(found.parts)
        numbers = model.predict(rows)
        if arrow:
            return Response(arrow_of(numbers, learned), media_type=ARROW_STREAM), found.rows
        return json_of({"predictions": numbers, "learned": learned}), found.rows

    def _unpacked(
        self, model: Model, pieces: list[bytes], kind: str, lease: Lease
    ) -> tuple[bytes, Unpacked]:
        body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        most = self.options.limits.body_bytes
        bits = int(model.facts.settings["bits"])
        if kind == JSON:
            if len(body) > self.options.json_bytes:
                raise RefusedError(
                    f"A body of JSON has at most {self.options.json_bytes:,} bytes.",
                    status=413,
                    word="too-large",
                    hint="Send less at once, or Arrow.",
                )
            rows = rows_of_json(body, bits=bits, labels=labels_of(model))
            body = bytes_of(rows)
            found = Unpacked(parts=(rows,), rows=len(rows), inflated=0)
        else:
            found = unpack(body, most=most)
        lease.take(found.inflated)
        for part in found.parts:
            if part.bits != bits:
                raise DataError(f"This model has {bits} bits, and the rows have others.")
        return body, found


def outputs_of(model: Model) -> int:
    """Return how many numbers a prediction of a model has."""
    settings: dict[str, Any] = model.facts.settings
    return int(settings["classes"]) if settings["loss"] == "softmax" else 1


def _batch(
    kind: int, body: bytes, parts: tuple[HashedRows, ...], lease: Lease, owner: tuple[Token, bytes]
) -> Batch:
    token, key = owner
    entry = Entry(
        kind=kind,
        body=body,
        checksum=zlib.crc32(body),
        rows=sum(map(len, parts)),
        client=token.id,
        key=key,
    )
    return Batch(parts=parts, entry=entry, lease=lease)


def labels_of(model: Model) -> str:
    """Return the kind of labels that a model learns from, as the wire format names it."""
    settings: dict[str, Any] = model.facts.settings
    if settings["loss"] == "softmax" and settings["classes"] > 2:
        return f"classes:{settings['classes']}"
    return _LABELS.get(settings["loss"], "binary")


def kind_of(header: str | None) -> str:
    """Return the kind of a body by its Content-Type, or raise a `RefusedError` with 415."""
    kind = (header or "").partition(";")[0].strip().lower()
    if kind not in {JSON, ARROW_STREAM}:
        raise RefusedError(
            "The body is of a kind that isn't taken here.",
            status=415,
            word="media-type",
            hint=f"Send {ARROW_STREAM}, or {JSON} by hand.",
        )
    return kind
