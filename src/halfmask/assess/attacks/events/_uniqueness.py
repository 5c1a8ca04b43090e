"""Uniqueness of trajectories: the traces that a few of their points identify."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks._arms import Certain, SuccessCount
from halfmask.assess.attacks._attack import DeclaredAttack, Found
from halfmask.assess.attacks._events_target import EventsTarget
from halfmask.assess.attacks.events._traces import (
    blocks_of,
    laid_out,
    merged_codes,
    ownerships,
    seconds,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halfmask.assess._arrays import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class PointUnicity(DeclaredAttack):
    """What attacks have in common that count those whom a few points single out."""

    points: tuple[int, ...] = field(default=(1, 2, 4), metadata={"of": "numbers", "ge": 1})

    def _unique(self, what: str, curves: Mapping[str, Sequence[Bools]]) -> Found:
        """Return who is unique by each number of points: by the first curve; details by name."""
        first = next(iter(curves.values()))
        return tuple(
            self._make_outcome(
                f"{what} unique by {each} point{'s' * (each > 1)}",
                SuccessCount(int(first[place].sum()), len(first[place])),
                needed=(100, what),
                baseline=Certain(0.0),
                details={
                    name: float(curve[place].mean())
                    for name, curve in curves.items()
                    if name and len(first[place])
                },
            )
            for place, each in enumerate(self.points)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryUniqueness(PointUnicity, name="events/uniqueness", target=EventsTarget):
    """Count the traces that some random points single out.

    Parameters
    ----------
    points
        How many points are drawn of each trace; of a shorter one, all.
    resolutions
        Further steps of seconds, above 0, to which times are coarsened for the details.
    n_traces
        How many traces with an owner are drawn at most.

    Notes
    -----
    Unicity of de Montjoye et al., "Unique in the crowd: the privacy bounds of human mobility"
    (Scientific Reports 2013). A point is all items of a row *as they were released* and its
    released time: an attacker is granted what tokens stand for, so that this bounds what linking by
    points can reach. Numbers aren't part of a point. The details have the same at coarser times:
    how much resolution would have to go. Without a release nothing is unique: the control is 0, and
    the baseline is a point of a random person.
    """

    resolutions: tuple[float, ...] = field(
        default=(60.0, 3600.0, 86_400.0),
        metadata={"of": "numbers", "or_none": True, "gt": 0, "le": 1e12},
    )
    n_traces: int = field(default=2000, metadata={"ge": 1})

    def missing_inputs(self, target: EventsTarget) -> str:
        """Return what is missing: released times or items."""
        names = [target.time, *target.items] if target.time else [*target.items]
        if any(target.released_name(name) for name in names):
            return ""
        return "released times or items"

    def _measure(self, target: EventsTarget, random_state: int) -> Found:
        rng = np.random.default_rng(random_state)
        left = target.released
        owned = ownerships(target, rng)[0]
        trace, n = owned.trace, owned.n
        items = [target.released_name(it) for it in target.items if target.released_name(it)]
        item = merged_codes([(left, items)])[0]
        timed = target.time and target.released_name(target.time)
        time = seconds(left[timed]) if timed else np.zeros(left.height)
        chosen = rng.permutation(np.flatnonzero(owned.crowd))[: self.n_traces]
        curves: dict[str, list[Bools]] = {}
        for step in (0.0, *self.resolutions) if timed else (0.0,):
            kept = TracePoints.of(trace, n, item, np.floor(time / step) if step else time)
            curves[f"at steps of {step:g} s" if step else ""] = [
                kept.unique(chosen, each, rng) for each in self.points
            ]
        return self._unique("traces", curves)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TracePoints:
    """Which traces have which points."""

    point: Ints
    starts: Ints
    trace: Ints
    first: Ints
    keys: Ints
    n_points: int

    @classmethod
    def of(cls, trace: Ints, n: int, item: Ints, time: Floats) -> TracePoints:
        """Give numbers to points: alike where items and times are."""
        when = np.unique(time, return_inverse=True)[1].ravel()
        merged = item * (int(when.max(initial=0)) + 1) + when
        distinct, point = np.unique(merged, return_inverse=True)
        n_points = max(1, len(distinct))
        keys = np.unique(trace * n_points + point.ravel())
        by_point = np.sort(keys % n_points * max(1, n) + keys // n_points)
        return cls(
            point=keys % n_points,
            starts=np.searchsorted(keys // n_points, np.arange(n + 1)),
            trace=by_point % max(1, n),
            first=np.searchsorted(by_point // max(1, n), np.arange(n_points + 1)),
            keys=keys,
            n_points=n_points,
        )

    def unique(self, chosen: Ints, n_drawn: int, rng: np.random.Generator) -> Bools:
        """Return whether the drawn points of each chosen trace are in no other trace."""
        counts = self.starts[chosen + 1] - self.starts[chosen]
        which, place = laid_out(self.starts[chosen], counts)
        order = np.lexsort((rng.random(len(which)), which))
        begin = np.cumsum(counts) - counts
        # A trace with fewer points names its first one again, which asks nothing new.
        turn = np.arange(n_drawn) % np.maximum(counts, 1)[:, None]
        drawn = self.point[place[order[begin[:, None] + turn]]]
        crowd = self.first[drawn + 1] - self.first[drawn]
        rarest = np.argmin(crowd, axis=1)
        rare = drawn[np.arange(len(drawn)), rarest]
        sizes = crowd[np.arange(len(drawn)), rarest]
        alone = np.zeros(len(chosen), dtype=np.bool_)
        for some in blocks_of(sizes):
            of, at = laid_out(self.first[rare[some]], sizes[some])
            other = self.trace[at]
            for k in range(n_drawn):
                key = other * self.n_points + drawn[some][of, k]
                found = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
                kept = self.keys[found] == key
                of, other = of[kept], other[kept]
            alone[some] = np.bincount(of, minlength=len(sizes[some])) == 1
        return alone
