"""ServiceOptions: limits and timeouts of a service."""

from __future__ import annotations

from dataclasses import dataclass, field

from halfmask.trainer.store import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceOptions:
    """What a service takes, and for how long it waits.

    Parameters
    ----------
    limits
        What bounds the store: the disk, the backlog, the bytes of a body.
    json_bytes
        The most bytes of a body of JSON, which takes a hundred times as long to read as Arrow.
    predict_bytes
        The most bytes of bodies that are being predicted, in all; the backlog isn't counted.
    body_seconds
        How long a body may take to come.
    stall_seconds
        How long nothing of a body may come.
    body_bytes_per_second
        How much of a body has to come each second, on an average that begins after `stall_seconds`.
    answer_seconds
        How long a client may take to read a piece of an answer.
    head_seconds
        How long a connection may take to send the head of a request.
    connections
        The most connections at once; 503 behind them.
    threads
        How many threads check bodies, and how many others predict.
    """

    limits: Limits = field(default_factory=Limits)
    json_bytes: int = 1 << 20
    predict_bytes: int = 128 << 20
    body_seconds: float = 30.0
    stall_seconds: float = 5.0
    body_bytes_per_second: int = 16_384
    answer_seconds: float = 30.0
    head_seconds: float = 10.0
    connections: int = 1_000
    threads: int = 2
