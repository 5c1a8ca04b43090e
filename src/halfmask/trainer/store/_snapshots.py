"""Snapshots of a model: what a learner had learned up to a record of its log."""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from halfmask._errors import IntegrityError
from halfmask.data import atomic_file

__all__ = ["Snapshot", "Snapshots"]

_MAGIC = b"halfmask snap 1\n"
_LENGTH = struct.Struct("<I")
#: A curve and a name need no more.
_MOST_TOLD = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What is told of a snapshot.

    Parameters
    ----------
    seq
        The number of the last record of the log that is in it; by it, it is called.
    automatic
        Whether the service made it by itself, and may remove it when there are newer ones.
    made
        When, in seconds since 1970.
    size
        Bytes on the disk.
    told
        Whatever else was put beside the learner's bytes.
    """

    seq: int
    automatic: bool
    made: float
    size: int
    told: dict[str, Any]


class Snapshots:
    """The snapshots of one model, each a file that is written whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(
        self, seq: int, learner: bytes, *, automatic: bool, made: float, told: dict[str, Any]
    ) -> None:
        """Write a snapshot; one of the same number is replaced.

        Raises
        ------
        ReleaseError
            If the disk is full.
        """
        meta = {"seq": seq, "automatic": automatic, "made": made, "told": told}
        head = json.dumps(meta).encode()
        digest = hashlib.sha256(head)
        digest.update(learner)
        with atomic_file(self._path(seq), overwrite=True) as file:
            file.write(_MAGIC + digest.digest() + _LENGTH.pack(len(head)) + head)
            file.write(learner)

    def read(self, seq: int) -> tuple[Snapshot, bytes]:
        """Return a snapshot and the learner's bytes.

        Raises
        ------
        IntegrityError
            If it isn't there, or isn't what was written.
        """
        try:
            with self._path(seq).open("rb") as file:
                digest, head, told = _head_of(file)
                learner = file.read()
        except OSError:
            raise _damaged() from None
        found = hashlib.sha256(head)
        found.update(learner)
        if found.digest() != digest or told.seq != seq:
            raise _damaged()
        return told, learner

    def listed(self) -> list[Snapshot]:
        """Return all that can be read, the oldest first. The learners' bytes aren't checked."""
        found = []
        for path in sorted(self._folder.glob("*.snapshot")):
            try:
                with path.open("rb") as file:
                    found.append(_head_of(file)[2])
            except (OSError, IntegrityError):
                continue
        return found

    def prune(self, *, keep: int, needed: set[int]) -> None:
        """Remove automatic snapshots, but for the newest ones and those that are needed."""
        automatic = [each.seq for each in self.listed() if each.automatic]
        for seq in automatic[: max(0, len(automatic) - keep)]:
            if seq not in needed:
                self._path(seq).unlink(missing_ok=True)

    def remove(self, seq: int) -> None:
        """Remove a snapshot."""
        self._path(seq).unlink(missing_ok=True)

    def _path(self, seq: int) -> Path:
        return self._folder / f"{seq:020d}.snapshot"


def _head_of(file: BinaryIO) -> tuple[bytes, bytes, Snapshot]:
    start = file.read(len(_MAGIC) + 32 + _LENGTH.size)
    if len(start) != len(_MAGIC) + 32 + _LENGTH.size or not start.startswith(_MAGIC):
        raise _damaged()
    (length,) = _LENGTH.unpack(start[-_LENGTH.size :])
    if length > _MOST_TOLD:
        raise _damaged()
    head = file.read(length)
    try:
        meta = json.loads(head)
        size = file.seek(0, 2)
        file.seek(len(start) + length)
        told = Snapshot(
            seq=int(meta["seq"]),
            automatic=bool(meta["automatic"]),
            made=float(meta["made"]),
            size=size,
            told=dict(meta["told"]),
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _damaged() from None
    return start[len(_MAGIC) : -_LENGTH.size], head, told


def _damaged() -> IntegrityError:
    return IntegrityError(
        "A snapshot isn't there, or isn't what was written.",
        hint="Roll back to another snapshot, or restore the folder from its last backup.",
    )
