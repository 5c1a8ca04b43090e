"""Events: linkage of people in a released stream, and inference from repeated values.

Attack an :class:`~halfmask.assess.attacks.EventsTarget`:

- :class:`KnownEvents`: a person's trace, by a few of their events;
- :class:`TrajectoryUniqueness`: traces with a few points that no other trace has;
- :class:`IntervalFingerprint`: people whose times are shifted, by the time between;
- :class:`Averaging`: numbers under noise, by the mean of their repeats;
- :class:`JoinedReleases`: the same people in two releases.
"""

from __future__ import annotations

from halfmask.assess.attacks.events._averaging import Averaging
from halfmask.assess.attacks.events._known_events import KnownEvents
from halfmask.assess.attacks.events._trace_links import IntervalFingerprint, JoinedReleases
from halfmask.assess.attacks.events._uniqueness import TrajectoryUniqueness

__all__ = [
    "ATTACKS",
    "Averaging",
    "IntervalFingerprint",
    "JoinedReleases",
    "KnownEvents",
    "TrajectoryUniqueness",
]

#: The attacks on released events.
ATTACKS = (KnownEvents, TrajectoryUniqueness, IntervalFingerprint, Averaging, JoinedReleases)
