"""``halfmask events run``: a stream of events through a policy, that goes on after a break."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from halfmask.cli._codecs import OverwriteOption, check_streams, open_vault
from halfmask.cli._console import console, say_json
from halfmask.cli._events_dry_run import show_dry_run
from halfmask.cli._events_options import (  # typer reads annotations
    PolicyArgument,
    StreamOption,
    VaultOption,
    check_apart,
)
from halfmask.cli._events_summary import as_dict, show_run, show_written
from halfmask.cli._failures import UsageError
from halfmask.cli._options import (  # noqa: TC001 # as above
    DebugOption,
    JsonOption,
    VerboseOption,
)
from halfmask.cli._progress import Stages, compilation_announced
from halfmask.cli._vault_lock import (  # noqa: TC001 # as above
    KeyFileOption,
    KeyringOption,
    PassphraseFileOption,
)

if TYPE_CHECKING:
    from types import FrameType

    from halfmask.events import EventPolicy
    from halfmask.events.streams import Source

__all__ = ["run"]

OnBadWord: TypeAlias = Literal["stop", "go-on"]


def run(
    policy: PolicyArgument,
    source: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            show_default=False,
            help="A file of JSON lines (plain, gzip, zstd), Parquet or Arrow, a folder of them, or "
            "- for standard input; with --topic, the name of a topic.",
        ),
    ],
    out: Annotated[
        str,
        typer.Argument(
            metavar="OUT",
            show_default=False,
            help="What is written and may leave: JSON lines; packed if it ends in .gz or .zst; a "
            "table if in .parquet or .arrow; a folder of parts if in /; - for standard output.",
        ),
    ],
    *,
    vault: VaultOption,
    stream: StreamOption = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Wait for what is appended to INPUT, until stopped.")
    ] = False,
    topic: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            metavar="KEY=VALUE",
            help="INPUT is a topic of Kafka; a setting of its client, such as "
            "bootstrap.servers=HOST:PORT; may be given more than once. Until stopped.",
        ),
    ] = None,
    on_bad: Annotated[
        OnBadWord,
        typer.Option(
            "--on-bad", help="What a line that is no event does; with go-on it is counted."
        ),
    ] = "stop",
    dead_letters: Annotated[
        str | None,
        typer.Option(
            "--dead-letters",
            metavar="FILE",
            help="Note number and reason of such lines here, in a file of mode 0600.",
        ),
    ] = None,
    dead_letter_content: Annotated[
        bool,
        typer.Option("--dead-letter-content", help="Note the lines there, too; it must not leave."),
    ] = False,
    afresh: Annotated[
        bool,
        typer.Option(
            "--afresh",
            help="Forget what is known of the stream: numbers begin anew, and what was broken off "
            "isn't gone on with.",
        ),
    ] = False,
    checkpoint_seconds: Annotated[
        float,
        typer.Option(
            "--checkpoint-seconds", min=0, metavar="SECONDS", help="Between two checkpoints."
        ),
    ] = 10.0,
    report: Annotated[
        bool,
        typer.Option(
            "--report/--no-report",
            help="Write OUT.manifest.json, which leaves with OUT, and OUT.report.html, which names "
            "what was dropped and stays.",
        ),
    ] = True,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Show what the policy does to the first lines of INPUT: counts, dropped fields "
            "and events that single out. OUT and the vault stay unchanged.",
        ),
    ] = False,
    sample: Annotated[
        int,
        typer.Option("--sample", metavar="LINES", min=1, help="How many lines a dry run reads."),
    ] = 10_000,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Make a warning an error: released events that single out, lost events, or no "
            "output. OUT then keeps the name OUT.partial.",
        ),
    ] = False,
    overwrite: OverwriteOption = False,
    key_file: KeyFileOption = None,
    passphrase_file: PassphraseFileOption = None,
    keyring: KeyringOption = False,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
    debug: DebugOption = False,  # noqa: ARG001 # main looks for it
) -> int:
    """Run the events of INPUT through POLICY, into OUT.

    What no rule names doesn't leave. However a run is broken off, the same command goes on where it
    was, and OUT is what it would be without the break: until it is whole, it is OUT.partial. Secret
    tables come from the vault. Numbers of sequences go on in the stream's next run.
    """
    _check(source, out, passphrase_file, follow=follow, topic=topic, as_json=as_json)
    if dry_run and topic:
        raise UsageError("--dry-run is for files and pipes, not for a topic.")
    if strict and not dry_run and (out == "-" or follow or topic):
        raise UsageError("--strict needs an input that ends and an output file.")
    read = (policy,) if topic else (policy, source)
    for target in (out, dead_letters or "-"):
        check_apart(target, *read)
    if dead_letter_content and dead_letters is None:
        raise UsageError("--dead-letter-content goes with --dead-letters.")
    opened = open_vault(vault, key_file, passphrase_file, keyring=keyring)
    from halfmask.events import DeadLetters, EventPolicy, run_events, stage_of  # noqa: PLC0415 # half a second
    from halfmask.events.report import Reporting, dry_run_events, strict_gate  # noqa: PLC0415 # the same
    from halfmask.events.streams import open_sink  # noqa: PLC0415 # the same

    said = EventPolicy.load(policy)
    err = console(stderr=True)
    if dry_run:
        with compilation_announced(err), Stages(err, verbose=verbose) as stages:
            first = _source_of(said, source, None, follow=False)
            tried = dry_run_events(said, first, vault=opened, sample_lines=sample, progress=stages)
        show_dry_run(tried, said, err, as_json=as_json, strict=strict, verbose=verbose)
        return 0
    letters = (
        None
        if dead_letters is None
        else DeadLetters(dead_letters, with_content=dead_letter_content, overwrite=overwrite)
    )
    came = _source_of(said, source, topic, follow=follow)
    sink, stage = open_sink(out, appending=came.endless, overwrite=overwrite), stage_of(said)
    reporting = Reporting(said, sink, stage) if report else None
    with (
        compilation_announced(err),
        Stages(err, verbose=verbose) as stages,
        _stopped_by_signals() as stop,
    ):
        summary = run_events(
            said,
            came if reporting is None else reporting.watching(came),
            sink,
            vault=opened,
            stream=stream,
            stage=stage,
            on_bad=on_bad,
            dead_letters=letters,
            afresh=afresh,
            checkpoint_seconds=checkpoint_seconds,
            stop=stop,
            progress=stages,
            gate=strict_gate(said) if strict else None,
        )
        written = None if reporting is None else reporting.write(summary)
    if not summary.complete and not came.endless:
        raise KeyboardInterrupt  # said as of every command; the checkpoint is made
    if as_json:
        say_json({"ok": True, **as_dict(summary, written)})
    else:
        show_run(summary, said, err)
        if out != "-" and summary.complete:
            show_written(out, written, err)
    return 0


def _check(
    source: str,
    out: str,
    passphrase_file: str | None,
    *,
    follow: bool,
    topic: list[str] | None,
    as_json: bool,
) -> None:
    check_streams(source, out, passphrase_file, as_json=as_json)
    if follow and topic:
        raise UsageError("--follow is for a file: a topic is followed anyway.")
    if any("=" not in setting for setting in topic or ()):
        raise UsageError("--topic wants KEY=VALUE, such as bootstrap.servers=HOST:PORT.")


def _source_of(
    policy: EventPolicy, source: str, topic: list[str] | None, *, follow: bool
) -> Source:
    from halfmask.events.streams import TopicSource, open_source  # noqa: PLC0415 # half a second

    if topic:
        settings = dict(setting.split("=", 1) for setting in topic)
        return TopicSource.connect(source, settings)
    firsts = [path.steps[0] for path in policy.paths()]
    named = frozenset(step for step in firsts if isinstance(step, str))
    return open_source(
        source, follow=follow, roots=named if len(named) == len(set(firsts)) else None
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
