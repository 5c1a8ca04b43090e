"""The battery: every attack on what is protected and on what isn't."""

from __future__ import annotations

import importlib.metadata
import platform
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from halfmask._errors import HalfmaskError, ParameterError
from halfmask._progress import silent
from halfmask._validation import fraction, integer_at_least, number_between
from halfmask.assess.attacks._arms import SuccessCount
from halfmask.assess.attacks._finding import Finding
from halfmask.assess.attacks._inputs import as_number
from halfmask.assess.attacks._measures import affordable, only, wanted_measures, without_outcome
from halfmask.assess.attacks._outcome import Outcome
from halfmask.assess.attacks._registry import ATTACKS, named
from halfmask.assess.attacks._report import AttackReport
from halfmask.assess.attacks._several import several

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halfmask._progress import Progress
    from halfmask.assess.attacks._attack import Attack
    from halfmask.assess.attacks._encoding_target import EncodingTarget
    from halfmask.assess.attacks._events_target import EventsTarget
    from halfmask.assess.attacks._hashing_target import HashingTarget
    from halfmask.assess.attacks._targets import ModelTarget, TableTarget
    from halfmask.assess.attacks._trainer_target import TrainerTarget

    Target: TypeAlias = (
        ModelTarget | TableTarget | EncodingTarget | HashingTarget | TrainerTarget | EventsTarget
    )

__all__ = ["attack"]

LIBRARIES = ("halfmask", "numpy", "scipy", "scikit-learn", "polars")


