"""Hashed rows to a service, in batches that are learned from once, however often they are sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask._errors import TrainerError
from halfmask.trainer.client._body import Body, Compression, arrow_body
from halfmask.trainer.client._flow import flow

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

    from halfmask.hashing import HashedRows
    from halfmask.trainer.client._journal import Journal
    from halfmask.trainer.client._place import BatchPlace
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
