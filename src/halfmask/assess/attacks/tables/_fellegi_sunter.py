"""Probabilistic record linkage: columns that agree, with log-likelihood weights."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from halfmask.assess.attacks.tables._links import (
    ALL,
    LOOK_ALIKE,
    QUASI_IDENTIFIERS,
    Comparison,
    Linkable,
    LinkageAttack,
    known_people,
    most_similar,
    right_of_block,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from halfmask.assess._arrays import Floats, Ints
    from halfmask.assess.attacks._attack import Found
    from halfmask.assess.attacks._targets import TableTarget
    from halfmask.assess.attacks.tables._matching import Matched

#: Patterns of more columns don't fit in memory; the most distinctive ones are taken.
MAX_COLUMNS = 16
#: How many standard deviations apart numbers agree: only the same, or nearly the same.
NEARNESSES = {"the same": 0.0, "near": 0.1}
START = 0.9
ROUNDS = 200
#: Weights are fitted on the pairs of so many people.
MAX_FITTED = 400
CONVERGED = 1e-7
#: No agreement is certain, nor impossible.
LEAST = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbabilisticLinkage(LinkageAttack, name="tables/record-linkage-probabilistic"):
    """Link each person to the row whose agreements are most likely a match.

    Parameters
    ----------
    n_attacks
        How many people are attacked at most.

    Notes
    -----
    Fellegi and Sunter, "A theory for record linkage" (JASA 1969): a column's agreement adds
    ``log(m/u)``, its disagreement ``log((1 - m)/(1 - u))``, with m and u the probabilities that it
    agrees in pairs of one person and of two. One pair in the number of rows is of one person, and u
    is what is left for the others of how often all pairs agree. m is found by expectation
    maximization over agreement patterns after Jaro (JASA 1989), at least a half and as much as all
    pairs agree: left alone it finds pairs of a wide class instead of pairs of one person. The worst
    is reported of numbers that agree if they are the same (or inside the range) and if they are
    within a tenth of a standard deviation, each with the fitted m and with an m of 0.9 throughout.
    """

    n_attacks: int = field(default=2000, metadata={"ge": 1})

    def _measure(self, target: TableTarget, random_state: int) -> Found:
        linkable = Linkable.of(target, self.n_attacks, np.random.default_rng(random_state))
        known = {QUASI_IDENTIFIERS: linkable.quasi_identifiers, ALL: linkable.columns}
        outcomes = []
        for measure, columns in known.items():
            if not columns:
                continue
            telling = sorted(columns, key=lambda column: -column.average_gap)[:MAX_COLUMNS]
            weighings = _weighings(linkable, telling)
            rights = _rights(linkable, telling, weighings)
            way, best = max(rights.items(), key=lambda each: float(each[1].mean()))
            details = {each: float(right.mean()) for each, right in rights.items()}
            details |= _look_alike(linkable, telling, target, {way: weighings[way]})
            outcomes.append(self._links(measure, best, target, details))
        return tuple(outcomes)


class _Weighing(NamedTuple):
    """One way to weigh agreements: nearness of numbers, and the lack of weight by pattern."""

    nearness: float
    penalty: Floats


def _look_alike(
    linkable: Linkable, columns: list[Matched], target: TableTarget, weighing: dict[str, _Weighing]
) -> dict[str, float]:
    """Return how often another person's values hit the row of the attacked."""
    alike = most_similar(Comparison(columns=tuple(columns)), linkable, target)
    if alike is None:
        return {}
    others = replace(linkable, known=known_people(tuple(columns), alike))
    (right,) = _rights(others, columns, weighing).values()
    return {LOOK_ALIKE: float(right.mean())}


def agreement_weights(
    counts: Ints, n_columns: int, *, prevalence: float, rounds: int = ROUNDS
) -> Floats:
    """Return the weight of each agreement pattern: the logarithm of how much likelier it is."""
    every = (np.arange(1 << n_columns)[:, None] >> np.arange(n_columns)) & 1
    # Of all patterns most are never seen, and add nothing to any sum.
    seen = np.flatnonzero(counts)
    agree, share = every[seen], counts[seen] / counts.sum()
    overall = share @ agree
    least = np.clip(overall, 0.5, 1 - LEAST)
    m = np.maximum(least, START)
    u = _others(overall, m, prevalence)
    for _ in range(rounds):
        same = share / (1 + (1 - prevalence) / prevalence * np.exp(-_weights(agree, m, u)))
        fitted = np.clip((same @ agree) / max(same.sum(), 1e-300), least, 1 - LEAST)
        moved = float(np.abs(fitted - m).max())
        m = fitted
        u = _others(overall, m, prevalence)
        if moved < CONVERGED:
            break
    return _weights(every, m, u)


def _others(overall: Floats, m: Floats, prevalence: float) -> Floats:
    """Return how often columns agree in pairs of two people, from how often they do in all."""
    return np.clip((overall - prevalence * m) / (1 - prevalence), LEAST, 1 - LEAST)


def _weights(agree: Ints, m: Floats, u: Floats) -> Floats:
    nothing = np.log1p(-m) - np.log1p(-u)
    return np.asarray(agree @ (np.log(m) - np.log(u) - nothing) + nothing.sum())


def _weighings(linkable: Linkable, columns: list[Matched]) -> dict[str, _Weighing]:
    """Return the ways to weigh agreements, fitted to the pairs of some of the people."""
    n, prevalence = len(columns), 1 / (len(linkable.owners) + 1)
    few = replace(linkable, known={k: v[:MAX_FITTED] for k, v in linkable.known.items()})
    ordered = any(column.is_number for column in columns)
    found = {}
    for called, nearness in NEARNESSES.items() if ordered else [("the same", 0.0)]:
        counts = np.zeros(1 << n, dtype=np.int64)
        for _, patterns in _patterns(few, columns, nearness):
            counts += np.bincount(patterns.ravel(), minlength=1 << n)
        for way, rounds in (("fitted", ROUNDS), ("not fitted", 0)):
            weights = agreement_weights(counts, n, prevalence=prevalence, rounds=rounds)
            penalty = weights.max() - weights
            found[f"{called}, {way}"] = _Weighing(nearness, penalty)
    return found


def _rights(
    linkable: Linkable, columns: list[Matched], weighings: dict[str, _Weighing]
) -> dict[str, Floats]:
    """Return for each way to weigh the probability of the right link of each person."""
    people, owners = linkable.people, linkable.owners
    rights = {way: np.zeros(len(people)) for way in weighings}
    for nearness in sorted({each.nearness for each in weighings.values()}):
        for some, patterns in _patterns(linkable, columns, nearness):
            for way, each in weighings.items():
                if each.nearness == nearness:
                    penalties = each.penalty[patterns]
                    rights[way][some] = right_of_block(penalties, people[some], owners)
    return rights


def _patterns(
    linkable: Linkable, columns: list[Matched], nearness: float
) -> Iterator[tuple[slice, NDArray[np.int32]]]:
    """Yield which people, and which columns agree with each released row, a bit for each."""
    alone = [
        Comparison(columns=(column,), silence="nothing").blocks(linkable.known)
        for column in columns
    ]
    near = [nearness * column.deviation / column.spread for column in columns]
    for together in zip(*alone, strict=True):
        some, first = together[0]
        patterns = np.zeros(first.shape, dtype=np.int32)
        for bit, (_, distances) in enumerate(together):
            patterns |= (distances <= near[bit]).astype(np.int32) << bit
        yield some, patterns
