"""Recount what is claimed of lines of events, from the lines and the claims alone.

Nothing here is imported from the rest of halfmask but its errors and what reads manifests, and
nothing is known but what a recipient has: the output, and what is claimed of it.
"""

from __future__ import annotations

from halfmask.verifier.events._release import verify_release
from halfmask.verifier.events._release_verdict import OutputCheck, ReleaseVerdict
from halfmask.verifier.events._verdict import Check, EventsVerdict
from halfmask.verifier.events._verifying import verify_events

__all__ = [
    "Check",
    "EventsVerdict",
    "OutputCheck",
    "ReleaseVerdict",
    "verify_events",
    "verify_release",
]
