"""Hashed rows to a service: examples that it learns from once, and rows that it predicts."""

from __future__ import annotations

import struct
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import TrainerError
from halfmask.hashing import HashedRows
from halfmask.trainer._messages import batches_of
from halfmask.trainer.client._flow import ARROW_STREAM, Body, Compression, arrow_body, flow

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from numpy.typing import NDArray

    from halfmask.trainer.client._flow import BatchPlace
    from halfmask.trainer.client._journal import Journal
    from halfmask.trainer.client._transport import Transport


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """What a push did.

    Parameters
    ----------
    rows
        How many rows there were in all: the service has acknowledged each.
    sent
        How many of them were sent now.
    resumed
        How many the journal remembers from before; they weren't sent again.
    known
        How many of those that were sent now the service had learned from before.
    """

    rows: int
    sent: int
    resumed: int
    known: int

    def and_(self, other: Pushed) -> Pushed:
        """Return both together.

        Parameters
        ----------
        other
            The result of another push.
        """
        return Pushed(
            rows=self.rows + other.rows,
            sent=self.sent + other.sent,
            resumed=self.resumed + other.resumed,
            known=self.known + other.known,
        )


def push_batches(
    transport: Transport,
    path: str,
    batches: Iterator[tuple[BatchPlace, HashedRows]],
    *,
    in_flight: int,
    compression: Compression,
    journal: Journal | None,
) -> Iterator[Pushed]:
    """Send batches to a path; yield what was done with each once it is acknowledged."""

    def push(item: tuple[BatchPlace, HashedRows], stopped: threading.Event) -> Pushed:
        place, rows = item
        key = place.key(rows)
        n_rows = len(rows)
        if journal is not None and place.number in journal:
            journal.check(place.number, key)
            return Pushed(rows=n_rows, sent=0, resumed=n_rows, known=0)
        known = _sent(transport, path, arrow_body(rows, compression), key, stopped)
        if journal is not None:
            journal.add(place.number, key, rows=n_rows)
        return Pushed(rows=n_rows, sent=n_rows, resumed=0, known=n_rows if known else 0)

    yield from flow(batches, push, at_once=in_flight)


def _sent(
    transport: Transport, path: str, body: Body, key: bytes, stopped: threading.Event
) -> bool:
    """Send a batch until it is acknowledged; return whether the service had it before."""
    headers = {"Idempotency-Key": key.hex()}
    try:
        answer = transport.request("POST", path, body=body, headers=headers, stopped=stopped)
    except TrainerError as error:
        # The key is one of content: these rows came before, in other bytes (another version of
        # Arrow, another compression).
        if error.word == "key-reused":
            return True
        raise
    payload = answer.json()
    return isinstance(payload, dict) and payload.get("replayed") is True


FIELD = "p"
#: A longer answer isn't read: 8,192 rows of 8,000 classes.
_MAX_BYTES = 1 << 28
#: A service answers in one.
_MAX_BATCHES = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class _Predicted:
    """The predictions of one batch, and whether the journal remembers them."""

    place: BatchPlace
    key: bytes
    found: NDArray[np.float32]
    resumed: bool


def predict_batches(
    transport: Transport,
    path: str,
    batches: Iterator[tuple[BatchPlace, HashedRows]],
    *,
    in_flight: int,
    compression: Compression,
    journal: Journal | None,
) -> Generator[NDArray[np.float32]]:
    """Yield the predictions of each batch: a number for each row, or a row of numbers."""

    def predict(item: tuple[BatchPlace, HashedRows], stopped: threading.Event) -> _Predicted:
        place, rows = item
        key = place.key(rows) if journal is not None else b""
        if journal is not None and place.number in journal:
            journal.check(place.number, key)
            numbers = np.frombuffer(journal.answer(place.number), "<f4")
            width = len(numbers) // len(rows)
            found = numbers if width == 1 else numbers.reshape(len(rows), width)
            return _Predicted(place=place, key=key, found=found, resumed=True)
        answer = transport.request(
            "POST",
            path,
            body=arrow_body(rows, compression),
            headers={"Accept": ARROW_STREAM},
            max_bytes=_MAX_BYTES,
            stopped=stopped,
        )
        found = _numbers(answer.content)
        if len(found) != len(rows):
            raise TrainerError(
                f"The service answered for {len(found)} rows where {len(rows)} were asked about."
            )
        return _Predicted(place=place, key=key, found=found, resumed=False)

    shapes = set()
    # One after the other, they need no thread, which would only have to be waited for.
    stopped = threading.Event()
    alone = (predict(each, stopped) for each in batches)
    for each in flow(batches, predict, at_once=in_flight) if in_flight > 1 else alone:
        shapes.add(each.found.shape[1:])
        if len(shapes) > 1:
            raise TrainerError("The service's answers have different numbers of classes.")
        if journal is not None and not each.resumed:
            data = np.ascontiguousarray(each.found, "<f4").tobytes()
            journal.add(each.place.number, each.key, rows=len(each.found), answer=data)
        yield each.found


def without_labels(rows: HashedRows) -> HashedRows:
    """Return rows as they are asked about: a prediction needs neither labels nor weights."""
    if rows.labels is None and rows.weights is None:
        return rows
    return HashedRows(indices=rows.indices, bits=rows.bits, indptr=rows.indptr, values=rows.values)


def _numbers(content: bytes) -> NDArray[np.float32]:
    """Return the numbers of an answer; nothing of the service's bytes is believed."""
    import pyarrow as pa  # noqa: PLC0415 # it takes 0.2 s

    parts: list[NDArray[np.float32]] = []
    width = 1
    try:
        # Compressed predictions are refused: a few bytes could unpack to all memory.
        for batch, _ in batches_of(content, most=0, too_long=_unexpected_answer):
            if batch.schema.names != [FIELD] or len(parts) == _MAX_BATCHES:
                raise _unexpected_answer()
            kind = batch.schema.field(0).type
            width = kind.list_size if pa.types.is_fixed_size_list(kind) else 1
            parts.append(_flat(batch))
    except (pa.ArrowException, OSError, EOFError, struct.error, LookupError, ValueError):
        raise _unexpected_answer() from None
    found = np.concatenate([np.empty(0, np.float32), *parts])
    if not np.isfinite(found).all():
        raise TrainerError("A prediction of the service is not a finite number.")
    if width < 1 or len(found) % width:
        raise _unexpected_answer()
    return found if width == 1 else found.reshape(-1, width)


def _flat(batch: Any) -> NDArray[np.float32]:  # noqa: ANN401 # pyarrow ships no types
    """Return the numbers of a record batch, row by row."""
    import pyarrow as pa  # noqa: PLC0415 # as above

    batch.validate(full=True)
    column = batch.column(0)
    if column.null_count:
        raise _unexpected_answer()
    if pa.types.is_fixed_size_list(column.type):
        column = column.flatten()
    if column.type != pa.float32() or column.null_count:
        raise _unexpected_answer()
    found: NDArray[np.float32] = column.to_numpy()
    return found


def _unexpected_answer() -> TrainerError:
    return TrainerError(
        "The service's predictions aren't in the form that was asked for.",
        hint="Check the address: something else may answer there.",
    )