def attack(  # noqa: PLR0913 # keyword-only, each with a default
    target: Target,
    *,
    unprotected: Target | None = None,
    attacks: Sequence[Attack | str] | None = None,
    measures: Sequence[str] | None = None,
    tolerance: float = 0.03,
    least_power: float = 0.05,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Progress = silent,
) -> AttackReport:
    """Attack what halfmask makes, and say what follows.

    Parameters
    ----------
    target
        What is protected: a model, a released table, an encoding, hashed rows, a trainer, events.
    unprotected
        The same without protection: a model of the raw rows, the raw table. Each attack is run on
        it too, and proves nothing where it doesn't succeed there.
    attacks
        Attacks or their names; ``None``: all that apply to the target.
    measures
        Words of the names of the measures that are wanted, such as ``["accuracy", "AUC"]``, small
        or large letters alike. ``None``: all for which there are trials enough; the others are
        listed in ``too_few``. ``resisted`` is about these alone, so choose them before you see a
        report.
    tolerance
        The excess over control and baseline, in [0, 1], up to which an attack counts as resisted;
        scaled down where a measure is of few, such as true positives at 0.1 % false ones.
    least_power
        The excess, in [0, 1], that an attack must reach without protection; at least `tolerance`,
        or what is unprotected could count as resisting too.
    confidence
        The probability, in (0.5, 1), with which each upper bound holds, and so that a report which
        is resisted has no excess above the tolerance. Lower bounds are twenty times surer. Bounds
        don't depend on which other attacks run.
    seed
        What the attacks draw from; the same seed gives the same report.
    progress
        Called with the name of each attack and the share that is done.

    Returns
    -------
    AttackReport

    Raises
    ------
    ParameterError
        If `target` is none, `attacks` is no list of attacks or empty, no attack has a name that is
        given, one doesn't attack this kind of target or lacks what it needs (only if it was asked
        for), `measures` are no list of words, the unprotected target is of another kind, or
        `least_power` is below `tolerance`.

    Notes
    -----
    **Guarantees.** A finding is ``resisted`` only by an upper bound, with power and trials enough,
    ``broken`` only by a lower bound, and else ``not shown``. An attack that fails to run is
    INVALID, never a risk of 0. The confidence is about this target and which people were drawn;
    only bounds of single counts are exact.

    **Edge cases.** With `attacks` left out those that lack something are listed as skipped. An
    attack that has none of the `measures` is listed as left out; one that fails has none at all,
    and stays INVALID. So is one of the `measures` that no attack has. A measure is only listed in
    ``too_few`` if the attack has another one for the same people.

    Examples
    --------
    A tree that learns twenty thousand random labels by rote, and one that hardly can:

    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from halfmask.assess.attacks import ModelTarget
    >>> rng = np.random.default_rng(0)
    >>> rows, labels = rng.normal(size=(20_000, 2)), rng.integers(0, 2, 20_000)
    >>> def trained(tree):
    ...     return ModelTarget(
    ...         model=tree.fit(rows[:10_000], labels[:10_000]),
    ...         members=rows[:10_000],
    ...         member_labels=labels[:10_000],
    ...         non_members=rows[10_000:],
    ...         non_member_labels=labels[10_000:],
    ...     )
    >>> rote = trained(DecisionTreeClassifier(random_state=0))
    >>> coarse = trained(DecisionTreeClassifier(min_samples_leaf=2_000))
    >>> attack(coarse, unprotected=rote, attacks=["membership/gap"])
    AttackReport(1 resisted, 0 broken, 0 not shown, 0 INVALID, 0 skipped)
    >>> attack(rote, unprotected=rote, attacks=["membership/gap"]).worst.verdict
    'broken'

    ``examples/anonymized_model`` shows the whole way on people.
    """
    tolerance, least_power, confidence = map(as_number, (tolerance, least_power, confidence))
    _check(tolerance, least_power, confidence)
    integer_at_least(0, owner="attack", seed=seed)
    seed = int(seed)  # numpy's can't go into JSON
    if unprotected is not None and type(unprotected) is not type(target):
        raise ParameterError("The unprotected target must be of the kind of the target.")
    words = wanted_measures(measures)
    chosen, skipped = _chosen(target, attacks)
    measured: list[_Measured] = []
    for place, each in enumerate(chosen):
        progress(each.name, place / len(chosen))
        power, failure = _run(each, unprotected, seed)
        outcomes, failed = _run(each, target, seed)
        measured.append(_Measured(each.name, outcomes, power, failed, failure))
    progress("done", 1.0)
    judged, left_out = (measured, ()) if words is None else _wanted(measured, words)
    findings = [f for each in judged for f in each.findings(tolerance, least_power, 1 - confidence)]
    kept, too_few = (findings, []) if words is not None else affordable(findings)
    return AttackReport(
        findings=tuple(kept),
        skipped=tuple(skipped),
        tolerance=tolerance,
        least_power=least_power,
        confidence=confidence,
        seed=seed,
        measures=words,
        left_out=left_out,
        too_few=tuple((finding.name, finding.why_not_shown) for finding in too_few),
        versions=(
            ("python", platform.python_version()),
            *((name, importlib.metadata.version(name)) for name in LIBRARIES),
        ),
    )


class _Measured(NamedTuple):
    """What an attack measured on both targets, and why it failed on either."""

    name: str
    outcomes: tuple[Outcome, ...]
    power: tuple[Outcome, ...]
    failure: str
    power_failure: str

    def findings(self, tolerance: float, least_power: float, error: float) -> Iterator[Finding]:
        """Put each outcome beside its power."""
        by_key = {(power.measure, power.group): power for power in self.power}
        for outcome in self.outcomes or (_nothing(self.name),):
            yield Finding(
                outcome=outcome,
                power=by_key.get((outcome.measure, outcome.group))
                or by_key.get((outcome.power_measure, outcome.group)),
                tolerance=tolerance,
                least_power=least_power,
                error=error,
                failure=self.failure,
                power_failure=self.power_failure,
            )


