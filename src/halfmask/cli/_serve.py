"""``halfmask serve``: services that learn or answer, their tokens and their models."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from halfmask.cli import _rooms as rooms
from halfmask.cli._budget import LedgerOptions, pairs
from halfmask.cli._console import listing, printable
from halfmask.cli._option_groups import argument, flag, option, required, spreads_groups
from halfmask.cli._options import TABLE, AnswerOptions, HeadedGroup, SayingOptions, command_group
from halfmask.cli._remote import ConnectionOptions
from halfmask.cli._tables import Reading

if TYPE_CHECKING:
    from halfmask.trainer.store import Limits, Token, Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingAddress:
    """Where a service listens, and who may speak to it."""

    heading: ClassVar = "Address"

    host: str = option("--host ADDRESS: The address to listen on.", "127.0.0.1")
    port: int = option(
        "--port N: The port to listen on; 0 takes a free one.", 8765, min=0, max=65_535
    )
    certificate: str | None = option("--certificate FILE: The service's certificate, in PEM.")
    key: str | None = option("--certificate-key FILE: The certificate's private key, in PEM.")
    client_authority: str | None = option(
        "--authority FILE: Clients need a certificate of this authority, in addition to their "
        "token."
    )

    def address(self, port: int) -> str:
        """Return where it is, once it has a port."""
        scheme = "http" if self.certificate is None else "https"
        return f"{scheme}://{f'[{self.host}]' if ':' in self.host else self.host}:{port}"

    @contextmanager
    def listening(self, answer: AnswerOptions, more: str = "") -> Iterator[dict[str, Any]]:
        """Yield what a service is started with: it says where it listens, and logs."""

        def started(port: int) -> None:
            at = self.address(port)
            told = f"Listening at {at}. {more.format(address=at)}".rstrip()
            answer.say({"address": at, "port": port}, told)

        with _service_log():
            yield {**asdict(self), "started": started}


@contextmanager
def _service_log() -> Iterator[None]:
    """Say what the service itself logs on standard error; uvicorn's words may quote a request."""
    log, handler = logging.getLogger("halfmask.trainer"), logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


@spreads_groups
def queries(
    folder: str = argument(
        "FOLDER: The folder of the service's tokens. A token's client is the analyst, its tenant "
        "the data set, its scope read."
    ),
    table: str = TABLE,
    *,
    public: list[str] | None = option(
        "--public NAME=FILE: A table that everybody may know, to be joined; may be given more "
        "than once."
    ),
    step_seconds: float = option(
        "--step-seconds N: An answer comes after a whole number of such steps, so that its time "
        "says little.",
        1.0,
    ),
    where: LedgerOptions,
    at: ServingAddress,
    reading: Reading,
    saying: SayingOptions,
) -> int:
    """Answer analysts' questions about TABLE, until it is stopped.

    Set a budget first (halfmask budget set), give analysts shares (halfmask budget allow) and
    tokens (halfmask serve token create). Without TLS, listen on this machine only.
    """
    ledger = where.open(table)
    with saying.stages() as stages:
        stages("reading the table")
        opened = rooms.dp.queries.PrivateTable.open(reading.open(table), ledger=ledger)
    app = rooms.trainer.queries.create_query_app(
        folder,
        opened,
        public=dict(pairs(public, "--public NAME=FILE", is_file=True)),
        step_seconds=step_seconds,
    )
    with at.listening(saying) as listening:
        rooms.trainer.queries.serve_queries(app, **listening)
    return 0


LossName: TypeAlias = Literal["logistic", "hinge", "squared", "softmax", "quantile"]

model = command_group("model", "Make and list the models of a running trainer.")


@model.command("create")
@spreads_groups
def create_model(
    name: str = argument("NAME: The model's name."),
    *,
    bits: int = required("--bits N: The bits of the hasher.", min=1, max=31),
    loss: LossName = option("--loss: The loss function.", "logistic"),
    classes: int | None = option("--classes N: Number of classes, for softmax.", min=2),
    connection: ConnectionOptions,
    answer: AnswerOptions,
) -> int:
    """Make a model on a trainer. The token needs the scope admin."""
    settings: dict[str, Any] = {} if classes is None else {"classes": classes}
    with connection.connect() as client:
        made = client.create(name, loss=loss, bits=bits, **settings)
    return answer.say(_model_as_dict(made), f"The model {printable(made.name)} was made.")


@model.command("list")
@spreads_groups
def list_models(*, connection: ConnectionOptions, answer: AnswerOptions) -> int:
    """List the models that the token can access. It needs the scope read."""
    with connection.connect() as client:
        found = client.models()
    table = listing("model", "loss", "bits", "classes", "rows", right=("bits", "classes", "rows"))
    for each in found:
        numbers = (f"{number:,}" for number in (each.bits, each.classes, each.rows))
        table.add_row(printable(each.name), printable(each.loss), *numbers)
    return answer.say({"models": [_model_as_dict(each) for each in found]}, table)


def _model_as_dict(of: rooms.trainer.client.RemoteModel) -> dict[str, object]:
    return {name: getattr(of, name) for name in ("name", "loss", "bits", "classes", "rows")}


MEBI, DAY = 1 << 20, 86_400.0


class _ServeGroup(HeadedGroup):
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

    heading: ClassVar = "Limits"

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
        return rooms.trainer.store.Limits(
            keep_log=self.keep_log,
            body_bytes=self.body_mib * MEBI,
            backlog_bytes=self.backlog_mib * MEBI,
            max_bits=self.max_bits,
            snapshot_bytes=self.snapshot_mib * MEBI,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLimits:
    """How much the holder of a token may ask for."""

    heading: ClassVar = "Limits"

    requests_per_second: float | None = option(
        "--requests-per-second N: Maximum number of requests per second."
    )
    rows_per_second: float | None = option(
        "--rows-per-second N: Maximum number of rows per second."
    )
    rows_quota: int | None = option("--rows-quota N: Maximum number of learned rows in total.")
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
    told = "{address}/docs states what it takes."
    options = rooms.trainer.service.ServiceOptions(limits=limits.limits())
    with at.listening(answer, told) as listening:
        rooms.trainer.service.serve(folder, options=options, **listening)
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
            **asdict(limits),
            valid_seconds=None if days is None else days * DAY,
        )
    if out is not None:
        files = rooms.vault.private_files
        with files.keeping("The file of the token"):
            files.write_private(files.absolute(out), text.encode() + b"\n")
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
    table = listing("id", "client", "tenant", "scopes", "state")
    now = time.time()
    for each in found:
        state = "in use" if each.holds(now) else "revoked" if each.revoked else "expired"
        scopes = " ".join(sorted(each.scopes))
        table.add_row(each.id.hex(), each.client, each.tenant, scopes, state)
    return answer.say({"tokens": [_told(each) for each in found]}, table)


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
    database, tokens = rooms.trainer.store.open_lists(Path(folder), create=create)
    try:
        yield tokens
    finally:
        database.close()


def _told(of: Token) -> dict[str, object]:
    limits = ("requests_per_second", "rows_per_second", "rows_quota", "max_weight")
    names = (*limits, "created", "expires", "revoked")
    who = {"id": of.id.hex(), "client": of.client, "tenant": of.tenant, "scopes": sorted(of.scopes)}
    return who | {name: getattr(of, name) for name in names}
