"""Files about an output: a manifest that is released with it, and a report that stays.

Start with `write_reports`.
"""

from __future__ import annotations

from halfmask.events.report._dry_run import DryRun, RuleCounts, dry_run_events
from halfmask.events.report._fields import released_fields as released_fields
from halfmask.events.report._risk import ReleasedRisk
from halfmask.events.report._seen import DroppedPath
from halfmask.events.report._seen import SeenPaths as SeenPaths
from halfmask.events.report._writing import (
    Reporting,
    Reports,
    guarantees_of,
    strict_gate,
    write_reports,
)
from halfmask.events.report._writing import claims_of as claims_of

# Public names are in `__all__`; the others are for other rooms.
__all__ = [
    "DroppedPath",
    "DryRun",
    "ReleasedRisk",
    "Reporting",
    "Reports",
    "RuleCounts",
    "dry_run_events",
    "guarantees_of",
    "strict_gate",
    "write_reports",
]
