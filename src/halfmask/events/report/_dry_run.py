"""dry_run_events: what a policy makes of the first lines of an input, with nothing written."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import VaultError
from halfmask._progress import silent
from halfmask._validation import integer_at_least
from halfmask.events.block._values import Kind
from halfmask.events.report._fields import field_name, released_fields
from halfmask.events.report._risk import RiskCounts
from halfmask.events.report._seen import SeenPaths, Watched
from halfmask.events.running._checkpoint import CheckpointStore
from halfmask.events.running._dead_letters import Notices
from halfmask.events.running._event_run import sealed_tables, stage_of
from halfmask.events.running._prepared_rules import find_rules
from halfmask.events.running._running import Running
from halfmask.events.running._transforming import Transform
from halfmask.events.stages._stage import Stage
from halfmask.events.streams import FileSource, PipeSource, Sink, Source
from halfmask.vault import Secret

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from halfmask._progress import Progress
    from halfmask.events.block._bad_lines import Limits
    from halfmask.events.block._block import Block
    from halfmask.events.block._values import Values
    from halfmask.events.block._writing import Changed
    from halfmask.events.policy._policy import EventPolicy
    from halfmask.events.report._risk import ReleasedRisk
    from halfmask.events.report._seen import DroppedPath
    from halfmask.events.running._checkpoint import Checkpoint
    from halfmask.events.running._run_summary import RunSummary
    from halfmask.events.secrets._tables import SecretTable
    from halfmask.events.streams import Chunk, Position
    from halfmask.vault import Vault

SAMPLE_LINES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCounts:
    """What one rule, or several rules of one path, wrote from a sample.

    Parameters
    ----------
    rules
        Numbers of the rules; the first rule is 1.
    path
        Path in the input, as the first of these rules writes it.
    fields
        Names of the fields in the output.
    values
        How many values were written, before windows and guarantees.
    different
        How many different values were written.
    """

    rules: tuple[int, ...]
    path: str
    fields: tuple[str, ...]
    values: int
    different: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """What a policy makes of a sample: counts and names of fields, never a value.

    Parameters
    ----------
    summary
        As of a run over the sample.
    sampled
        Whether the input has more lines than the sample.
    lines
        How many lines would be written.
    rules
        What each rule wrote.
    dropped
        Places of the input that no rule writes; None of tables and folders.
    risk
        What singles out in the lines.
    """

    summary: RunSummary
    sampled: bool
    lines: int
    rules: tuple[RuleCounts, ...]
    dropped: tuple[DroppedPath, ...] | None
    risk: ReleasedRisk

    def warnings(self) -> tuple[str, ...]:
        """Return what a run would warn of."""
        risk = () if self.risk.warning is None else (self.risk.warning,)
        return (*self.summary.warnings(), *risk)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            **self.summary.to_dict(),
            "sampled": self.sampled,
            "lines_written": self.lines,
            "rules": [
                asdict(it) | {"rules": list(it.rules), "fields": list(it.fields)}
                for it in self.rules
            ],
            "dropped": None if self.dropped is None else list(map(asdict, self.dropped)),
            "risk": self.risk.to_dict(),
            "warnings": list(self.warnings()),
        }


def dry_run_events(
    policy: EventPolicy,
    source: Source,
    *,
    vault: Vault,
    tables: Mapping[str, SecretTable] | None = None,
    sample_lines: int = SAMPLE_LINES,
    limits: Limits | None = None,
    threads: int = 2,
    progress: Progress = silent,
) -> DryRun:
    """Run the first lines of an input through a policy, without output or state.

    Parameters
    ----------
    policy
        The rules for each event.
    source
        Where events come from; one with an end.
    vault
        Is read for the secret and the tables, and not changed. If it has no secret for events yet,
        one is drawn and forgotten.
    tables
        Secret tables; by default those of the vault.
    sample_lines
        How many lines are looked at.
    limits, threads, progress
        As of `run_events`.

    Raises
    ------
    DataError
        If the input can't be read, or a rule with ``otherwise = "stop"`` can't do its work.
    ParameterError
        If the vault lacks a table.

    Notes
    -----
    **Edge cases.** Numbers of sequences start again. Lines that are no events are counted and don't
    stop the run. Windows end with the sample, so guarantees hold back more than in a whole run.
    """
    integer_at_least(1, owner="dry_run_events", sample_lines=sample_lines)
    sample = _Sample(source, sample_lines)
    seen = SeenPaths(limits=limits) if isinstance(source, FileSource | PipeSource) else None
    stage, sink = _Counted(policy, stage_of(policy)), _Unwritten(policy)
    summary = Running(
        source=sample if seen is None else Watched(sample, seen),
        sink=sink,
        transform=Transform(
            policy,
            secret=_secret_of(vault),
            tables=sealed_tables(policy, vault) if tables is None else tables,
            limits=limits,
        ),
        stage=stage,
        store=_Forgetful(),
        notices=Notices(policy),
        letters=None,
        on_error="skip",
        every=0,
        threads=threads,
        stop=threading.Event(),
        progress=progress,
    ).go(restart=True)
    return DryRun(
        summary=summary,
        sampled=sample.cut,
        lines=sink.n_lines,
        rules=stage.rules(),
        dropped=None if seen is None else seen.dropped(policy),
        risk=sink.risk.counted(),
    )


def _secret_of(vault: Vault) -> Secret:
    try:
        return vault.secret("events", create=False)
    except VaultError:
        return Secret.fresh()


class _Sample(Source):
    """The first lines of a source."""

    def __init__(self, source: Source, lines: int) -> None:
        self._source = source
        self._lines = lines
        self.cut = False

    def chunks(self, position: Position | None, stop: threading.Event) -> Iterator[Chunk]:
        left = self._lines
        for chunk in self._source.chunks(position, stop):
            if not left:
                self.cut = True
                return
            if chunk.lines > left:
                self.cut = True
                lines = chunk.data.split(b"\n")[:left]
                yield replace(chunk, view=b"\n".join(lines) + b"\n", lines=left, buffer=None)
                return
            left -= chunk.lines
            yield chunk

    def reread(self) -> Source | None:
        again = self._source.reread()
        return None if again is None else _Sample(again, self._lines)


class _Unwritten(Sink):
    """A sink that looks at lines and forgets them."""

    def __init__(self, policy: EventPolicy) -> None:
        self.risk = RiskCounts.of(policy)
        self.n_lines = 0

    def write(self, data: bytes | memoryview) -> None:
        lines = bytes(data)
        self.n_lines += lines.count(b"\n")
        self.risk.look(lines)


class _Forgetful(CheckpointStore):
    """A store that knows no stream and keeps nothing."""

    def __init__(self) -> None:
        pass

    def load(self) -> Checkpoint | None:
        return None

    def claim(self) -> None:
        pass

    def save(self, checkpoint: Checkpoint) -> None:
        pass


@dataclass(slots=True)
class _Met:
    """What was met of some rules."""

    values: int = 0
    tokens: set[tuple[Kind, bytes]] = field(default_factory=set)


class _Counted(Stage):
    """A stage that counts what the rules wrote, and hands it to another one."""

    def __init__(self, policy: EventPolicy, stage: Stage) -> None:
        self._policy = policy
        self._stage = stage
        self._met: dict[tuple[int, ...], _Met] = defaultdict(_Met)

    def look_ahead(self, chunks: Iterable[Chunk], limits: Limits) -> None:
        self._stage.look_ahead(chunks, limits)

    def take(self, changed: Changed, block: Block) -> bytes | memoryview:
        for path, values in changed.columns.items():
            rules = find_rules(self._policy.rules, path, self._policy.containers())
            self._count(self._met[tuple(rules)], values, changed.wanted)
        return self._stage.take(changed, block)

    def _count(self, met: _Met, values: Values, wanted: np.ndarray[Any, Any]) -> None:
        scalar = (values.kinds > int(Kind.NULL)) & (values.kinds < int(Kind.OBJECT))
        scalar &= wanted[values.level.event]
        met.values += int(np.count_nonzero(scalar))
        codes, tokens = values.distinct()
        met.tokens.update(tokens[code] for code in np.unique(codes[scalar]).tolist())

    def rules(self) -> tuple[RuleCounts, ...]:
        """Return what was counted, in the order of the rules."""
        names: dict[int, dict[str, None]] = defaultdict(dict)
        for it in released_fields(self._policy):
            names[it.rule][field_name(it.steps)] = None
        return tuple(
            RuleCounts(
                rules=tuple(rule + 1 for rule in rules),
                path=self._policy.rules[rules[0]].path,
                fields=tuple(dict.fromkeys(it for rule in rules for it in names[rule + 1])),
                values=met.values,
                different=len(met.tokens),
            )
            for rules, met in sorted(self._met.items())
            if rules
        )

    def finish(self) -> bytes:
        return self._stage.finish()

    def summary(self) -> dict[str, int]:
        return self._stage.summary()
