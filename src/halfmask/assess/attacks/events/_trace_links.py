"""Links of traces: to people by the time between events, and to a second release by values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import ParameterError
from halfmask.assess.attacks.events._linking_setup import LinkingSetup
from halfmask.assess.attacks.events._traces import (
    TraceAttack,
    TraceOwners,
    blocks_of,
    doubles,
    laid_out,
    merged_codes,
    ownerships,
    seconds,
    share,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scipy.sparse import csr_matrix

    from halfmask.assess._arrays import Floats, Ints
    from halfmask.assess.attacks._attack import Found
    from halfmask.assess.attacks._events_target import EventsTarget


#: Times are numbers of floating point: gaps that differ by less are the same.
_ROUNDING = 1e-3
#: Up to this quantile of its errors a released gap still fits.
_MOST = 0.99


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalFingerprint(TraceAttack, name="events/intervals"):
    """Link people to traces by the time between consecutive events alone.

    Parameters
    ----------
    intervals
        How many consecutive intervals are known of each person.
    n_attacks
        How many people are attacked at most, of the release and of the control each.

    Notes
    -----
    When all dates of a person are shifted by one secret number of days, differences stay: of 5,000
    people with six dates in two years two intervals were unique for 91 % (measured here). The
    attacker is granted the error of a released interval that a public policy states, such as a
    grid. With m traces that fit, a link is right with probability 1/m. Intervals are those of
    consecutive events of one released trace; the control is intervals of people outside the
    release, each compared with the trace of a random person.
    """

    intervals: tuple[int, ...] = field(default=(2, 3, 7), metadata={"of": "numbers", "ge": 1})
    n_attacks: int = field(default=1000, metadata={"ge": 1})

    def missing_inputs(self, target: EventsTarget) -> str:
        """Return what is missing: released times, or a pseudonym that joins them."""
        if not (target.time and target.released_name(target.time)):
            return "released times"
        return "" if target.pseudonym else "a pseudonym that joins events"

    def _measure(self, target: EventsTarget, random_state: int) -> Found:
        rng = np.random.default_rng(random_state)
        setup = LinkingSetup.of(target, rng)
        left, others = setup.released.owned, setup.controls
        truth = seconds(target.original[target.time])[target.owner_of_row]
        released_gaps = Gaps.of(left.trace, left.event, setup.released.time)
        known = Gaps.of(left.trace, left.event, truth, released_time=setup.released.time)
        controls = None
        if others is not None:
            controls = Gaps.of(others.entity, others.event, others.time)
        outcomes = []
        for n in self.intervals:
            runs, whose = known.runs(n, self.n_attacks, rng)
            hits = released_gaps.matches(runs, known.low, known.high)
            held, double = hits, np.roll(whose, 1)
            details = {"people that fit something": share(hits.counts > 0)}
            if controls is not None:
                others_runs, _ = controls.runs(n, self.n_attacks, rng)
                held = released_gaps.matches(others_runs, known.low, known.high)
                double = doubles(whose, len(others_runs), rng)
                details["controls that fit one trace"] = share(held.counts == 1)
            outcomes.append(
                self._links(
                    f"right links by {n} interval{'s' * (n > 1)}",
                    left,
                    hits.right(whose),
                    held.right(double),
                    details if len(whose) else {},
                )
            )
        return tuple(outcomes)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hits:
    """Which traces fit which targets."""

    of: Ints
    trace: Ints
    counts: Ints

    def right(self, truth: Ints) -> Floats:
        """Return how probably the link of each target hits a trace, ties broken at random."""
        hit = np.zeros(len(self.counts), dtype=np.bool_)
        hit[self.of[self.trace == truth[self.of]]] = True
        return np.where(hit, 1.0 / np.maximum(self.counts, 1), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Gaps:
    """The time from each event of a person to the next one; NaN after the last."""

    who: Ints
    gap: Floats
    low: float
    high: float

    @classmethod
    def of(
        cls, who: Ints, event: Ints, time: Floats, *, released_time: Floats | None = None
    ) -> Gaps:
        """Take each event of each person once, in the order of time."""
        kept = np.flatnonzero((who >= 0) & np.isfinite(time))
        order = kept[np.lexsort((event[kept], time[kept], who[kept]))]
        same = (who[order][1:] == who[order][:-1]) & (event[order][1:] == event[order][:-1])
        order = order[np.concatenate([[True], ~same])] if len(order) else order
        low = high = 0.0
        if released_time is not None:
            off = _steps(who[order], released_time[order]) - _steps(who[order], time[order])
            off = off[np.isfinite(off)]
            low, high = np.quantile(off, [1 - _MOST, _MOST]) if len(off) else (0.0, 0.0)
        return cls(
            who=who[order], gap=_steps(who[order], time[order]), low=float(low), high=float(high)
        )

    def runs(self, n: int, most: int, rng: np.random.Generator) -> tuple[Floats, Ints]:
        """Return n consecutive gaps of people who have so many, drawn at random, and who."""
        starts = np.flatnonzero(self.who[n:] == self.who[: max(0, len(self.who) - n)])
        starts = rng.permutation(starts)
        _, first = np.unique(self.who[starts], return_index=True)
        starts = starts[rng.permutation(first)][:most]
        return self.gap[starts[:, None] + np.arange(n)], self.who[starts]

    def matches(self, runs: Floats, low: float, high: float) -> Hits:
        """Return which people have a run of gaps somewhere."""
        order = np.argsort(self.gap, kind="stable")  # NaN is last
        gaps = self.gap[order]
        least, most = runs + (low - _ROUNDING), runs + (high + _ROUNDING)
        first = np.searchsorted(gaps, least)
        sizes = np.searchsorted(gaps, most, side="right") - first
        anchor = np.argmin(sizes, axis=1) if len(runs) else np.zeros(0, np.int64)
        row = np.arange(len(runs))
        pairs = [np.zeros(0, dtype=np.int64)]
        n_people = int(self.who.max(initial=0)) + 1
        for some in blocks_of(sizes[row, anchor]):
            of, at = laid_out(first[row, anchor][some], sizes[row, anchor][some])
            begin = order[at] - anchor[some][of]
            of, begin = of[begin >= 0], begin[begin >= 0]
            for k in range(runs.shape[1]):
                place = np.minimum(begin + k, len(self.gap) - 1)
                fits = (self.gap[place] >= least[some][of, k]) & (
                    self.gap[place] <= most[some][of, k]
                )
                of, begin = of[fits], begin[fits]
            pairs.append(np.unique((of + some.start) * n_people + self.who[begin]))
        pair = np.concatenate(pairs)
        return Hits(
            of=pair // n_people,
            trace=pair % n_people,
            counts=np.bincount(pair // n_people, minlength=len(runs)),
        )


def _steps(who: Ints, time: Floats) -> Floats:
    """Return the time to the next event of the same person; NaN after the last."""
    steps = np.full(len(time), np.nan)
    if len(time) > 1:
        steps[:-1] = np.where(who[1:] == who[:-1], np.diff(time), np.nan)
    return steps


_MAX_AT_ONCE = 4_000_000
_TIE = 1e-9
#: Times are also compared by steps of seconds, where two releases write them differently.
_STEPS = {"times by the hour": 3600.0, "times by the day": 86_400.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedReleases(TraceAttack, name="events/joined-releases"):
    """Link traces of a release to traces of a later one that has the same people.

    Parameters
    ----------
    n_attacks
        How many people are attacked at most, of those in both releases, and of those who are in
        the first alone.

    Notes
    -----
    Two traces are as alike as the cosine of what they have in common, each value weighted by the
    logarithm of how few traces have it (Salton and Buckley 1988); the most alike is the link, and
    with m alike it is right with probability 1/m. Compared are: pseudonyms; each item column and
    all of them; times, exactly, by the hour and by the day; times with items; and whole rows. The
    worst is reported; all are among the details. Profiles of items link people across time, as
    Tournier and de Montjoye, "Expanding the attack surface: robust profiling attacks threaten the
    privacy of sparse behavioral data" (Science Advances 2022), did with shopping.

    Control: links of people who are in the first release alone, each compared with a random person;
    without such people, the links themselves, compared with another person.
    """

    n_attacks: int = field(default=1000, metadata={"ge": 1})

    def missing_inputs(self, target: EventsTarget) -> str:
        """Return what is missing: a second release, or anything in both."""
        if target.later is None:
            return "a later release"
        names = [target.time, *target.items, *target.numbers]
        return "" if target.pseudonym or any(map(target.released_name, names)) else "columns"

    def _measure(self, target: EventsTarget, random_state: int) -> Found:
        if target.later is None:
            raise ParameterError("JoinedReleases needs a later release.")
        rng = np.random.default_rng(random_state)
        one, other = ownerships(target, rng)
        trace, entity = np.divmod(one.owned, max(1, one.n_entities))
        kept = rng.permutation(len(trace))
        both = np.isin(entity, other.owned % max(1, other.n_entities))
        some = kept[both[kept]][: self.n_attacks]
        far = kept[~both[kept]][: self.n_attacks]
        people, controls = entity[some], entity[far]
        truth = doubles(people, len(far), rng) if len(far) else np.roll(people, 1)
        rates: dict[str, float] = {}
        best: tuple[float, Floats, Floats] | None = None
        for view, mine, theirs in _views(target):
            words = Words.of(one, other, mine, theirs)
            right = words.right(trace[some], other, people)
            if len(controls):
                chance = words.right(trace[far], other, truth)
            else:
                chance = words.right(trace[some], other, truth)
            rates[view] = float(right.mean()) if len(right) else 0.0
            if best is None or rates[view] > best[0]:
                best = rates[view], right, chance
        if best is None:
            return ()
        return self._links("right links between releases", other, best[1], best[2], rates)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Words:
    """Traces of two releases as unit vectors of weighted words, one word a value."""

    one: csr_matrix
    other: csr_matrix

    @classmethod
    def of(cls, one: TraceOwners, other: TraceOwners, mine: Ints, theirs: Ints) -> Words:
        """Weigh the codes of both releases' rows."""
        from scipy import sparse  # noqa: PLC0415 # scipy loads late

        n_words = int(max(mine.max(initial=0), theirs.max(initial=0))) + 1
        made = []
        for release, code in ((one, mine), (other, theirs)):
            key = np.unique(release.trace * n_words + code)
            made.append(
                sparse.csr_matrix(
                    (np.ones(len(key)), (key // n_words, key % n_words)), (release.n, n_words)
                )
            )
        having = np.asarray(made[0].sum(axis=0) + made[1].sum(axis=0)).ravel()
        weight = np.log(max(one.n + other.n, 1) / np.maximum(having, 1.0))
        both = []
        for words in made:
            weighted = words @ sparse.diags(weight)
            length = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).ravel())
            scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
            both.append((sparse.diags(scale) @ weighted).tocsr())
        return cls(one=both[0], other=both[1])

    def right(self, traces: Ints, other: TraceOwners, people: Ints) -> Floats:
        """Return how probably the link of each trace is to a trace of that person."""
        found = np.zeros(len(traces))
        step = max(1, _MAX_AT_ONCE // max(1, other.n))
        transposed = self.other.T.tocsc()
        owner_trace, owner = np.divmod(other.owned, max(1, other.n_entities))
        order = np.argsort(owner, kind="stable")
        first = np.searchsorted(owner[order], people)
        last = np.searchsorted(owner[order], people, side="right")
        for start in range(0, len(traces), step):
            alike = (self.one[traces[start : start + step]] @ transposed).toarray()
            top = alike.max(axis=1, keepdims=True)
            tied = (alike >= top - _TIE) & (top > 0)
            n_tied = np.maximum(tied.sum(axis=1), 1)
            for row in range(len(alike)):
                owners = owner_trace[order[first[start + row] : last[start + row]]]
                weight = (tied[row, owners] / np.maximum(other.crowd[owners], 1)).sum()
                found[start + row] = weight / n_tied[row]
        return found


def _views(target: EventsTarget) -> Iterator[tuple[str, Ints, Ints]]:
    """Return by what rows are compared, and the codes of both releases' rows."""
    one, other = (frame for frame, _ in target.releases)
    items = [target.released_name(name) for name in target.items if target.released_name(name)]
    numbers = [target.released_name(n) for n in target.numbers if target.released_name(n)]
    time = target.released_name(target.time) if target.time else ""
    named: list[tuple[str, list[str]]] = []
    named += [("pseudonyms", [target.pseudonym])] if target.pseudonym else []
    named += [(f"items of {name}", [name]) for name in items]
    named += [("all items", items)] if len(items) > 1 else []
    named += [("times", [time])] if time else []
    named += [("times and items", [time, *items])] if time and items else []
    named += [("rows", [*([time] if time else []), *items, *numbers])] if numbers else []
    for view, columns in named:
        mine, theirs = merged_codes([(one, columns), (other, columns)])
        yield view, mine, theirs
    for view, step in _STEPS.items() if time else ():
        steps_of_both = [np.floor(seconds(frame[time]) / step) for frame in (one, other)]
        codes = np.unique(np.concatenate(steps_of_both), return_inverse=True)[1].ravel()
        yield view, codes[: one.height], codes[one.height :]
