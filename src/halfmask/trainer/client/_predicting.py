"""Predictions for hashed rows, in the order of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import TrainerError
from halfmask.trainer.client._body import ARROW_STREAM, Compression, arrow_body
from halfmask.trainer.client._flow import flow

if TYPE_CHECKING:
    import threading
    from collections.abc import Generator, Iterator

    from numpy.typing import NDArray

    from halfmask.hashing import HashedRows
    from halfmask.trainer.client._journal import Journal
    from halfmask.trainer.client._place import Place
    from halfmask.trainer.client._transport import Transport

__all__ = ["predict_batches"]

FIELD = "p"
#: What an answer has besides its numbers: a schema, heads of messages, padding.
_BESIDE = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class _Predicted:
    """The predictions of one batch, and whether the journal remembers them."""

    place: Place
    key: bytes
    found: NDArray[np.float32]
    resumed: bool


def predict_batches(
    transport: Transport,
    path: str,
    batches: Iterator[tuple[Place, HashedRows]],
    *,
    width: int,
    in_flight: int,
    compression: Compression,
    journal: Journal | None,
) -> Generator[NDArray[np.float32]]:
    """Yield the predictions of each batch: of one number a row, or of ``width`` where not 1."""

    def predict(item: tuple[Place, HashedRows], stopped: threading.Event) -> _Predicted:
        place, rows = item
        key = place.key(rows) if journal is not None else b""
        if journal is not None and place.number in journal:
            journal.check(place.number, key)
            numbers = np.frombuffer(journal.answer(place.number), "<f4")
            found = _shaped(numbers, len(rows), width)
            return _Predicted(place=place, key=key, found=found, resumed=True)
        answer = transport.request(
            "POST",
            path,
            body=arrow_body(rows, compression),
            headers={"Accept": ARROW_STREAM},
            most_bytes=4 * width * len(rows) + _BESIDE,
            stopped=stopped,
        )
        numbers = _numbers(answer.content)
        return _Predicted(
            place=place, key=key, found=_shaped(numbers, len(rows), width), resumed=False
        )

    for each in flow(batches, predict, at_once=in_flight):
        if journal is not None and not each.resumed:
            data = np.ascontiguousarray(each.found, "<f4").tobytes()
            journal.add(each.place.number, each.key, rows=len(each.found), answer=data)
        yield each.found


def _numbers(content: bytes) -> NDArray[np.float32]:
    """Return the numbers of an answer, row by row; nothing of the service's bytes is believed."""
    import pyarrow as pa  # noqa: PLC0415 # it takes 0.2 s

    parts: list[NDArray[np.float32]] = []
    try:
        with pa.ipc.open_stream(content) as reader:
            if reader.schema.names != [FIELD]:
                raise _strange()
            for batch in reader:
                batch.validate(full=True)
                parts.append(_flat(batch.column(0)))
    except (pa.ArrowException, OSError):
        raise _strange() from None
    found = np.concatenate(parts) if parts else np.empty(0, np.float32)
    if not np.isfinite(found).all():
        raise TrainerError("A prediction of the service is not a finite number.")
    return found


def _flat(column: Any) -> NDArray[np.float32]:  # noqa: ANN401 # pyarrow ships no types
    import pyarrow as pa  # noqa: PLC0415 # as above

    if pa.types.is_fixed_size_list(column.type):
        column = column.flatten()
    if column.type != pa.float32() or column.null_count:
        raise _strange()
    found: NDArray[np.float32] = column.to_numpy()
    return found


def _shaped(numbers: NDArray[np.float32], n_rows: int, width: int) -> NDArray[np.float32]:
    if len(numbers) != n_rows * width:
        raise TrainerError(
            f"The service answered {len(numbers)} numbers where {n_rows * width} were asked for."
        )
    return numbers if width == 1 else numbers.reshape(n_rows, width)


def _strange() -> TrainerError:
    return TrainerError(
        "The service's predictions aren't in the form that was asked for.",
        hint="Check the address: something else may answer there.",
    )
