"""What a model answers of whom, how likely each is a member, and what is measured of that."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import DataError
from halfmask._validation import number_between
from halfmask.assess.attacks._answers import ModelQueries
from halfmask.assess.attacks._arms import Certain, SuccessCount, balanced, share_bounds
from halfmask.assess.attacks._attack import EVERYONE, Outcome
from halfmask.assess.attacks._rows import with_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from halfmask.assess._arrays import Bools, Floats, Ints
    from halfmask.assess.attacks._targets import ModelTarget


ORIGINAL = "original rows"
TRAINED = "trained rows"

#: Fewer can't be split into a known half and a judged half.
MIN_PEOPLE = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class View:
    """A target's answers about all people, members first and then non-members."""

    rows: str
    probabilities: Floats
    truth: Ints
    member: Bools
    known: Bools
    group: Ints | None

    def only(self, who: Bools) -> View:
        """Return the view of some of the people."""
        return with_rows(self, who)


def views(target: ModelTarget, *, random_state: int) -> tuple[View, ...]:
    """Ask the model about everyone: by original rows and, where they differ, by trained rows.

    Non-members have only original rows. Both views know the same half.
    """
    counts = target.n_members, target.n_non_members
    if min(counts) < MIN_PEOPLE:
        raise DataError(
            f"Membership inference needs at least {MIN_PEOPLE} members and as many non-members. "
            f"Got {counts[0]} and {counts[1]}."
        )
    queries = ModelQueries.of(target)
    asked = [(ORIGINAL, target.members)]
    if target.trained_rows is not None:
        asked.append((TRAINED, target.trained_rows))
    others = queries.answers(target.model, target.non_members, counts[0], who="The model")
    member = np.arange(sum(counts)) < counts[0]
    known = _half_of_each(counts, random_state)
    return tuple(
        View(
            rows=name,
            probabilities=np.concatenate(
                [queries.answers(target.model, rows, 0, who="The model"), others]
            ),
            truth=queries.truth,
            member=member,
            known=known,
            group=None if target.groups is None else np.asarray(target.groups[1], dtype=np.int64),
        )
        for name, rows in asked
    )


