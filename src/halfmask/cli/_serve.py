"""``halfmask serve``: a trainer service over a folder, and the tokens that let clients in."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer.core import TyperGroup

from halfmask.cli._console import console, listing
from halfmask.cli._option_groups import argument, flag, option, required, spreads_groups
from halfmask.cli._options import AnswerOptions, command_group
from halfmask.cli._serve_model import model
from halfmask.cli._serve_queries import ServingAddress, queries

if TYPE_CHECKING:
    from halfmask.trainer.store import Limits, Token, Tokens

MEBI, DAY = 1 << 20, 86_400.0


class _ServeGroup(TyperGroup):
    """Takes what isn't the name of a command for the folder of `run`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 # click's own class
        if args and args[0] not in {*self.commands, "-h", "--help"}:
            args = ["run", *args]
        return list(super().parse_args(ctx, args))


serve = command_group(
    "serve", "Run a trainer that learns from hashed rows: halfmask serve FOLDER.", kind=_ServeGroup
)
token = command_group("token", "Make, list and revoke the tokens of clients.")
serve.add_typer(token)
serve.add_typer(model)
serve.command()(queries)

FOLDER = argument("FOLDER: The folder of the trainer.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingLimits:
    """How much a service takes, and keeps."""

    keep_log: bool = flag("--keep-log: Keep all examples on disk, not only the latest.")
    body_mib: int = option(
        "--body-mib N: Maximum size of the body of a request.", 16, min=1, max=256
    )
    backlog_mib: int = option(
        "--backlog-mib N: Maximum memory for bodies that are read or wait. Beyond it, examples "
        "get 429.",
        256,
        min=1,
    )
    snapshot_mib: int = option(
        "--snapshot-mib N: A snapshot of a model is made after this much log. A restart replays "
        "at most this much.",
        1024,
        min=1,
    )
    max_bits: int = option("--max-bits N: Maximum bits of a model.", 24, min=1, max=31)

    def limits(self) -> Limits:
        """Return them in bytes."""
        from halfmask.trainer.store import Limits  # noqa: PLC0415 # --help needs none

        return Limits(
            keep_log=self.keep_log,
            body_bytes=self.body_mib * MEBI,
            backlog_bytes=self.backlog_mib * MEBI,
            max_bits=self.max_bits,
            snapshot_bytes=self.snapshot_mib * MEBI,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLimits:
    """How much the holder of a token may ask for."""

    requests: float | None = option(
        "--requests-per-second N: Maximum number of requests per second."
    )
    rows: float | None = option("--rows-per-second N: Maximum number of rows per second.")
    quota: int | None = option("--rows-quota N: Maximum number of learned rows in total.")
    max_weight: float | None = option("--max-weight X: Maximum weight of an example.")


@serve.command()
@spreads_groups
def run(
    folder: str = FOLDER, *, at: ServingAddress, limits: ServingLimits, answer: AnswerOptions
) -> int:
    """Run the trainer in FOLDER until it is stopped. `run` can be omitted.

    A missing folder is created. Without TLS, listen on this machine only. Otherwise others on the
    network path can read tokens.
    """
    from halfmask.trainer import service  # noqa: PLC0415 # --help needs none

    told = "{address}/docs states what it takes."
    options = service.ServiceOptions(limits=limits.limits())
    with at.listening(answer, told) as listening:
        service.serve(folder, options=options, **listening)
    return 0


@token.command()
@spreads_groups
def create(
    folder: str = FOLDER,
    *,
    client: str = required("--client NAME: The client's name."),
    tenant: str = required("--tenant NAME: The tenant whose models the token can access."),
    scope: list[str] = required(
        "--scope SCOPE: What the token allows: read, predict, learn, admin or metrics; may be "
        "given more than once."
    ),
    limits: TokenLimits,
    days: float | None = option("--days N: Days until the token expires."),
    out: str | None = option("--out -o FILE: Write the token to this file, for its owner alone."),
    answer: AnswerOptions,
) -> int:
    """Make a token and show it once. A running service accepts it at once.

    Only a keyed hash of it is stored. If a token is lost, make a new one.
    """
    with _tokens(folder, create=True) as tokens:
        made, text = tokens.create(
            client=client,
            tenant=tenant,
            scopes=frozenset(scope),
            requests_per_second=limits.requests,
            rows_per_second=limits.rows,
            rows_quota=limits.quota,
            max_weight=limits.max_weight,
            valid_seconds=None if days is None else days * DAY,
        )
    if out is not None:
        from halfmask.vault.private_files import (  # noqa: PLC0415 # --help needs none
            absolute,
            keeping,
            write_private,
        )

        with keeping("The file of the token"):
            write_private(absolute(out), text.encode() + b"\n")
    if answer.as_json:
        return answer.say({**_told(made), **({} if out else {"token": text})})
    sys.stdout.write(f"{made.id.hex() if out else text}\n")
    return 0


@token.command(name="list")
@spreads_groups
def list_(folder: str = FOLDER, *, answer: AnswerOptions) -> int:
    """List the ids of tokens and what they allow. No token is shown."""
    with _tokens(folder, create=False) as tokens:
        found = tokens.listed()
    if answer.as_json:
        return answer.say({"tokens": [_told(each) for each in found]})
    table = listing("id", "client", "tenant", "scopes", "state")
    now = time.time()
    for each in found:
        state = "in use" if each.holds(now) else "revoked" if each.revoked else "expired"
        scopes = " ".join(sorted(each.scopes))
        table.add_row(each.id.hex(), each.client, each.tenant, scopes, state)
    console().print(table)
    return 0


@token.command()
@spreads_groups
def revoke(
    folder: str = FOLDER,
    identity: str = argument("ID: The token's id, as halfmask serve token list shows it."),
    *,
    answer: AnswerOptions,
) -> int:
    """Revoke a token. A running service refuses it within two seconds."""
    with _tokens(folder, create=False) as tokens:
        tokens.revoke(identity)
    return answer.say({"id": identity}, "The token is of no use any more.")


@contextmanager
def _tokens(folder: str, *, create: bool) -> Iterator[Tokens]:
    from halfmask.trainer.store import open_lists  # noqa: PLC0415 # --help needs none

    database, tokens = open_lists(Path(folder), create=create)
    try:
        yield tokens
    finally:
        database.close()


def _told(of: Token) -> dict[str, object]:
    return {
        "id": of.id.hex(),
        "client": of.client,
        "tenant": of.tenant,
        "scopes": sorted(of.scopes),
        "requests_per_second": of.requests_per_second,
        "rows_per_second": of.rows_per_second,
        "rows_quota": of.rows_quota,
        "max_weight": of.max_weight,
        "created": of.created,
        "expires": of.expires,
        "revoked": of.revoked,
    }
