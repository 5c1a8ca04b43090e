"""``halfmask push``, and what all commands share that send rows to a trainer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, TypeVar

from halfmask._errors import ParameterError, TrainerError
from halfmask.cli import _rooms as rooms
from halfmask.cli._claims import some
from halfmask.cli._console import Stages, compilation_announced, console, printable
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import argument, flag, option, required, spreads_groups
from halfmask.cli._options import SayingOptions
from halfmask.cli._stored import unseal_hasher
from halfmask.cli._tables import Reading
from halfmask.cli._vault import LockOptions, read_secret  # typer reads it

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from halfmask._progress import Progress


#: What a stream of Arrow begins with: no table of texts does.
_STREAM = b"\xff\xff\xff\xff"

SOURCE = argument(
    "ROWS: Hashed rows, as halfmask hash writes them. With --hasher, a table, which is "
    "hashed while it is sent. - reads standard input."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WithHasher:
    """The hasher of a vault, where one was given."""

    heading: ClassVar = "Hasher"

    vault: str | None = option("--vault VAULT: The vault that holds the hasher.")
    hasher: str | None = option("--hasher NAME: The hasher's name in the vault.")
    lock: LockOptions

    def unlocked(self) -> rooms.hashing.FileHasher | None:
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

    batches: Iterable[rooms.hashing.HashedRows]
    count: int | None


@contextmanager
def rows_of(
    source: str,
    hasher: rooms.hashing.FileHasher | None,
    reading: Reading,
    *,
    labelled: bool,
    err: Console,
    told: Progress,
) -> Iterator[Rows]:
    """Yield rows; report the share that was taken."""
    if hasher is None:
        hashed = rooms.trainer.client.HashedSource(source)
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


CompressionName: TypeAlias = Literal["none", "lz4", "zstd"]
_MOST_BYTES = 4096
_FORBIDDEN = 403
Answer = TypeVar("Answer")

#: How many requests may be on their way at once.
MAX_IN_FLIGHT = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionOptions:
    """A trainer, and how it is reached."""

    heading: ClassVar = "Connection"

    url: str = required("--url URL: The trainer's address, such as https://trainer.example:8765.")
    token_file: str = required(
        "--token-file FILE: The file with the token, of mode 0600; - reads standard input."
    )
    authority: str | None = option(
        "--authority FILE: The authority of the trainer's certificate, in PEM. The default is "
        "the authorities of the system."
    )
    certificate: str | None = option("--certificate FILE: The client's own certificate, in PEM.")
    certificate_key: str | None = option(
        "--certificate-key FILE: The certificate's private key, in PEM, if it is in another file."
    )
    plain_http: bool = flag(
        "--plain-http: Allow a trainer on another machine without TLS. Everyone on the network "
        "path can then read the token and the rows."
    )
    proxy: str | None = option("--proxy URL: The proxy to use. The default is none.")
    give_up: float = option(
        "--give-up SECONDS: Stop if the trainer is unreachable or busy for this time; 0 stops at "
        "once.",
        300.0,
        min=0,
    )

    def connect(self, compression: CompressionName = "none") -> rooms.trainer.client.TrainerClient:
        """Return a client of the trainer."""
        own = (self.certificate, self.certificate_key)
        if self.certificate is None and self.certificate_key is not None:
            raise UsageError(
                "--certificate-key is the key of a --certificate.", hint="Give both of them."
            )
        token = _token(self.token_file)
        try:
            return rooms.trainer.client.TrainerClient(
                self.url,
                token=token,
                verify=True if self.authority is None else self.authority,
                certificate=None if self.certificate is None else tuple(filter(None, own)),
                retry_policy=rooms.trainer.client.RetryPolicy(give_up_seconds=self.give_up),
                compression=compression,
                plain_http=self.plain_http,
                proxy=self.proxy,
            )
        except ParameterError as error:
            raise UsageError(error.what, hint=error.hint) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerOptions(ConnectionOptions):
    """A trainer and its model, and how rows get there."""

    model: str = required("--model NAME: The model's name on the trainer.")
    batch_rows: int = option(
        "--batch-rows ROWS: Number of rows per request. Use the same number to continue after a "
        "break.",
        4096,
        min=1,
    )
    journal: str | None = option(
        "--journal FILE: The file that lists completed batches. The default is a file next to "
        "the rows or answers."
    )
    compression: CompressionName = option(
        "--compression: Compression of the rows that are sent.", "none"
    )

    def check_inputs(self, source: str, lock: LockOptions) -> None:
        """Refuse two readers of standard input."""
        if [source, self.token_file, lock.passphrase_file].count("-") > 1:
            raise UsageError(
                "Two of the rows, the token and the passphrase want standard input.",
                hint="Give all but one as files.",
            )

    def journal_of(self, work: str, *more: str, near: str) -> Path | None:
        """Return the journal that was given, or the one of a file; None of standard streams.

        Its name distinguishes what is done with the file: trainer, model and stream.
        """
        if self.journal is not None or near == "-":
            return None if self.journal is None else Path(self.journal)
        work_name = rooms.trainer.client.content_key.work_name
        name = work_name(work, self.url, self.model, *more)[:12]
        return Path(near).parent / f".{Path(near).name}.{work}-{name}"


def if_allowed(ask: Callable[[], Answer]) -> Answer | None:
    """Return what a trainer answers; None if the token lacks the scope for it."""
    try:
        return ask()
    except TrainerError as error:
        if error.status != _FORBIDDEN:
            raise
        return None


def _token(file: str) -> str:
    found = read_secret(file, "The token file", _MOST_BYTES)
    try:
        return found.decode("ascii").strip()
    except UnicodeDecodeError:
        raise ParameterError("The file of the token holds no token.") from None


#: How long a push waits until the model has learned what is on the disk.
_LEARNING_SECONDS = 60.0


@spreads_groups
def push(
    source: str = SOURCE,
    *,
    trainer: TrainerOptions,
    stream: str = option(
        "--stream WORD: A name for these rows. The same rows are learned once per name; with "
        "another name they are learned again. Don't put a secret into it.",
        "",
    ),
    in_flight: int = option(
        "--in-flight N: Number of simultaneous requests.", 1, min=1, max=MAX_IN_FLIGHT
    ),
    hashing: WithHasher,
    reading: Reading,
    saying: SayingOptions,
) -> int:
    """Send ROWS to a trainer's model, which learns from them.

    It ends when every row is on the trainer's disk. If the network, this command or the trainer
    fails, run the same command again. No row is lost, and none is learned twice. Rows that make
    learning diverge are left out by the model; the answer counts them, if the token has the scope
    read. With --in-flight 1 the model learns in the order of the rows; larger numbers are faster.
    """
    trainer.check_inputs(source, hashing.lock)
    hasher = hashing.unlocked()
    err = console(stderr=True)
    with (
        trainer.connect(trainer.compression) as client,
        Stages(err, verbose=saying.verbose) as stages,
        rows_of(
            source,
            hasher,
            reading,
            labelled=True,
            err=err,
            told=lambda _, share=None: stages("pushing", share),
        ) as rows,
    ):
        done = client.push(
            trainer.model,
            rows.batches,
            stream=stream,
            batch_rows=trainer.batch_rows,
            in_flight=in_flight,
            journal=trainer.journal_of("push", stream, near=source),
            rows=rows.count,
            progress=stages if rows.count else None,
        )
        stages("waiting until the model has learned")
        learned = _learned_by(client, trainer.model)
        again = client.sent_again
    counts = {name: getattr(done, name) for name in ("rows", "sent", "resumed", "known")}
    before = (
        f"{done.resumed:,} had been pushed before this command, and the trainer knew "
        f"{done.known:,} of those that were sent. To learn from them again, give another "
        "--stream."
    )
    return saying.say(
        {"model": trainer.model, **counts, "sent_again": again, "learned": learned},
        f"{printable(trainer.model)}: {done.rows:,} rows are on the trainer's disk; "
        f"{done.sent:,} were sent now.",
        *([before] if done.resumed or done.known else []),
        _sentence(learned),
        stderr=True,
    )


def _learned_by(client: rooms.trainer.client.TrainerClient, model: str) -> dict[str, int] | None:
    """Return what became of all rows that the model was ever sent; None if it may not be read."""
    found = if_allowed(lambda: client.metrics(model, wait_seconds=_LEARNING_SECONDS))
    if found is None:
        return None
    defended = found.get("defences") or {}
    taken_back = int(defended.get("taken_back", 0))
    return {
        "rows": int(found["rows"]) - taken_back,
        "diverged": int(found.get("skipped_rows", 0)),
        "defended": int(defended.get("refused", 0)) + taken_back,
        "waiting_batches": int(found["logged"]) - int(found["learned"]),
    }


def _sentence(learned: dict[str, int] | None) -> str:
    """Return what the rows' sender wants to know of all rows of the model."""
    if learned is None:
        return "Whether they were learned isn't known here: this token doesn't have the scope read."
    told = [f"The model has learned from {some(learned['rows'], 'row')} in all."]
    if learned["waiting_batches"]:
        told.append(f"{learned['waiting_batches']:,} batches still wait to be learned.")
    if learned["diverged"]:
        told.append(
            f"It left out {some(learned['diverged'], 'row')}: with them learning diverged. "
            "Numbers of very different size do that, and large labels or weights: scale them, or "
            "hash numbers in bins."
        )
    if learned["defended"]:
        told.append(f"Its defences refused or took back {some(learned['defended'], 'row')}.")
    return " ".join(told)
