"""Joined releases: the same people in two releases, linked by common values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import ParameterError
from halfmask.assess.attacks._attack import DeclaredAttack
from halfmask.assess.attacks._events_target import EventsTarget
from halfmask.assess.attacks.events._codes import merged_codes
from halfmask.assess.attacks.events._links import doubles, link_outcome
from halfmask.assess.attacks.events._times import seconds
from halfmask.assess.attacks.events._trace_owners import TraceOwners, ownerships

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from scipy.sparse import csr_matrix

    from halfmask.assess.attacks._outcome import Outcome

_MAX_AT_ONCE = 4_000_000
_TIE = 1e-9
#: Times are also compared by steps of seconds, where two releases write them differently.
_STEPS = {"times by the hour": 3600.0, "times by the day": 86_400.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedReleases(DeclaredAttack, name="events/joined-releases", target=EventsTarget):
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

    def run(self, target: EventsTarget, *, random_state: int) -> tuple[Outcome, ...]:
        """Link by each view, and report the worst."""
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
        best: tuple[float, NDArray[np.float64], NDArray[np.float64]] | None = None
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
        return (
            link_outcome(
                self.name,
                "right links between releases",
                released=other,
                right=best[1],
                by_chance=best[2],
                needed=100,
                needed_of="people",
                details=rates,
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Words:
    """Traces of two releases as unit vectors of weighted words, one word a value."""

    one: csr_matrix
    other: csr_matrix

    @classmethod
    def of(
        cls,
        one: TraceOwners,
        other: TraceOwners,
        mine: NDArray[np.int64],
        theirs: NDArray[np.int64],
    ) -> Words:
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

    def right(
        self, traces: NDArray[np.int64], other: TraceOwners, people: NDArray[np.int64]
    ) -> NDArray[np.float64]:
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


def _views(target: EventsTarget) -> Iterator[tuple[str, NDArray[np.int64], NDArray[np.int64]]]:
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
