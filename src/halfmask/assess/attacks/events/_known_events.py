"""Known events: facts that are drawn of people, and traces that are scored by them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np

from halfmask.assess.attacks.events._linking_setup import LinkingSetup
from halfmask.assess.attacks.events._traces import TraceAttack, doubles, share

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess._arrays import Bools, Floats, Ints
    from halfmask.assess.attacks._attack import Found, Outcome
    from halfmask.assess.attacks._events_target import EventsTarget
    from halfmask.assess.attacks.events._linking_setup import KnownPeople


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownFacts:
    """KnownFacts about some targets, one target after the other."""

    entity: Ints
    offsets: Ints
    item: Ints
    time: Floats
    numbers: Floats
    weight: Floats
    needed: Ints


def drawn_facts(
    known: KnownPeople,
    *,
    n_events: int,
    n_wrong: int,
    rows: int | None,
    consecutive: bool,
    time_noise: float,
    most: int,
    rng: np.random.Generator,
) -> KnownFacts:
    """Draw events of people who have enough of them, and rows of these events."""
    order = rng.permutation(len(known.event))
    order = order[np.argsort(known.event[order], kind="stable")]  # rows of an event, at random
    events, first, counts = np.unique(known.event[order], return_index=True, return_counts=True)
    entity = known.entity[order[first]]
    picked, people = _picked(entity, known.time[order[first]], n_events, consecutive, most, rng)
    claimed = picked.copy()
    if n_wrong and len(people):
        claimed[:, :n_wrong] = rng.integers(0, len(events), (len(people), n_wrong))
    taken = counts if rows is None else np.minimum(counts, rows)
    flat = claimed.ravel()
    n_rows = taken[flat]
    inner = np.arange(n_rows.sum()) - np.repeat(np.cumsum(n_rows) - n_rows, n_rows)
    row = order[np.repeat(first[flat], n_rows) + inner]
    off = rng.uniform(-time_noise, time_noise, len(flat)) if time_noise else np.zeros(len(flat))
    per_target = n_rows.reshape(claimed.shape)
    time = known.time[row] + np.repeat(off, n_rows)
    return KnownFacts(
        entity=people,
        offsets=np.concatenate([[0], np.cumsum(per_target.sum(axis=1))]).astype(np.int64),
        item=np.where(np.isnan(time), -1, known.item[row]),
        time=time,
        numbers=np.ascontiguousarray(known.numbers[row]),
        weight=1.0 / np.repeat(n_rows, n_rows),
        needed=per_target[:, n_wrong:].sum(axis=1).astype(np.int64),
    )


def _picked(
    entity: Ints,
    time: Floats,
    n_events: int,
    consecutive: bool,  # noqa: FBT001 # private
    most: int,
    rng: np.random.Generator,
) -> tuple[Ints, Ints]:
    """Return the events that are known of each person drawn, and who these are."""
    key = time if consecutive else rng.random(len(entity))
    order = np.lexsort((key, entity))
    people, start, counts = np.unique(entity[order], return_index=True, return_counts=True)
    enough = np.flatnonzero((people >= 0) & (counts >= n_events))
    enough = rng.permutation(enough)[:most]
    spare = counts[enough] - n_events
    begin = start[enough] + (rng.integers(0, spare + 1) if consecutive else 0)
    return order[begin[:, None] + np.arange(n_events)], people[enough]


#: An agreement in time falls off within a second at least: what is exact is written in fractions.
_MIN_DECAY = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TargetScores:
    """Scores of the scoreboard for each target."""

    top: Ints
    lead: Floats
    n_fit: Ints
    sole: Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Board:
    """Released rows by item and time."""

    setup: LinkingSetup
    trace: NDArray[np.int32]
    time: Floats
    numbers: Floats
    item_of: Ints
    starts: Ints

    @classmethod
    def of(cls, setup: LinkingSetup) -> Self:
        """Sort the released rows."""
        left = setup.released
        time = np.where(np.isnan(left.time), np.inf, left.time)
        order = np.lexsort((*left.numbers.T, left.owned.trace, time, left.item))
        order = order[_first_of_its_kind(left.owned.trace, time, left.item, left.numbers, order)]
        items, starts = np.unique(left.item[order], return_index=True)
        return cls(
            setup=setup,
            trace=left.owned.trace[order].astype(np.int32),
            time=time[order],
            numbers=np.ascontiguousarray(left.numbers[order]),
            item_of=items,
            starts=np.append(starts, len(order)).astype(np.int64),
        )

    def scores(self, facts: KnownFacts, *, time_noise: float) -> TargetScores:
        """Score all traces by the facts about each target."""
        from halfmask.kernels.attacks.scoreboard import scoreboard  # noqa: PLC0415 # numba loads late

        setup, n, m = self.setup, self.setup.released.owned.n, len(facts.entity)
        at = np.minimum(np.searchsorted(self.item_of, facts.item), max(len(self.item_of) - 1, 0))
        item = np.where(self.item_of[at] == facts.item, at, -1) if len(self.item_of) else at - 1
        found = TargetScores(
            top=np.full(m, -1), lead=np.zeros(m), n_fit=np.zeros(m, np.int64), sole=np.full(m, -1)
        )
        scoreboard(
            self.trace, self.time, self.numbers, self.starts,
            facts.offsets, item.astype(np.int64), facts.time, facts.numbers, facts.weight,
            facts.needed, setup.timed, setup.low - time_noise, setup.high + time_noise,
            max(time_noise, _MIN_DECAY), setup.scales, setup.reaches,
            np.full(n, -1.0), np.zeros(n, np.bool_), np.zeros(n, np.int32),
            np.zeros(n), np.zeros(n, np.int64), np.zeros(n, np.int32),
            found.top, found.lead, found.n_fit, found.sole,
        )  # fmt: skip
        return found


def _first_of_its_kind(
    trace: Ints, time: Floats, item: Ints, numbers: Floats, order: Ints
) -> Bools:
    """Return which sorted rows differ from the one before: coarse rows repeat."""
    cells = (trace, time, item, *numbers.T)
    differs = np.ones(len(order), dtype=np.bool_)
    if len(order):
        differs[1:] = np.any([it[order][1:] != it[order][:-1] for it in cells], axis=0)
    return differs


#: One hundredth of the stream: two weeks of four years, as in the paper.
_SHARE_OF_SPAN = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownEvents(TraceAttack, name="events/known-events"):
    """Find a person's trace by 2, 4 or 8 of their events.

    Parameters
    ----------
    known
        How many events are known of each person.
    rows
        How many rows of each of them, drawn at random; ``None``: all, and how many there are, which
        is compared where most events kept theirs.
    consecutive
        Whether known events follow each other in time.
    time_noise
        For noisy knowledge, up to how many seconds a known time is wrong; ``None``: a hundredth of
        the time between the first and the last hundredth of the events.
    wrong
        For noisy knowledge, the share of known events that belong to another person, in [0, 1],
        rounded down: of 8 events 2.
    eccentricity
        By how many standard deviations of all scores the best trace must lead to be claimed.
    fewest
        So many claims are made at least, those that are surest, where too few reach the
        eccentricity: an attacker who is never sure guesses, and no bound rests on a handful.
    n_attacks
        How many people are attacked at most, of the release and of the control each.

    Notes
    -----
    Scoreboard-RH of Narayanan and Shmatikov, "Robust de-anonymization of large sparse datasets"
    (S&P 2008), section 4: a trace's score adds up how well its best row agrees with each fact,
    weighted by 1/log(1 + traces that agree by half). Rows are compared within the same item; their
    agreement is the mean over time and numbers of 1 within the errors that a public policy states,
    and falls exponentially beyond. Knowledge is exact, and noisy. For each two measures:

    - *right among claims*: a trace is claimed that leads by at least `eccentricity`;
    - *unique matches*: exactly one trace fits all that is truly known, and it is the right one.

    Control: the same claims about people outside the release, each compared with the trace of a
    random person; without control rows, the claims themselves, compared with another person's
    trace. For k-anonymity use a tolerance of 1/k.
    """

    known: tuple[int, ...] = field(default=(2, 4, 8), metadata={"of": "numbers", "ge": 1})
    rows: int | None = field(default=1, metadata={"ge": 1})
    consecutive: bool = False
    time_noise: float | None = field(default=None, metadata={"ge": 0, "le": 1e12})
    wrong: float = field(default=0.25, metadata={"ge": 0, "le": 1})
    eccentricity: float = field(default=1.5, metadata={"ge": 0, "le": 1e9})
    fewest: int = field(default=300, metadata={"ge": 1})
    n_attacks: int = field(default=1000, metadata={"ge": 1})

    def _measure(self, target: EventsTarget, random_state: int) -> Found:
        rng = np.random.default_rng(random_state)
        setup = LinkingSetup.of(target, rng, sizes=self.rows is None)
        board = Board.of(setup)
        noise = _span(setup) * _SHARE_OF_SPAN if self.time_noise is None else self.time_noise
        outcomes: list[Outcome] = []
        for n_events in self.known:
            for noisy in (False, True):
                off = noise if noisy and setup.timed else 0.0
                n_wrong = int(n_events * self.wrong) if noisy else 0
                outcomes += self._outcomes(setup, board, n_events, noisy, off, n_wrong, rng)
        return tuple(outcomes)

    def _outcomes(
        self,
        setup: LinkingSetup,
        board: Board,
        n_events: int,
        noisy: bool,  # noqa: FBT001 # private
        off: float,
        n_wrong: int,
        rng: np.random.Generator,
    ) -> list[Outcome]:
        """Return both measures for a number of known events."""

        def scored(known: KnownPeople) -> tuple[KnownFacts, TargetScores]:
            facts = drawn_facts(
                known, n_events=n_events, n_wrong=n_wrong, rows=self.rows,
                consecutive=self.consecutive, time_noise=off, most=self.n_attacks, rng=rng,
            )  # fmt: skip
            return facts, board.scores(facts, time_noise=off)

        facts, scores = scored(setup.people)
        others = scores
        details = self._details(scores, facts, setup)
        truth = doubles(facts.entity, len(facts.entity), rng)
        if setup.controls is not None:
            _, others = scored(setup.controls)
            truth = doubles(facts.entity, len(others.top), rng)
            details["controls claimed"] = share(others.lead >= self.eccentricity)
            details["controls matched"] = share(others.n_fit == 1)
        elif len(truth):
            truth = np.roll(facts.entity, 1)
        right = setup.released.owned.right
        knowledge = f"{n_events} events known{' roughly' if noisy else ''}"
        chosen, chance = self._claimed(scores), self._claimed(others)
        sole, other = np.where(scores.n_fit == 1, scores.sole, -1), others
        unique = np.where(other.n_fit == 1, other.sole, -1)
        owned = setup.released.owned
        return [
            self._links(
                f"right among claims, {knowledge}",
                owned,
                right(scores.top, facts.entity)[chosen],
                right(others.top, truth)[chance],
                details,
                of="claims",
            ),
            self._links(
                f"unique matches, {knowledge}",
                owned,
                right(sole, facts.entity),
                right(unique, truth),
                details,
            ),
        ]

    def _claimed(self, scores: TargetScores) -> Ints:
        """Return the targets whose trace is claimed: those that are sure, or the surest."""
        sure = np.flatnonzero(scores.lead >= self.eccentricity)
        if len(sure) >= self.fewest:
            return sure
        return np.argsort(-scores.lead, kind="stable")[: self.fewest]

    def _details(
        self, scores: TargetScores, facts: KnownFacts, setup: LinkingSetup
    ) -> dict[str, float]:
        right = setup.released.owned.right(scores.top, facts.entity)
        return {
            "claimed": share(scores.lead >= self.eccentricity),
            "best trace right": float(right.mean()) if len(right) else 0.0,
            "claimed and right": float((right * (scores.lead >= self.eccentricity)).mean())
            if len(right)
            else 0.0,
            "traces that fit, median": float(np.median(scores.n_fit)) if len(right) else 0.0,
            "traces": float(setup.released.owned.n),
        }


def _span(setup: LinkingSetup) -> float:
    time = setup.people.time[np.isfinite(setup.people.time)]
    if not len(time):
        return 0.0
    low, high = np.quantile(time, [0.01, 0.99])
    return float(high - low)
