"""How much a trainer keeps, and takes at once."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]

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
    most_bits
        The largest model: ``2 ** most_bits`` weights for each class.
    """

    body_bytes: int = 16 * MEBI
    backlog_bytes: int = 256 * MEBI
    segment_bytes: int = 256 * MEBI
    snapshot_bytes: int = 1024 * MEBI
    snapshots_kept: int = 3
    keep_log: bool = False
    free_bytes: int = 256 * MEBI
    models_per_tenant: int = 16
    most_bits: int = 24
