"""What the commands that talk to a trainer are told of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from halfmask._errors import ParameterError
from halfmask.cli._failures import UsageError

if TYPE_CHECKING:
    from halfmask.trainer.client import TrainerClient

__all__ = [
    "AuthorityOption",
    "BatchRowsOption",
    "CertificateKeyOption",
    "CertificateOption",
    "CompressionOption",
    "GiveUpOption",
    "InFlightOption",
    "JournalOption",
    "ModelOption",
    "PlainHttpOption",
    "ProxyOption",
    "TokenFileOption",
    "UrlOption",
    "connect",
    "journal_of",
]

CompressionName: TypeAlias = Literal["none", "lz4", "zstd"]
_MOST_BYTES = 4096

UrlOption = Annotated[
    str,
    typer.Option(
        "--url",
        metavar="URL",
        show_default=False,
        help="Where the trainer is, such as https://trainer.example:8765.",
    ),
]
ModelOption = Annotated[
    str, typer.Option("--model", metavar="NAME", show_default=False, help="The model's name there.")
]
TokenFileOption = Annotated[
    str,
    typer.Option(
        "--token-file",
        metavar="FILE",
        show_default=False,
        help="The file of the token, of mode 0600; - reads standard input.",
    ),
]
AuthorityOption = Annotated[
    str | None,
    typer.Option(
        "--authority",
        metavar="FILE",
        help="Who vouches for the trainer, in PEM; by default those that the system trusts.",
    ),
]
CertificateOption = Annotated[
    str | None,
    typer.Option("--certificate", metavar="FILE", help="The client's own certificate, in PEM."),
]
CertificateKeyOption = Annotated[
    str | None,
    typer.Option(
        "--certificate-key", metavar="FILE", help="Its key, where another file has it, in PEM."
    ),
]
PlainHttpOption = Annotated[
    bool,
    typer.Option(
        "--plain-http",
        help="Allow a trainer on another machine without TLS: everybody on the way reads the token "
        "and the rows.",
    ),
]
ProxyOption = Annotated[
    str | None,
    typer.Option("--proxy", metavar="URL", help="A proxy on the way; by default none."),
]
CompressionOption = Annotated[
    CompressionName, typer.Option("--compression", help="Of the rows on their way.")
]
BatchRowsOption = Annotated[
    int,
    typer.Option(
        "--batch-rows",
        min=1,
        metavar="ROWS",
        help="How many rows one request has. Going on after a break takes the same number.",
    ),
]
InFlightOption = Annotated[
    int,
    typer.Option("--in-flight", min=1, max=32, metavar="N", help="How many requests at once."),
]
JournalOption = Annotated[
    str | None,
    typer.Option(
        "--journal",
        metavar="FILE",
        show_default=False,
        help="What remembers what was acknowledged; by default a file beside.",
    ),
]
GiveUpOption = Annotated[
    float,
    typer.Option(
        "--give-up",
        min=0,
        metavar="SECONDS",
        help="How long a trainer may be away or too busy; 0 gives up at once.",
    ),
]


def connect(
    url: str,
    token_file: str,
    *,
    authority: str | None,
    certificate: str | None,
    certificate_key: str | None,
    plain_http: bool,
    proxy: str | None,
    compression: CompressionName,
    give_up: float,
) -> TrainerClient:
    """Return a client of the trainer that was said."""
    if certificate is None and certificate_key is not None:
        raise UsageError(
            "--certificate-key is the key of a --certificate.", hint="Give both of them."
        )
    files = None if certificate is None else tuple(filter(None, (certificate, certificate_key)))
    token = _token(token_file)
    from halfmask.trainer.client import RetryPolicy, TrainerClient  # noqa: PLC0415 # --help needs none

    try:
        return TrainerClient(
            url,
            token=token,
            verify=True if authority is None else authority,
            certificate=files,
            retry_policy=RetryPolicy(give_up_seconds=give_up),
            compression=compression,
            plain_http=plain_http,
            proxy=proxy,
        )
    except ParameterError as error:
        raise UsageError(error.what, hint=error.hint) from None


def journal_of(said: str | None, beside: str, *work: str) -> Path | None:
    """Return the journal that was said, or the one beside a file; None of standard streams.

    Its name tells apart what is done with the file: with which trainer, model and stream.
    """
    if said is not None or beside == "-":
        return None if said is None else Path(said)
    from halfmask.trainer.client._content_key import (  # noqa: PLC0415 # --help needs none
        work_name,
    )

    path = Path(beside)
    return path.parent / f".{path.name}.{work[0]}-{work_name(*work)[:12]}"


def _token(file: str) -> str:
    from halfmask.vault._private_files import (  # noqa: PLC0415 # --help needs none
        absolute,
        keeping,
        read_private,
    )

    if file == "-":
        found = sys.stdin.buffer.read(_MOST_BYTES)
    else:
        with keeping("The token file"):
            found = read_private(absolute(file), what="The token file", most=_MOST_BYTES)
    try:
        return found.decode("ascii").strip()
    except UnicodeDecodeError:
        raise ParameterError("The file of the token holds no token.") from None