def _half_of_each(counts: tuple[int, int], random_state: int) -> Bools:
    """Return the known people: a random half of the members and of the non-members."""
    rng = np.random.default_rng((random_state, 1))
    return np.concatenate([rng.permutation(n) < n // 2 for n in counts])


#: Below this a probability counts as this, where its logarithm is taken.
LEAST = 1e-6


def of_truth(probabilities: Floats, truth: Ints) -> Floats:
    """Return the probability of each row's true label."""
    found: Floats = np.take_along_axis(probabilities, truth[:, None], axis=1)[:, 0].clip(0.0, 1.0)
    return found


def features(probabilities: NDArray[np.floating[Any]], truth: Ints) -> Floats:
    """Return the attack model's inputs: f(x), the one-hot label, the label's probability and loss.

    The first two are the paper's figure 6; the others are functions of them that a small network
    would have to learn first.
    """
    right = of_truth(np.asarray(probabilities, dtype=np.float64), truth)
    one_hot = np.eye(probabilities.shape[1])[truth]
    loss = -np.log(right.clip(LEAST))
    return np.column_stack([probabilities, one_hot, right, loss])


@dataclass(frozen=True, slots=True)
class Area:
    """The probability that a member scores higher than a non-member (a tie counts half).

    Notes
    -----
    The variance is that of DeLong, DeLong and Clarke-Pearson, "Comparing the areas under two or
    more correlated receiver operating characteristic curves" (Biometrics 1988), by ranks, held
    between the highest that any distribution allows, A(1 - A)/min(m, n) (van Dantzig 1951), and a
    third of it. It gives an effective number of trials, and that the bounds of Clopper and Pearson,
    as Korn and Graubard (Survey Methodology 1998) do for a share; unlike A ± z·s they aren't empty
    for an area of 1.

    Examples
    --------
    >>> scores = np.array([0.9, 0.8, 0.3, 0.1])
    >>> Area.of(scores, np.array([True, True, False, False])).value
    1.0
    """

    value: float
    effective: float
    trials: int

    @classmethod
    def of(cls, scores: Floats, member: Bools) -> Area:
        """Measure scores, higher for likelier members; a half without members or non-members."""
        from scipy.stats import rankdata  # noqa: PLC0415 # scipy loads late

        high, low = scores[member], scores[~member]
        least = min(len(high), len(low))
        if not least:
            return cls(0.5, 0.0, 0)
        ranks = rankdata(np.concatenate([high, low]))
        beaten = (ranks[: len(high)] - rankdata(high)) / len(low)
        lost = (ranks[len(high) :] - rankdata(low)) / len(high)
        value = float(beaten.mean())
        variance = beaten.var() / len(high) + lost.var() / len(low)
        spread = value * (1 - value)
        effective = spread / variance if variance > 0 else (least if spread == 0 else np.inf)
        return cls(value, float(np.clip(effective, least, 3 * least)), least)

    def bounds(self, error: float) -> tuple[float, float]:
        """Return the area's lower and upper bound, each wrong with at most this probability."""
        number_between(0, 0.5, owner="an arm's bounds", low_open=True, error=error)
        if not self.trials:
            return 0.0, 1.0
        right = self.value * self.effective
        return share_bounds(right, self.effective - right, error)


#: The false positive rates at which true positives are counted, each with the scale of its excess:
#: at a tolerance of 0.03 at most 0.02 are caught at 1 %, and 0.005 at 0.1 %.
RATES = {0.01: 1 / 3, 0.001: 2 / 15}

#: The name under which the worst subgroup is reported; its number stands in the details.
WORST = "worst group"

#: With fewer members or non-members, a rate near 0.5 is too uncertain.
NEEDED = 100

NO_DETAILS: Mapping[str, float] = {}
#: A subgroup with fewer members or non-members in either half isn't looked at.
MIN_GROUP = 25


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MembershipScores:
    """Scores of an attack for everyone in a view."""

    values: Floats
    choosing: Bools
    judged: Bools
    ranked: Bools
    threshold: float | None = None
    ranks: bool = True
    details: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def unlearned(cls, values: Floats, view: View, **details: float) -> MembershipScores:
        """Return scores of an attack that isn't trained: only the threshold is chosen."""
        everyone = np.ones(len(values), dtype=bool)
        return cls(
            values=values, choosing=view.known, judged=~view.known, ranked=everyone, details=details
        )


def best_threshold(values: Floats, member: Bools) -> float:
    """Return the threshold (at or above: member) with the highest balanced accuracy.

    Examples
    --------
    >>> best_threshold(np.array([0.1, 0.4, 0.6, 0.9]), np.array([False, False, True, True]))
    0.6
    """
    order = np.argsort(-values, kind="stable")
    ordered, of_member = values[order], member[order]
    caught = np.cumsum(of_member) / max(1, member.sum())
    blamed = np.cumsum(~of_member) / max(1, (~member).sum())
    last = np.append(ordered[1:] != ordered[:-1], True)  # a threshold can't part equal scores
    gain = np.where(last, caught - blamed, -np.inf)
    return float(ordered[int(np.argmax(gain))])


def caught_at(
    values: Floats, member: Bools, rate: float, *, random_state: int
) -> tuple[SuccessCount, SuccessCount]:
    """Return how many members are caught at a false positive rate, and the control.

    The threshold is the k-th highest score of the n non-members, k = rate·(n + 1) rounded down, and
    caught is who scores higher, equal scores in random order. No member's score takes part in
    choosing it, and a person who isn't a member is caught with probability k/(n + 1), at most the
    rate (conformal prediction: Vovk, Gammerman and Shafer 2005). Which rate *this* threshold has is
    Beta(k, n + 1 - k), whose quantiles are the bounds of Clopper and Pearson for k of n:
    that is the control, so that a difference knows how uncertain its threshold is.
    """
    order = np.random.default_rng((random_state, 2)).random(len(values))
    low = ~member
    n_low = int(low.sum())
    k = math.floor(rate * (n_low + 1) + 1e-9)
    if not k:
        return SuccessCount(0, int(member.sum())), SuccessCount(0, n_low)
    place = np.lexsort((order[low], values[low]))[-k]
    score, tie = values[low][place], order[low][place]
    above = (values > score) | ((values == score) & (order > tie))
    return SuccessCount(int(above[member].sum()), int(member.sum())), SuccessCount(k, n_low)


def measured(
    attack: str,
    view: View,
    scores: MembershipScores,
    *,
    random_state: int,
    reference: tuple[View, MembershipScores] | None = None,
) -> tuple[Outcome, ...]:
    """Return the outcomes of a view: for everyone, and for the worst subgroup by original rows.

    `reference` is the same attack on a model of other people: its success is the baseline. By
    trained rows it can be high without any leak of the model, since the protection changed members'
    rows and not the others'.

    The control of balanced accuracy and area is 0.5, a random guess. Non-members who pretend to be
    members would give the same with more noise: they come from the same population. A difference
    between members and non-members before training counts as the attack's success.
    """
    halves = scores.judged, scores.choosing, scores.ranked
    found = _over_guessing(attack, view, scores, halves)
    if scores.ranks:
        found += [_rate(attack, view, scores, rate, random_state) for rate in RATES]
    if reference is not None:
        without = measured(attack, *reference, random_state=random_state)
        found = [
            replace(outcome, baseline=other.success, of_one_model=True)
            for outcome, other in zip(found, without, strict=True)
        ]
    if view.rows != ORIGINAL:
        suffix = f", {view.rows}"
        found = [
            replace(o, control_measure=o.measure.removesuffix(suffix) + f", {ORIGINAL}")
            for o in found
        ]
    return (*found, *_worst_group(attack, view, scores))


def _over_guessing(
    attack: str,
    view: View,
    scores: MembershipScores,
    halves: tuple[Bools, Bools, Bools],
    group: str = EVERYONE,
    more: Mapping[str, float] = NO_DETAILS,
) -> list[Outcome]:
    """Return balanced accuracy and, of what ranks, the area: of who is judged, and who is ranked.

    The threshold is chosen on others. Precision assumes as many members as non-members.
    """
    who, choosing, ranked = halves
    threshold = scores.threshold
    if threshold is None:
        threshold = best_threshold(scores.values[choosing], view.member[choosing])
    called = scores.values >= threshold
    members, others = who & view.member, who & ~view.member
    right = SuccessCount(int(called[members].sum()), int(members.sum()))
    cleared = SuccessCount(int((~called[others]).sum()), int(others.sum()))
    flagged = right.value + 1 - cleared.value
    details = {**scores.details, **more}
    accuracy = Outcome(
        attack=attack,
        measure=f"balanced accuracy, {view.rows}",
        success=balanced([right, cleared]),
        control=Certain(0.5),
        group=group,
        needed=NEEDED,
        needed_of="members and as many non-members",
        details={
            **details,
            "precision": right.value / flagged if flagged else 0.0,
            "recall": right.value,
            "threshold": threshold,
        },
    )
    if not scores.ranks:
        return [accuracy]
    area = Area.of(scores.values[ranked], view.member[ranked])
    return [accuracy, replace(accuracy, measure=f"AUC, {view.rows}", success=area, details=details)]


def _rate(
    attack: str, view: View, scores: MembershipScores, rate: float, random_state: int
) -> Outcome:
    """Return the true positive rate at a false positive rate; 10/rate non-members are needed."""
    who = scores.ranked
    caught, control = caught_at(
        scores.values[who], view.member[who], rate, random_state=random_state
    )
    needed = round(10 / rate)
    return Outcome(
        attack=attack,
        measure=f"TPR at {100 * rate:g} % FPR, {view.rows}",
        success=caught,
        control=control,
        # Only non-members fix the threshold: with enough of them fewer members do.
        needed=needed if control.trials < needed else 0,
        needed_of="non-members",
        scale=RATES[rate],
        details={**scores.details, "non-members": control.trials},
    )


def _worst_group(attack: str, view: View, scores: MembershipScores) -> tuple[Outcome, ...]:
    """Choose on one half the subgroup that is most surely broken, and measure it on the other.

    The reported bounds need no correction for the choice, since it uses other people than the
    measurement. The subgroup is the one with the highest lower bound of its area, so that a small
    one doesn't win by chance. Its threshold is its own.
    """
    if view.group is None or view.rows != ORIGINAL:
        return ()
    judged = scores.judged & ~scores.choosing & ~view.known
    best: tuple[float, int] | None = None
    for number in np.unique(view.group[view.group >= 0]).tolist():
        chosen = scores.choosing & (view.group == number)
        whom = judged & (view.group == number)
        sizes = [
            (part & side).sum() for part in (chosen, whom) for side in (view.member, ~view.member)
        ]
        if min(sizes) < MIN_GROUP:
            continue
        low = Area.of(scores.values[chosen], view.member[chosen]).bounds(0.05)[0]
        best = max(best, (low, -number)) if best else (low, -number)
    if best is None:
        return ()
    chosen, whom = (half & (view.group == -best[1]) for half in (scores.choosing, judged))
    halves = whom, chosen, whom
    return tuple(_over_guessing(attack, view, scores, halves, WORST, {"group": float(-best[1])}))
