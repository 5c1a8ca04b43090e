"""``halfmask events run``: a stream of events through a policy, that goes on after a break."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from halfmask.cli._console import console, say_json
from halfmask.cli._events_summary import as_dict, show_dry_run, show_run, show_written
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import argument, flag, option, required, spreads_groups
from halfmask.cli._options import OVERWRITE, SayingOptions
from halfmask.cli._stored import check_streams
from halfmask.cli._vault import LockOptions  # noqa: TC001 # typer reads it

if TYPE_CHECKING:
    from types import FrameType

    from halfmask.events import DeadLetters, EventPolicy
    from halfmask.events.streams import Source
    from halfmask.vault import Vault

POLICY = argument("POLICY: The policy, a TOML file without secrets.")


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamVault:
    """What is secret, and what is known of a stream: a vault, its lock, and a name."""

    heading: ClassVar = "Vault"

    vault: str = required(
        "--vault VAULT: The vault with the secret, the secret tables and the state of the stream."
    )
    stream: str | None = option(
        "--stream NAME: The stream's name in the vault. The default is the policy's release."
    )
    lock: LockOptions


def check_apart(out: str, *inputs: str) -> None:
    """Refuse an output that is one of the inputs, or lies in a folder that is one.

    With ``--overwrite`` it would take the place of what can't be made again.
    """
    if out == "-":
        return
    for given in inputs:
        if given == "-" or not Path(given).exists():
            continue
        if Path(out).exists() and Path(given).samefile(out):
            raise UsageError(
                "What is to be written is what is read.", hint="Give OUT a name of its own."
            )
        if Path(given).is_dir() and Path(given).resolve() in Path(out).resolve().parents:
            raise UsageError(
                "What is to be written lies in the folder that is read.",
                hint="Give OUT a place outside of it: all files there are input.",
            )


OnErrorWord: TypeAlias = Literal["stop", "skip"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventInput:
    """Where events come from, and whether they end."""

    heading: ClassVar = "Reading events"

    follow: bool = flag("--follow: Continue with lines that are appended to INPUT, until stopped.")
    topic: list[str] | None = option(
        "--topic KEY=VALUE: Read the Kafka topic INPUT until stopped. KEY is a setting of the "
        "client, such as bootstrap.servers=HOST:PORT; may be given more than once."
    )

    def check(self, how: RunOptions, trying: DryRunOptions, out: str) -> None:
        """Refuse what doesn't go together."""
        if self.follow and self.topic:
            raise UsageError("--follow is for a file: a topic is followed anyway.")
        if any("=" not in setting for setting in self.topic or ()):
            raise UsageError("--topic wants KEY=VALUE, such as bootstrap.servers=HOST:PORT.")
        if trying.dry_run and self.topic:
            raise UsageError("--dry-run is for files and pipes, not for a topic.")
        if how.strict and not trying.dry_run and (out == "-" or self.follow or self.topic):
            raise UsageError("--strict needs an input that ends and an output file.")

    def open(self, source: str, policy: EventPolicy) -> Source:
        """Open a topic, or files of which only what the policy names is looked at."""
        from halfmask.events.streams import TopicSource, open_source  # noqa: PLC0415 # half a second

        if self.topic:
            settings = dict(setting.split("=", 1) for setting in self.topic)
            return TopicSource.connect(source, settings)
        firsts = [path.steps[0] for path in policy.paths()]
        named = frozenset(step for step in firsts if isinstance(step, str))
        return open_source(
            source, follow=self.follow, roots=named if len(named) == len(set(firsts)) else None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BadLineOptions:
    """What becomes of lines that are no events."""

    heading: ClassVar = "Lines that are no events"

    on_error: OnErrorWord = option(
        "--on-error: What to do at an invalid line: stop, or skip and count it.", "stop"
    )
    dead_letters: str | None = option(
        "--dead-letters FILE: Write the number and reason of each invalid line to this file, of "
        "mode 0600."
    )
    dead_letter_content: bool = flag(
        "--dead-letter-content: Also write the invalid lines to that file. Keep it confidential."
    )

    def check(self) -> None:
        """Refuse content without a file for it."""
        if self.dead_letter_content and self.dead_letters is None:
            raise UsageError("--dead-letter-content goes with --dead-letters.")

    def letters(self, *, overwrite: bool) -> DeadLetters | None:
        """Return where they are noted, if anywhere."""
        from halfmask.events import DeadLetters  # noqa: PLC0415 # half a second

        if self.dead_letters is None:
            return None
        return DeadLetters(
            self.dead_letters, with_content=self.dead_letter_content, overwrite=overwrite
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunOptions:
    """Whether nothing is written, and how much is read for that."""

    heading: ClassVar = "Dry run"

    dry_run: bool = flag(
        "--dry-run: Apply the policy to the first lines of INPUT. Show counts, dropped fields "
        "and events that single people out. OUT and the vault stay unchanged."
    )
    sample: int = option("--sample LINES: Number of lines that a dry run reads.", 10_000, min=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a run goes on, what it tells of itself, and what it fails at."""

    restart: bool = flag(
        "--restart: Delete the state of the stream. Numbers restart, and an interrupted run "
        "isn't continued."
    )
    checkpoint_seconds: float = option(
        "--checkpoint-seconds SECONDS: Time between two checkpoints.", 10.0, min=0
    )
    report: bool = option(
        "--report/--no-report: Write OUT.manifest.json, to send with OUT, and OUT.report.html, "
        "to keep: it names dropped fields.",
        True,
    )
    strict: bool = flag(
        "--strict: Make these warnings errors: released events that single people out, lost "
        "events, no output. OUT then keeps the name OUT.partial."
    )


@spreads_groups
def run(
    policy: str = POLICY,
    source: str = argument(
        "INPUT: A file of JSON lines (plain, gzip, zstd), Parquet or Arrow, a folder of them, or "
        "- for standard input; with --topic, the name of a topic."
    ),
    out: str = argument(
        "OUT: The output to write and send. Its ending sets the format: .gz and .zst for "
        "compressed JSON lines, .parquet and .arrow for a table, / for a folder of parts. Any "
        "other ending means JSON lines. - is standard output."
    ),
    *,
    place: StreamVault,
    coming: EventInput,
    bad: BadLineOptions,
    how: RunOptions,
    trying: DryRunOptions,
    overwrite: bool = OVERWRITE,
    saying: SayingOptions,
) -> int:
    """Apply POLICY to the events of INPUT, and write OUT.

    Fields without a rule are dropped. After an interruption the same command continues, and OUT
    is the same as without the break. Until OUT is complete it is called OUT.partial. Secret
    tables come from the vault. Sequence numbers continue in the next run of the stream.
    """
    check_streams(source, out, place.lock, as_json=saying.as_json)
    coming.check(how, trying, out)
    read = (policy,) if coming.topic else (policy, source)
    for target in (out, bad.dead_letters or "-"):
        check_apart(target, *read)
    bad.check()
    vault = place.lock.open(place.vault)
    from halfmask.events import EventPolicy, run_events, stage_of  # noqa: PLC0415 # half a second
    from halfmask.events.report import Reporting, strict_gate  # noqa: PLC0415 # the same
    from halfmask.events.streams import open_sink  # noqa: PLC0415 # the same

    wanted = EventPolicy.load(policy)
    if trying.dry_run:
        _try(wanted, source, vault, trying.sample, saying, strict=how.strict)
        return 0
    letters = bad.letters(overwrite=overwrite)
    came = coming.open(source, wanted)
    sink, stage = open_sink(out, appending=came.endless, overwrite=overwrite), stage_of(wanted)
    reporting = Reporting(wanted, sink, stage) if how.report else None
    with saying.stages() as stages, _stopped_by_signals() as stop:
        summary = run_events(
            wanted,
            came if reporting is None else reporting.watching(came),
            sink,
            vault=vault,
            stream=place.stream,
            stage=stage,
            on_error=bad.on_error,
            dead_letters=letters,
            restart=how.restart,
            checkpoint_seconds=how.checkpoint_seconds,
            stop=stop,
            progress=stages,
            gate=strict_gate(wanted) if how.strict else None,
        )
        written = None if reporting is None else reporting.write(summary)
    if not summary.complete and not came.endless:
        raise KeyboardInterrupt  # as of every command; the checkpoint is made
    if saying.as_json:
        say_json({"ok": True, **as_dict(summary, written)})
        return 0
    err = console(stderr=True)
    show_run(summary, wanted, err)
    if out != "-" and summary.complete:
        show_written(out, written, err)
    return 0


def _try(
    policy: EventPolicy,
    source: str,
    vault: Vault,
    lines: int,
    saying: SayingOptions,
    *,
    strict: bool,
) -> None:
    """Say what a run would do to the first lines."""
    from halfmask.events.report import dry_run_events  # noqa: PLC0415 # half a second

    with saying.stages() as stages:
        first = EventInput().open(source, policy)
        found = dry_run_events(policy, first, vault=vault, sample_lines=lines, progress=stages)
    show_dry_run(
        found,
        policy,
        console(stderr=True),
        as_json=saying.as_json,
        strict=strict,
        verbose=saying.verbose,
    )


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    """Let a first interrupt or request to end finish the block at work; a second one is felt."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def asked(_number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = [(which, signal.signal(which, asked)) for which in (signal.SIGINT, signal.SIGTERM)]
    try:
        yield stop
    finally:
        for which, handler in before:
            signal.signal(which, handler)
