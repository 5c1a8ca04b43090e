"""write_reports: the manifest that is released with an output, and the report that stays."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from halfmask._errors import DataError, GuaranteeNotMetError, ReleaseError
from halfmask.claims import DataFile, EventClaims, EventGuarantees, EventsManifest, RunCounts
from halfmask.claims.manifest import manifest_of
from halfmask.events.report._fields import released_fields
from halfmask.events.report._page import render_events_report
from halfmask.events.report._risk import RiskCounts, counted_in
from halfmask.events.report._seen import SeenPaths, Watched
from halfmask.events.running._claims import guarantee_claim
from halfmask.events.stages._aggregation import Aggregation
from halfmask.events.stages._holding import Holding
from halfmask.events.streams import FileSource, PipeSource, open_source
from halfmask.release import publish_beside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from halfmask.claims.event_claims import EventClaim
    from halfmask.events.policy._policy import EventPolicy
    from halfmask.events.report._risk import ReleasedRisk
    from halfmask.events.running._run_summary import RunSummary
    from halfmask.events.stages._stage import Stage
    from halfmask.events.streams import Sink, Source
    from halfmask.release import Published


_TABLES: Final = ("parquet", "arrow")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reports:
    """What was written next to an output.

    Parameters
    ----------
    manifest
        What it says.
    risk
        What singles out in the first lines, with a warning.
    paths
        Where manifest and report are; the report stays with the owner.
    """

    manifest: EventsManifest
    risk: ReleasedRisk
    paths: Published


def claims_of(stage: Stage) -> EventClaims:
    """Return what the stage of a run claims of its lines, once the run is over."""
    return stage.claims() if isinstance(stage, Aggregation | Holding) else EventClaims()


def write_reports(
    policy: EventPolicy,
    output: str | Path,
    summary: RunSummary,
    *,
    claims: EventClaims | None = None,
    seen: SeenPaths | None = None,
    created: datetime | None = None,
) -> Reports:
    """Read an output once, and write its manifest and report next to it.

    Parameters
    ----------
    policy
        By which it was made.
    output
        The file or folder that a run wrote whole.
    summary
        What the run counted.
    claims
        What its stage claims, see `claims_of`; None where there was none.
    seen
        Places of the input, so that the report can name those that were dropped.
    created
        The time that is written; by default now.

    Returns
    -------
    Reports
        The manifest ``OUT.manifest.json``, which is released with OUT, and the report
        ``OUT.report.html``, which stays and has the mode 0600 where it is new. Files of these names
        are replaced.

    Raises
    ------
    ReleaseError
        If the run isn't complete, or the output can't be read or is empty of files.

    Notes
    -----
    **Guarantees.** The manifest has no value, and no name of the input's fields but those that the
    policy writes. Neither has the report; it names, besides, the input's places that no rule
    writes. Both depend on the output, the policy and the summary alone, except for the time.
    """
    if not summary.complete:
        raise ReleaseError(
            "There is no manifest of an output that isn't whole.", hint="Let the run go on first."
        )
    claims = claims or EventClaims()
    where, counts = Path(output), RiskCounts.of(policy)
    files = tuple(_read(path, counts) for path in _files(where))
    risk = counts.counted()
    manifest = EventsManifest(
        created=(created or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        software={"halfmask": version("halfmask")},
        policy_sha256=policy.sha256,
        approval=policy.approval.stated(),
        release=policy.release,
        files=files,
        fields=released_fields(policy),
        counts=RunCounts(
            lines=summary.lines,
            events=summary.events,
            passed=summary.passed,
            held=summary.held,
            bad=dict(summary.bad),
            clock_went_back=summary.clock_went_back,
            stage=dict(summary.stage),
        ),
        failures=summary.failures,
        claims=claims.claims,
        panes=claims.panes,
        risk=risk,
    )
    page = render_events_report(manifest, policy=policy, summary=summary, risk=risk, seen=seen)
    paths = publish_beside(manifest.stated(), where, page=page)
    return Reports(manifest=manifest, risk=risk, paths=paths)


def _files(where: Path) -> list[Path]:
    """Return the files of an output, in the order of their lines."""
    try:
        found = sorted(where.iterdir()) if where.is_dir() else [where]
    except OSError:
        found = []
    files = [path for path in found if path.is_file() and not path.name.startswith(".")]
    if not files:
        raise ReleaseError("The output isn't there, or has no file.")
    return files


def _read(path: Path, risk: RiskCounts) -> DataFile:
    """Read a file once for its hash, and once for its lines."""
    try:
        with path.open("rb") as file:
            digest, size = hashlib.file_digest(file, "sha256"), file.tell()
        lines = 0
        for chunk in open_source(path).chunks(None, threading.Event()):
            lines += chunk.lines
            if not risk.full:
                risk.look(chunk.data)
    except (OSError, DataError):
        raise ReleaseError("The output can't be read again.") from None
    table = path.suffix.removeprefix(".")
    return DataFile(
        name=path.name,
        format=table if table in _TABLES else "jsonl",
        sha256=digest.hexdigest(),
        n_bytes=size,
        n_rows=lines,
    )


def strict_gate(policy: EventPolicy) -> Callable[[Iterator[bytes], RunSummary], None]:
    """Return the `gate` of `run_events` that refuses outputs with a warning.

    Parameters
    ----------
    policy
        By which the run is made.

    Returns
    -------
    callable
        Raises `GuaranteeNotMetError` with the first warning: of the run (events are lost, nothing
        was written), or of the risk in the first released events.
    """

    def gate(lines: Iterator[bytes], summary: RunSummary) -> None:
        for warning in summary.warnings():
            raise GuaranteeNotMetError(warning, hint=_AGAIN)
        risk = counted_in(policy, lines)
        if risk.warning is not None:
            raise GuaranteeNotMetError(risk.warning, hint=risk.advice)

    return gate


_AGAIN = (
    "Change the policy or the input. Without [[the gate the same run|--strict the same "
    "command]] releases the output."
)


def guarantees_of(policy: EventPolicy) -> EventGuarantees:
    """Return what the manifest of any run of a policy has, whatever the run met.

    Parameters
    ----------
    policy
        Which: as you were given it by whom you trust.

    Returns
    -------
    EventPromises
        What a manifest is held against by `verify_release`.

    Raises
    ------
    PolicyError
        If the policy can't be run.

    Examples
    --------
    >>> from halfmask.events import EventPolicy
    >>> policy = EventPolicy.from_toml('''
    ... halfmask-events = 1
    ... release = "orders-2014"
    ... [[rule]]
    ... path = "country"
    ... do = "keep"
    ... ''')
    >>> expected = guarantees_of(policy)
    >>> expected.release, [it.steps for it in expected.fields]
    ('orders-2014', [('.country',)])
    """
    if policy.aggregates:
        claims: tuple[EventClaim, ...] = Aggregation(policy).claims().claims
    else:
        claims = tuple(guarantee_claim(policy, it, least=None) for it in policy.guarantees)
    return EventGuarantees(
        policy_sha256=policy.sha256,
        release=policy.release,
        fields=released_fields(policy),
        claims=claims,
    )


class Reporting:
    """Observes a run, and writes its manifest and report at the end.

    Parameters
    ----------
    policy, sink, stage
        Those of the run.

    Notes
    -----
    **Edge cases.** Dropped fields are only listed of lines of JSON in a file or pipe: of Parquet
    and Arrow only the columns that rules name are read. An output that is a pipe has no reports.
    """

    def __init__(self, policy: EventPolicy, sink: Sink, stage: Stage) -> None:
        self._policy = policy
        self._sink = sink
        self._stage = stage
        self._seen: SeenPaths | None = None

    def watching(self, source: Source) -> Source:
        """Return the source, with its first events looked at as they pass.

        Parameters
        ----------
        source
            The input of the run.
        """
        if not isinstance(source, FileSource | PipeSource):
            return source
        self._seen = SeenPaths()
        return Watched(source, self._seen)

    def write(self, summary: RunSummary) -> Reports | None:
        """Write both, if the run is whole and its output is a file or folder.

        A run that had ended already, and was started again, keeps the files that exist.

        Parameters
        ----------
        summary
            The counts of the run.

        Raises
        ------
        ReleaseError
            If the output can't be read again, or they can't be written.
        """
        target = self._sink.target
        if target is None or not summary.complete:
            return None
        seen = self._seen
        if seen is not None and summary.resumed and not seen.events:
            # It had come to its end before, and read nothing this time.
            if manifest_of(target).exists():
                return None
            seen = None
        return write_reports(
            self._policy, target, summary, claims=claims_of(self._stage), seen=seen
        )
