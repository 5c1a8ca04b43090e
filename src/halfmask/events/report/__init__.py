"""Files about an output: a manifest that is released with it, and a report that stays.

Start with `write_reports`.
"""

from __future__ import annotations

from halfmask.events.report._dry_run import DryRun, RuleCounts, dry_run_events
from halfmask.events.report._fields import released_fields
from halfmask.events.report._page import render_events_report
from halfmask.events.report._risk import ReleasedRisk
from halfmask.events.report._seen import DroppedPath, SeenPaths, Watched
from halfmask.events.report._writing import (
    Reporting,
    Reports,
    claims_of,
    guarantees_of,
    strict_gate,
    write_reports,
)

__all__ = [
    "DroppedPath",
    "DryRun",
    "ReleasedRisk",
    "Reporting",
    "Reports",
    "RuleCounts",
    "SeenPaths",
    "Watched",
    "claims_of",
    "dry_run_events",
    "guarantees_of",
    "released_fields",
    "render_events_report",
    "strict_gate",
    "write_reports",
]
