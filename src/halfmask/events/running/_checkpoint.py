"""Checkpoints: where a stream is and all that is known of it, sealed in the vault."""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from halfmask._errors import DataError, IntegrityError, KeyMismatchError, VaultError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halfmask.vault import Vault

#: ``running``: a run is at work or was broken off; ``complete``: the last one came to its end.
Status: TypeAlias = Literal["running", "complete"]

_FORMAT = "halfmask events checkpoint"
_VERSION = 1
_CONTEXT = "halfmask events stream"
#: Other runs write their checkpoints into the same vault.
_WAIT_SECONDS, _TRY_SECONDS = 10.0, 0.02
_BLOBS = ("transform", "stage", "pending")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Checkpoint:
    """All that a run needs to go on."""

    status: Status
    position: Mapping[str, Any] | None
    sink: Mapping[str, Any] | None
    letters: int
    progress: Mapping[str, Any] = field(default_factory=dict)
    transform: bytes = b""
    stage: bytes = b""
    pending: bytes = b""

    def to_bytes(self) -> bytes:
        """Return the checkpoint as bytes; secret."""
        import pyarrow as pa  # noqa: PLC0415 # 0.2 s

        blobs = [getattr(self, name) for name in _BLOBS]
        form = {
            "format": _FORMAT,
            "version": _VERSION,
            "status": self.status,
            "position": self.position,
            "sink": self.sink,
            "letters": self.letters,
            "told": self.progress,
            "sizes": [len(blob) for blob in blobs],
        }
        plain = b"".join([json.dumps(form).encode(), b"\n", *blobs])
        return bytes(pa.compress(plain, codec="zstd", asbytes=True))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the checkpoint that `to_bytes` wrote."""
        import pyarrow as pa  # noqa: PLC0415 # 0.2 s

        try:
            plain = pa.CompressedInputStream(pa.BufferReader(data), "zstd").read()
            head, _, rest = plain.partition(b"\n")
            form = json.loads(head)
            sizes = [int(size) for size in form.pop("sizes")]
            version = form.pop("format"), form.pop("version")
            form["progress"] = form.pop("told")
        except (ValueError, TypeError, KeyError, OSError):
            raise DataError("The checkpoint of the stream is damaged.") from None
        if version != (_FORMAT, _VERSION):
            raise DataError("The checkpoint is of a version that this halfmask doesn't read.")
        blobs, at = {}, 0
        for name, size in zip(_BLOBS, sizes, strict=True):
            blobs[name] = rest[at : at + size]
            at += size
        return cls(**form, **blobs)

    def __repr__(self) -> str:
        return f"Checkpoint({self.status!r})"


class CheckpointStore:
    """Keeps the checkpoint of one stream in a vault; one run at a time may write it."""

    def __init__(self, vault: Vault, stream: str) -> None:
        self._vault = vault
        self._name = f"events/stream/{stream}"
        self._mark = f"{self._name}/run"
        self._run = b""
        self._held = frozenset(vault.names())

    def load(self) -> Checkpoint | None:
        """Return the last checkpoint; None if there is none."""
        if self._name not in self._held:
            return None
        return Checkpoint.from_bytes(self._vault.unseal(self._name, context=_CONTEXT))

    def claim(self) -> None:
        """Let no earlier run write any more."""
        self._run = secrets.token_bytes(16)
        self._seal(self._mark, self._run)

    def save(self, checkpoint: Checkpoint) -> None:
        """Seal a checkpoint in place of the one before."""
        if self._vault.unseal(self._mark, context=_CONTEXT) != self._run:
            raise VaultError(
                "Another run works on the same stream.",
                hint="Give each its own name by [[stream|--stream]], or wait for the other.",
            )
        self._seal(self._name, checkpoint.to_bytes())

    def _seal(self, name: str, data: bytes) -> None:
        """Seal, and wait a little where another process writes the vault."""
        end = time.monotonic() + _WAIT_SECONDS
        while True:
            try:
                self._vault.seal(name, data, context=_CONTEXT, overwrite=True)
            except (IntegrityError, KeyMismatchError):
                raise
            except VaultError:
                if time.monotonic() > end:
                    raise
                time.sleep(_TRY_SECONDS)
            else:
                return
