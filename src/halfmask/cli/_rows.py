"""Rows for a trainer: hashed before, or hashed on the way by a hasher of a vault."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from halfmask.cli._failures import UsageError
from halfmask.cli._hashers import unseal_hasher
from halfmask.cli._option_groups import argument, option
from halfmask.cli._progress import compilation_announced
from halfmask.cli._vault_lock import LockOptions  # noqa: TC001 # typer reads it

if TYPE_CHECKING:
    from rich.console import Console

    from halfmask._progress import Progress
    from halfmask.cli._tables import Reading
    from halfmask.hashing import FileHasher, HashedRows

#: What a stream of Arrow begins with: no table of texts does.
_STREAM = b"\xff\xff\xff\xff"

SOURCE = argument(
    "ROWS",
    "Hashed rows, as halfmask hash writes them. With --hasher, a table, which is hashed while "
    "it is sent. - reads standard input.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WithHasher:
    """The hasher of a vault, where one was given."""

    vault: str | None = option("--vault VAULT", "The vault that holds the hasher.")
    hasher: str | None = option("--hasher NAME", "The hasher's name in the vault.")
    lock: LockOptions

    def unlocked(self) -> FileHasher | None:
        """Return the given hasher, out of its vault; None if none was given."""
        if (self.vault is None) != (self.hasher is None):
            raise UsageError("--vault and --hasher go together.", hint="Give both, or none.")
        if self.vault is None or self.hasher is None:
            if self.lock:
                raise UsageError(
                    "There is a lock, and no --vault.", hint="Give --vault and --hasher."
                )
            return None
        return unseal_hasher(self.lock.open(self.vault), self.hasher)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows to send, and how many, where that is known."""

    batches: Iterable[HashedRows]
    count: int | None


@contextmanager
def rows_of(
    source: str,
    hasher: FileHasher | None,
    reading: Reading,
    *,
    labelled: bool,
    err: Console,
    told: Progress,
) -> Iterator[Rows]:
    """Yield rows; report the share that was taken."""
    if hasher is None:
        from halfmask.trainer.client import HashedSource  # noqa: PLC0415 # --help needs none

        hashed = HashedSource(source)
        yield Rows(batches=hashed, count=hashed.rows)
        return
    if _hashed_before(source):
        raise UsageError(
            "ROWS are hashed already, and --hasher hashes tables.",
            hint="Leave --vault and --hasher out; halfmask predict --hashed takes them for the "
            "names of classes.",
        )
    if labelled and hasher.label is None:
        raise UsageError(
            "The hasher was fitted without a label, so there is nothing to learn.",
            hint="Fit one with --label, or push rows that were hashed with labels.",
        )
    table, how = reading.for_hashing(source)
    with compilation_announced(err):
        batches = hasher.rows(table, labelled=labelled, reading=how, progress=told)
        yield Rows(batches=batches, count=None)


def _hashed_before(source: str) -> bool:
    """Return whether a file holds hashed rows and no table; of anything else, no."""
    path = Path(source)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        if file.read(len(_STREAM)) != _STREAM:
            return False
        import pyarrow as pa  # noqa: PLC0415 # a fifth of a second

        file.seek(0)
        try:
            metadata = pa.ipc.open_stream(file).schema.metadata or {}
        except (pa.ArrowInvalid, OSError):
            return False
    return b"halfmask.format" in metadata