def _wanted(
    measured: list[_Measured], words: tuple[str, ...]
) -> tuple[list[_Measured], tuple[str, ...]]:
    """Return what is judged by the measures that are asked for, and the attacks that have none.

    What has power keeps all measures: one may show its power by another. A word that is in no
    measure's name is judged, too, as INVALID: who misspells one must not be told `resisted`.
    """
    judged: list[_Measured] = []
    left_out: list[str] = []
    for each in measured:
        kept = each._replace(outcomes=only(each.outcomes, words))
        if kept.outcomes or not each.outcomes:  # what failed has none, and stays INVALID
            judged.append(kept)
        else:
            left_out.append(each.name)
    there = [outcome for each in measured for outcome in each.outcomes]
    for word in without_outcome(there, words):
        nothing = _nothing("no attack", measure=word)
        why = "is measured by no attack that was run"
        judged.append(_Measured(nothing.attack, (nothing,), (), why, ""))
    return judged, tuple(left_out)


def _check(tolerance: float, least_power: float, confidence: float) -> None:
    fraction(owner="attack", tolerance=tolerance, least_power=least_power)
    number_between(0.5, 1, owner="attack", low_open=True, high_open=True, confidence=confidence)
    if least_power < tolerance:
        raise ParameterError(
            "The 'least_power' parameter of attack must be at least its 'tolerance'. "
            f"Got {least_power!r} and {tolerance!r}.",
            hint="An attack whose success counts as resisted proves nothing of what is protected.",
        )


def _chosen(
    target: Target, attacks: Sequence[Attack | str] | None
) -> tuple[list[Attack], list[tuple[str, str]]]:
    """Return the attacks to run, and those of the default battery that lack something."""
    if attacks is None:
        whole = [make() for make in ATTACKS.values()]
        fitting = [each for each in whole if isinstance(target, each.attacks)]
        if not fitting:
            raise _no_target(target)
        lacks = [each.lacks(target) for each in fitting]
        chosen = [each for each, why in zip(fitting, lacks, strict=True) if not why]
        skipped = [(each.name, why) for each, why in zip(fitting, lacks, strict=True) if why]
        return chosen, skipped
    # Twice the same one is two findings, and no error.
    listed = several(attacks, parameter="attacks", owner="attack", of="attacks or their names")
    chosen = [named(each) for each in listed]
    for each in chosen:
        if not isinstance(target, each.attacks):
            if not any(isinstance(target, made.attacks) for made in ATTACKS.values()):
                raise _no_target(target)
            raise ParameterError(
                f"Attack {each.name!r} is for a {each.attacks.__name__}. "
                f"Got a {type(target).__name__}."
            )
        why = each.lacks(target)
        if why:
            raise ParameterError(f"Attack {each.name!r} can't be run: the target lacks {why}.")
    return chosen, []


def _no_target(given: object) -> ParameterError:
    return ParameterError(
        "The 'target' parameter of attack must be a target. "
        f"Got a value of type {type(given).__name__}.",
        hint="Wrap a model in ModelTarget(...), a released table in TableTarget(...), an encoding "
        "in EncodingTarget(...), events in EventsTarget(...).",
    )


def _run(each: Attack, target: Target | None, seed: int) -> tuple[tuple[Outcome, ...], str]:
    """Run an attack; an error of ours makes it INVALID, any other is a defect and propagates."""
    if target is None or each.lacks(target):
        return (), ""
    try:
        outcomes = each.run(target, seed=seed)
    except HalfmaskError as error:
        return (), f"failed: {error.what.rstrip('.')}"
    if len({(outcome.measure, outcome.group) for outcome in outcomes}) < len(outcomes):
        raise ParameterError(
            f"Attack {each.name!r} measured the same thing of the same group twice."
        )
    return outcomes, ""


def _nothing(name: str, *, measure: str = "none") -> Outcome:
    """Return what stands for an attack that measured nothing, or a measure that no attack has."""
    return Outcome(
        attack=name,
        measure=measure,
        success=SuccessCount(0, 0),
        control=SuccessCount(0, 0),
        needed=1,
    )
