"""How much a trainer keeps, and takes at once."""

from __future__ import annotations

from dataclasses import dataclass

from halfmask._errors import ParameterError
from halfmask._validation import integer_at_least
from halfmask.trainer.store._record import MAX_BODY

MEBI = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What bounds the disk and the memory of a trainer.

    Parameters
    ----------
    body_bytes
        The most bytes of one body, packed or unpacked.
    backlog_bytes
        The most bytes of bodies that are read, logged or waiting to be learned, in all. A client
        gets a quarter of them, a model half.
    segment_bytes
        The size at which a log begins a new file.
    snapshot_bytes
        After how many bytes of log a snapshot is made: a restart learns at most these again.
    snapshots_kept
        How many of the snapshots that the service made by itself are kept.
    keep_log
        Whether examples stay on the disk when all snapshots that are kept have them.
    free_bytes
        How much of the disk stays free: a trainer refuses examples before it is full.
    models_per_tenant
        How many models a tenant may have at once.
    max_bits
        The largest model: ``2 ** max_bits`` weights for each class.

    Raises
    ------
    ParameterError
        If a number is too small, or a client's quarter of the backlog holds no whole body.
    """

    body_bytes: int = 16 * MEBI
    backlog_bytes: int = 256 * MEBI
    segment_bytes: int = 256 * MEBI
    snapshot_bytes: int = 1024 * MEBI
    snapshots_kept: int = 3
    keep_log: bool = False
    free_bytes: int = 256 * MEBI
    models_per_tenant: int = 16
    max_bits: int = 24

    def __post_init__(self) -> None:
        integer_at_least(
            1,
            owner="Limits",
            body_bytes=self.body_bytes,
            segment_bytes=self.segment_bytes,
            snapshot_bytes=self.snapshot_bytes,
            snapshots_kept=self.snapshots_kept,
            models_per_tenant=self.models_per_tenant,
            max_bits=self.max_bits,
        )
        integer_at_least(0, owner="Limits", free_bytes=self.free_bytes)
        integer_at_least(4 * self.body_bytes, owner="Limits", backlog_bytes=self.backlog_bytes)
        if self.body_bytes > MAX_BODY:
            raise ParameterError(f"A body has at most {MAX_BODY:,} bytes.")
