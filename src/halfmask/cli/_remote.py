"""Options of the commands that talk to a trainer."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from halfmask._errors import ParameterError, TrainerError
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import flag, option, required

if TYPE_CHECKING:
    from collections.abc import Callable

    from halfmask.cli._vault_lock import LockOptions
    from halfmask.trainer.client import TrainerClient

CompressionName: TypeAlias = Literal["none", "lz4", "zstd"]
_MOST_BYTES = 4096
_FORBIDDEN = 403
Answer = TypeVar("Answer")

#: How many requests may be on their way at once.
MAX_IN_FLIGHT = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionOptions:
    """A trainer, and how it is reached."""

    url: str = required("--url URL", "The trainer's address, such as https://trainer.example:8765.")
    token_file: str = required(
        "--token-file FILE", "The file with the token, of mode 0600; - reads standard input."
    )
    authority: str | None = option(
        "--authority FILE",
        "The authority of the trainer's certificate, in PEM. The default is the authorities of "
        "the system.",
    )
    certificate: str | None = option("--certificate FILE", "The client's own certificate, in PEM.")
    certificate_key: str | None = option(
        "--certificate-key FILE", "The certificate's private key, in PEM, if it is in another file."
    )
    plain_http: bool = flag(
        "--plain-http",
        "Allow a trainer on another machine without TLS. Everyone on the network path can then "
        "read the token and the rows.",
    )
    proxy: str | None = option("--proxy URL", "The proxy to use. The default is none.")
    give_up: float = option(
        "--give-up SECONDS",
        "Stop if the trainer is unreachable or busy for this time; 0 stops at once.",
        300.0,
        min=0,
    )

    def connect(self, compression: CompressionName = "none") -> TrainerClient:
        """Return a client of the trainer."""
        own = (self.certificate, self.certificate_key)
        if self.certificate is None and self.certificate_key is not None:
            raise UsageError(
                "--certificate-key is the key of a --certificate.", hint="Give both of them."
            )
        token = _token(self.token_file)
        from halfmask.trainer.client import RetryPolicy, TrainerClient  # noqa: PLC0415 # --help needs none

        try:
            return TrainerClient(
                self.url,
                token=token,
                verify=True if self.authority is None else self.authority,
                certificate=None if self.certificate is None else tuple(filter(None, own)),
                retry_policy=RetryPolicy(give_up_seconds=self.give_up),
                compression=compression,
                plain_http=self.plain_http,
                proxy=self.proxy,
            )
        except ParameterError as error:
            raise UsageError(error.what, hint=error.hint) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerOptions(ConnectionOptions):
    """A trainer and its model, and how rows get there."""

    model: str = required("--model NAME", "The model's name on the trainer.")
    batch_rows: int = option(
        "--batch-rows ROWS",
        "Number of rows per request. Use the same number to continue after a break.",
        4096,
        min=1,
    )
    journal: str | None = option(
        "--journal FILE",
        "The file that lists completed batches. The default is a file next to the rows or answers.",
        show_default=False,
    )
    compression: CompressionName = option(
        "--compression", "Compression of the rows that are sent.", "none"
    )

    def check_inputs(self, source: str, lock: LockOptions) -> None:
        """Refuse two readers of standard input."""
        if [source, self.token_file, lock.passphrase_file].count("-") > 1:
            raise UsageError(
                "Two of the rows, the token and the passphrase want standard input.",
                hint="Give all but one as files.",
            )

    def journal_of(self, work: str, *more: str, beside: str) -> Path | None:
        """Return the journal that was given, or the one of a file; None of standard streams.

        Its name distinguishes what is done with the file: trainer, model and stream.
        """
        if self.journal is not None or beside == "-":
            return None if self.journal is None else Path(self.journal)
        from halfmask.trainer.client._content_key import (  # noqa: PLC0415 # --help needs none
            work_name,
        )

        path, name = Path(beside), work_name(work, self.url, self.model, *more)
        return path.parent / f".{path.name}.{work}-{name[:12]}"


def if_allowed(ask: Callable[[], Answer]) -> Answer | None:
    """Return what a trainer answers; None if the token lacks the scope for it."""
    try:
        return ask()
    except TrainerError as error:
        if error.status != _FORBIDDEN:
            raise
        return None


def _token(file: str) -> str:
    from halfmask.vault import read_private_file  # noqa: PLC0415 # --help needs none

    if file == "-":
        found = sys.stdin.buffer.read(_MOST_BYTES)
    else:
        found = read_private_file(file, what="The token file", most=_MOST_BYTES)
    try:
        return found.decode("ascii").strip()
    except UnicodeDecodeError:
        raise ParameterError("The file of the token holds no token.") from None
