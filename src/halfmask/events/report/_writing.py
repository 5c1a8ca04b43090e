"""write_reports: the manifest that leaves with an output, and the report that stays at home."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from halfmask._errors import DataError, ReleaseError
from halfmask.data import atomic_file
from halfmask.events.report._fields import released_fields
from halfmask.events.report._manifest import EventsManifest, OutputFile
from halfmask.events.report._page import render_events_report
from halfmask.events.report._risk import RiskCounts
from halfmask.events.stages._aggregation import Aggregation
from halfmask.events.stages._holding import Holding
from halfmask.events.streams import open_source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halfmask.events.policy._policy import EventPolicy
    from halfmask.events.report._seen import SeenPaths
    from halfmask.events.running._run_summary import RunSummary
    from halfmask.events.stages._stage import Stage

__all__ = ["Reports", "claims_of", "manifest_path", "write_reports"]

MANIFEST_SUFFIX: Final = ".manifest.json"
REPORT_SUFFIX: Final = ".report.html"
_PIECE: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Reports:
    """What was written beside an output.

    Parameters
    ----------
    manifest
        What it says.
    manifest_path, report_path
        Where it is; the report stays with the owner.
    """

    manifest: EventsManifest
    manifest_path: Path
    report_path: Path


def claims_of(stage: Stage) -> dict[str, Any] | None:
    """Return what the stage of a run claims of its lines, once the run is over; None for nothing.

    Parameters
    ----------
    stage
        That the run was given.
    """
    return stage.claims() if isinstance(stage, Aggregation | Holding) else None


def write_reports(
    policy: EventPolicy,
    output: str | Path,
    summary: RunSummary,
    *,
    claims: Mapping[str, Any] | None = None,
    seen: SeenPaths | None = None,
    created: datetime | None = None,
) -> Reports:
    """Read an output once, and write its manifest and report beside it.

    Parameters
    ----------
    policy
        By which it was made.
    output
        The file or folder that a run wrote whole.
    summary
        What the run told.
    claims
        What its stage claims, see `claims_of`; None where there was none.
    seen
        Places of the input, so that the report can name those that were dropped.
    created
        The time that is written; by default now.

    Returns
    -------
    Reports
        The manifest ``OUT.manifest.json``, which leaves with OUT, and the report
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
    writes. Both depend on the output, the policy and the summary alone, but for the time.
    """
    if not summary.complete:
        raise ReleaseError(
            "There is no manifest of an output that isn't whole.", hint="Let the run go on first."
        )
    where = Path(output)
    risk = RiskCounts.of(policy)
    made = created or datetime.now(UTC)
    manifest = EventsManifest(
        created=made.strftime("%Y-%m-%dT%H:%M:%SZ"),
        software=_software(),
        policy_sha256=policy.sha256,
        release=policy.release,
        files=tuple(_read(path, risk) for path in _files(where)),
        is_folder=where.is_dir(),
        fields=released_fields(policy),
        counts=_counts(summary),
        failures=summary.failures,
        claims=claims,
        risk=risk.counted(),
    )
    told = json.dumps(manifest.to_dict(), indent=2, ensure_ascii=True, allow_nan=False) + "\n"
    page = render_events_report(manifest, policy=policy, summary=summary, seen=seen)
    reports = Reports(
        manifest=manifest,
        manifest_path=manifest_path(where),
        report_path=where.with_name(where.name + REPORT_SUFFIX),
    )
    with atomic_file(reports.manifest_path, overwrite=True) as file:
        file.write(told.encode())
    with atomic_file(reports.report_path, overwrite=True) as file:
        os.fchmod(file.fileno(), 0o600)  # it names places of the input, and stays
        file.write(page.encode())
    return reports


def manifest_path(output: Path) -> Path:
    """Return where the manifest of an output lies."""
    return output.with_name(output.name + MANIFEST_SUFFIX)


def _software() -> dict[str, str]:
    return {"halfmask": version("halfmask")}


def _counts(summary: RunSummary) -> dict[str, Any]:
    return {
        "lines": summary.lines,
        "events": summary.events,
        "passed": summary.passed,
        "held": summary.held,
        "bad": dict(summary.bad),
        "clock_went_back": summary.clock_went_back,
        "stage": dict(summary.stage),
    }


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


def _read(path: Path, risk: RiskCounts) -> OutputFile:
    """Read a file once for its hash, and once for its lines."""
    digest, size = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
                size += len(piece)
        lines = 0
        for chunk in open_source(path).chunks(None, threading.Event()):
            lines += chunk.lines
            if not risk.full:
                risk.look(chunk.data)
    except (OSError, DataError):
        raise ReleaseError("The output can't be read again.") from None
    return OutputFile(name=path.name, sha256=digest.hexdigest(), n_bytes=size, lines=lines)
