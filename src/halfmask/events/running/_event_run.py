"""run_events: a stream of events from a source to a sink, by a policy and what a vault holds."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING

from halfmask._errors import ParameterError
from halfmask._foreign import need
from halfmask._progress import silent
from halfmask._validation import integer_at_least
from halfmask.events.running._checkpoint import CheckpointStore
from halfmask.events.running._dead_letters import Notices
from halfmask.events.running._running import Gate, OnError, Running
from halfmask.events.running._transforming import Transform
from halfmask.events.secrets._tables import SecretTable
from halfmask.events.stages._aggregation import Aggregation
from halfmask.events.stages._holding import Holding
from halfmask.events.stages._stage import PassThrough

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halfmask._progress import Progress
    from halfmask.events.block._bad_lines import Limits
    from halfmask.events.policy._policy import EventPolicy
    from halfmask.events.running._dead_letters import DeadLetters
    from halfmask.events.running._run_summary import RunSummary
    from halfmask.events.stages._stage import Stage
    from halfmask.events.streams import Sink, Source
    from halfmask.vault import Vault

CHECKPOINT_SECONDS = 10.0


def table_entry(name: str) -> str:
    """Return what a vault calls the secret table that policies call by a name.

    Parameters
    ----------
    name
        The name of a secret table.
    """
    return f"events/table/{name}"


def sealed_tables(policy: EventPolicy, vault: Vault) -> dict[str, SecretTable]:
    """Return the secret tables that a policy needs, from a vault.

    Parameters
    ----------
    policy
        The policy whose rules name tables.
    vault
        The vault that holds them.

    Raises
    ------
    ParameterError
        If the vault lacks one.
    """
    there = frozenset(vault.names())
    for name, kind in policy.tables().items():
        if table_entry(name) not in there:
            raise ParameterError(
                f"The policy needs the secret table {name!r} of kind {kind!r}, which the vault "
                "doesn't hold.",
                hint="halfmask events table set keeps one there.",
            )
    return {name: SecretTable.unseal(vault, table_entry(name)) for name in policy.tables()}


def stage_of(policy: EventPolicy) -> Stage:
    """Return what a policy wants between its rules and the output.

    Parameters
    ----------
    policy
        The policy of the run.
    """
    if policy.aggregates:
        return Aggregation(policy)
    if policy.guarantees:
        return Holding(policy)
    return PassThrough()


def run_events(  # noqa: PLR0913 # each says one thing, by its name
    policy: EventPolicy,
    source: Source,
    sink: Sink,
    *,
    vault: Vault,
    stream: str | None = None,
    tables: Mapping[str, SecretTable] | None = None,
    stage: Stage | None = None,
    on_error: OnError = "stop",
    dead_letters: DeadLetters | None = None,
    restart: bool = False,
    limits: Limits | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    threads: int = 2,
    stop: threading.Event | None = None,
    progress: Progress = silent,
    gate: Gate | None = None,
) -> RunSummary:
    r"""Run a stream of events through a policy, with its state in a vault.

    Parameters
    ----------
    policy
        The rules for each event.
    source, sink
        Where events come from, and where lines go; see `open_source` and `open_sink`.
    vault
        Holds the secret, the secret tables and the checkpoints.
    stream
        What the stream is called there; by default as the policy's release.
    tables
        Secret tables; by default those of the vault.
    stage
        What stands between the rules and the output; None: what the policy says.
    on_error
        What happens at a line that is no event: ``stop`` the run there, or ``skip`` the line and
        count it.
    dead_letters
        Where such lines are noted.
    restart
        Whether to forget what is known of the stream: its numbers start again, and an interrupted
        run isn't continued.
    limits
        Beyond what a line is refused.
    checkpoint_seconds
        Seconds between checkpoints, at least; 0: after each block. With a large state they are
        rarer, so that they take no more than a twentieth of the time.
    threads
        How many blocks are worked on at once.
    stop
        When it is set, the run ends between two blocks, with a checkpoint.
    progress
        Is called with the share of the input that is done, if it is known.
    gate
        Is given the lines of the output and the summary before the output gets its name, such as
        `halfmask.events.report.strict_gate`. If it raises, the output keeps ``.partial``: the
        same run without the gate releases it.

    Returns
    -------
    RunSummary
        Counts, never a value.

    Raises
    ------
    DataError
        If the input can't be read on, or a line stops the run. What was whole before is worked on
        and kept: the next run goes on there.
    PolicyError
        If the policy is a proposal whose release has no name yet.
    KeyMismatchError
        If the vault knows the stream by another policy or secret; or a run that was broken off
        would go on with other secret tables or hierarchy files, but over an input without end.
    ReleaseError
        If the output exists, isn't the one that the run was begun with, or can't be written.
    VaultError
        If another run works on the stream.
    ParameterError
        If the vault lacks a table.

    See Also
    --------
    halfmask.events.report.dry_run_events : Shows what a policy does to a sample, without output.
    halfmask.events.reverse_events : Turns pseudonyms back into values.
    halfmask.events.description.describe_events : Proposes a policy.

    Notes
    -----
    **Guarantees.** However a run is broken off, by a signal, a death or an error, the next one with
    the same input and output goes on at the last checkpoint, and the output is, byte for byte, what
    it would be without the break: nothing twice, nothing lost. So for files and folders on both
    sides. A pipe as input must be given again from its beginning. What went into a pipe as output
    can't be called back: a run over an input with an end starts again, one over an input without
    end writes lines since the last checkpoint once more. The output has its name when all of it is
    written; before, it is ``.partial`` behind its name, unless it never ends.

    The same secret, release and values give the same pseudonyms in any run. Sequences go on from
    one run of a stream to the next: values that were numbered keep their numbers.

    **Edge cases.** Where stars find more than `Limits.paths` places in some megabytes of input,
    lines with further ones are refused and counted, and which these are isn't the same after a
    break. A run that came to its end does nothing when it is started once more with the
    same input and output. Anyone who may read the vault reads the values that were numbered.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from halfmask.events import EventPolicy
    >>> from halfmask.events.streams import open_sink, open_source
    >>> from halfmask.vault import KeyFile, Vault
    >>> folder = tempfile.TemporaryDirectory()
    >>> where = pathlib.Path(folder.name)
    >>> vault = Vault.create(where / "vault", lock=KeyFile.create(where / "key"))
    >>> _ = (where / "in.jsonl").write_text('{"who": "Ann"}\n{"who": "Bob"}\n{"who": "Ann"}\n')
    >>> policy = EventPolicy.from_toml('''
    ... halfmask-events = 1
    ... release = "visits"
    ... [[rule]]
    ... path = "who"
    ... do = "sequence"
    ... scope = "stream"
    ... ''')
    >>> source, sink = open_source(where / "in.jsonl"), open_sink(where / "out.jsonl")
    >>> run_events(policy, source, sink, vault=vault).passed
    3
    >>> (where / "out.jsonl").read_text().split()
    ['{"who":1}', '{"who":2}', '{"who":1}']
    >>> folder.cleanup()
    """
    need("numba")
    policy.check_named()
    integer_at_least(1, owner="run_events", threads=threads)
    if not 0 <= checkpoint_seconds < math.inf:
        raise ParameterError(
            "The 'checkpoint_seconds' parameter of run_events must be a number of 0 or more. "
            f"Got {checkpoint_seconds} instead."
        )
    transform = Transform(
        policy,
        secret=vault.secret("events"),
        tables=sealed_tables(policy, vault) if tables is None else tables,
        limits=limits,
    )
    run = Running(
        source=source,
        sink=sink,
        transform=transform,
        stage=stage_of(policy) if stage is None else stage,
        store=CheckpointStore(vault, policy.release if stream is None else stream),
        notices=Notices(policy),
        letters=dead_letters,
        on_error=on_error,
        every=checkpoint_seconds,
        threads=threads,
        stop=threading.Event() if stop is None else stop,
        progress=progress,
        gate=gate,
    )
    return run.go(restart=restart)
