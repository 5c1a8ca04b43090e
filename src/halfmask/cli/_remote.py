"""Options of the commands that talk to a trainer."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, TypeVar

import typer

from halfmask._errors import ParameterError, TrainerError
from halfmask.cli._failures import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from halfmask.cli._vault_lock import LockOptions
    from halfmask.trainer.client import TrainerClient

CompressionName: TypeAlias = Literal["none", "lz4", "zstd"]
_MOST_BYTES = 4096
_FORBIDDEN = 403
Answer = TypeVar("Answer")

InFlightOption = Annotated[
    int,
    typer.Option(
        "--in-flight", min=1, max=32, metavar="N", help="Number of simultaneous requests."
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionOptions:
    """A trainer, and how it is reached."""

    url: Annotated[
        str,
        typer.Option(
            "--url",
            metavar="URL",
            show_default=False,
            help="The trainer's address, such as https://trainer.example:8765.",
        ),
    ]
    token_file: Annotated[
        str,
        typer.Option(
            "--token-file",
            metavar="FILE",
            show_default=False,
            help="The file with the token, of mode 0600; - reads standard input.",
        ),
    ]
    authority: Annotated[
        str | None,
        typer.Option(
            "--authority",
            metavar="FILE",
            help="The authority of the trainer's certificate, in PEM. The default is the "
            "authorities of the system.",
        ),
    ] = None
    certificate: Annotated[
        str | None,
        typer.Option("--certificate", metavar="FILE", help="The client's own certificate, in PEM."),
    ] = None
    certificate_key: Annotated[
        str | None,
        typer.Option(
            "--certificate-key",
            metavar="FILE",
            help="The certificate's private key, in PEM, if it is in another file.",
        ),
    ] = None
    plain_http: Annotated[
        bool,
        typer.Option(
            "--plain-http",
            help="Allow a trainer on another machine without TLS. Everyone on the network "
            "path can then read the token and the rows.",
        ),
    ] = False
    proxy: Annotated[
        str | None,
        typer.Option("--proxy", metavar="URL", help="The proxy to use. The default is none."),
    ] = None
    give_up: Annotated[
        float,
        typer.Option(
            "--give-up",
            min=0,
            metavar="SECONDS",
            help="Stop if the trainer is unreachable or busy for this time; 0 stops at once.",
        ),
    ] = 300.0

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

    model: Annotated[
        str,
        typer.Option(
            "--model", metavar="NAME", show_default=False, help="The model's name on the trainer."
        ),
    ]
    batch_rows: Annotated[
        int,
        typer.Option(
            "--batch-rows",
            min=1,
            metavar="ROWS",
            help="Number of rows per request. Use the same number to continue after a break.",
        ),
    ] = 4096
    journal: Annotated[
        str | None,
        typer.Option(
            "--journal",
            metavar="FILE",
            show_default=False,
            help="The file that lists completed batches. The default is a file next to the "
            "rows or answers.",
        ),
    ] = None
    compression: Annotated[
        CompressionName,
        typer.Option("--compression", help="Compression of the rows that are sent."),
    ] = "none"

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
