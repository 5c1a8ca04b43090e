"""The battery: which attacks there are, each run on a target and on an unprotected one."""

from __future__ import annotations

import difflib
import importlib.metadata
import platform
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from halfmask._errors import HalfmaskError, ParameterError
from halfmask._foreign import need
from halfmask._progress import silent
from halfmask._validation import fraction, integer_at_least, number_between
from halfmask.assess.attacks import (
    attributes,
    classes,
    crosstabs,
    encodings,
    evasion,
    events,
    hashing,
    membership,
    places,
    poisoning,
    releases,
    structure,
    tables,
)
from halfmask.assess.attacks._arms import SuccessCount
from halfmask.assess.attacks._attack import Attack, Outcome
from halfmask.assess.attacks._finding import Finding
from halfmask.assess.attacks._inputs import as_listed, as_number, several
from halfmask.assess.attacks._report import (
    AttackReport,
    affordable,
    only,
    wanted_measures,
    without_outcome,
)
from halfmask.assess.attacks._targets import ModelTarget

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halfmask._progress import Progress
    from halfmask.assess.attacks._crosstab_target import CrosstabTarget
    from halfmask.assess.attacks._encoding_target import EncodingTarget
    from halfmask.assess.attacks._events_target import EventsTarget
    from halfmask.assess.attacks._hashing_target import HashingTarget
    from halfmask.assess.attacks._places_target import PlacesTarget
    from halfmask.assess.attacks._targets import TableTarget
    from halfmask.assess.attacks._trainer_target import TrainerTarget

    Target: TypeAlias = (
        ModelTarget
        | TableTarget
        | EncodingTarget
        | HashingTarget
        | TrainerTarget
        | EventsTarget
        | CrosstabTarget
        | PlacesTarget
    )


#: Every attack by its name, in the order in which a battery runs them.
ATTACKS: dict[str, type[Attack]] = {
    each.name: each
    for family in (
        *(membership, attributes, structure, tables, classes, releases),
        *(encodings, hashing, events, crosstabs, places, evasion, poisoning),
    )
    for each in family.ATTACKS
}


def find_attack(attack: Attack | str) -> Attack:
    """Return an attack with its usual settings by its name, or the attack itself."""
    if isinstance(attack, type) and isinstance(attack, Attack):  # a class has all that it makes has
        raise ParameterError(
            f"{attack.__name__} is a class of attacks, not one of them.",
            hint=f"Write {attack.__name__}(), with its settings in the brackets.",
        )
    if isinstance(attack, Attack):
        return attack
    if not isinstance(attack, str):
        raise ParameterError(
            "Each of the attacks must be an attack or the name of one. "
            f"Got a value of type {type(attack).__name__}.",
            hint="Write Gap() or 'membership/gap'.",
        )
    if attack not in ATTACKS:
        close = difflib.get_close_matches(attack, ATTACKS, n=1)
        raise ParameterError(
            f"There is no attack {attack!r}.",
            hint=f"Did you mean {close[0]!r}?" if close else f"There are {sorted(ATTACKS)}.",
        )
    return ATTACKS[attack]()


LIBRARIES = ("halfmask", "numpy", "scipy", "scikit-learn", "polars")


def attack(  # noqa: PLR0913 # keyword-only, each with a default
    target: Target,
    *,
    unprotected: Target | None = None,
    attacks: Sequence[Attack | str] | None = None,
    families: Sequence[str] | None = None,
    measures: Sequence[str] | None = None,
    tolerance: float = 0.03,
    min_control_effect: float = 0.05,
    confidence: float = 0.95,
    random_state: int = 0,
    progress: Progress = silent,
) -> AttackReport:
    """Attack a protected target, and report which attacks it resists.

    Parameters
    ----------
    target
        The protected thing: a model, a released table, an encoding, hashed rows, a trainer, events,
        tables of counts, places.
    unprotected
        The target without protection, such as a model of the raw rows: the positive control. An
        attack that doesn't succeed on it proves nothing.
    attacks
        Attacks or their names; ``None``: all that apply to the target, except poisoning of a model,
        which trains many, and evasion of one without a `budget`.
    families
        Instead of `attacks`: the first words of their names, such as ``["evasion", "poisoning"]``.
    measures
        Words in the names of the measures to report, such as ``["accuracy", "AUC"]``; ``None``: all
        with enough trials. ``resisted`` covers only these, so choose them before you see a report.
    tolerance
        The excess over control and baseline, in [0, 1], up to which an attack counts as resisted.
        It is smaller for measures of few cases, such as true positives at 0.1 % false positives.
    min_control_effect
        The excess, in [0, 1], that an attack must reach on `unprotected` (positive-control
        effect); at least `tolerance`.
    confidence
        The probability, in (0.5, 1), with which each upper bound holds. The error probability
        of a lower bound is a twentieth of an upper bound's. Bounds don't depend on how many attacks
        are run.
    random_state
        The seed of the attacks; the same seed gives the same report.
    progress
        Called with the name of each attack and the fraction that is done.

    Returns
    -------
    AttackReport

    Raises
    ------
    ParameterError
        If an argument isn't as described above, a requested attack doesn't apply to the target or
        lacks an input, no attack of a family applies, `unprotected` is of another kind than
        `target`, or `min_control_effect` is below `tolerance`.

    See Also
    --------
    halfmask.verify : Counts what a release claims, rather than attacking it.
    AttackReport : What is returned.

    Notes
    -----
    **Guarantees.** A finding is ``resisted`` only by an upper bound, with a positive control and
    enough trials. It is ``broken`` only by a lower bound. Otherwise it is ``not shown``. Where a
    raw model leaks under `min_control_effect`, there is ``nothing to resist``. An attack that fails
    to run is INVALID, never a risk of 0. The confidence covers this target and the
    sample of people. Only bounds of single counts are exact.

    **Edge cases.** Without `attacks`, attacks with missing inputs are listed as skipped. An attack
    that has none of the `measures` is listed as left out. An attack that fails is INVALID. One of
    the `measures` that no attack has is INVALID, too. ``too_few`` lists a measure only if the
    attack has another measure for the same people.

    Examples
    --------
    A tree that memorizes ten thousand random labels, and one that can't:

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
    >>> overfitted = trained(DecisionTreeClassifier(random_state=0))
    >>> coarse = trained(DecisionTreeClassifier(min_samples_leaf=2_000))
    >>> attack(coarse, unprotected=overfitted, attacks=["membership/gap"])
    AttackReport(1 resisted, 0 broken, 0 not shown, 0 INVALID, 0 skipped)
    >>> attack(overfitted, unprotected=overfitted, attacks=["membership/gap"]).worst.verdict
    'broken'

    Report one measure alone, tolerate an excess of 0.1, and choose the seed:

    >>> report = attack(
    ...     coarse,
    ...     unprotected=overfitted,
    ...     attacks=["membership/gap"],
    ...     measures=["accuracy"],
    ...     tolerance=0.1,
    ...     min_control_effect=0.1,
    ...     random_state=1,
    ... )
    >>> [finding.verdict for finding in report.findings]
    ['resisted']

    ``examples/anonymized_model`` shows the whole way on people.
    """
    need("numba", "scipy", "sklearn", "threadpoolctl")
    tolerance, min_control_effect, confidence = map(
        as_number, (tolerance, min_control_effect, confidence)
    )
    _check(tolerance, min_control_effect, confidence)
    integer_at_least(0, owner="attack", random_state=random_state)
    random_state = int(random_state)  # numpy's can't go into JSON
    if unprotected is not None and type(unprotected) is not type(target):
        raise ParameterError("The unprotected target must be of the kind of the target.")
    words = wanted_measures(measures)
    chosen, skipped = _chosen(target, attacks, families)
    measured: list[_Measured] = []
    for place, each in enumerate(chosen):
        progress(each.name, place / len(chosen))
        controls, control_failure = _run(each, unprotected, random_state)
        outcomes, failure = controls, control_failure
        if target is not unprotected:
            outcomes, failure = _run(each, target, random_state)
        measured.append(_Measured(each.name, outcomes, controls, failure, control_failure))
    progress("done", 1.0)
    judged, left_out = (measured, ()) if words is None else _wanted(measured, words)
    limits = tolerance, min_control_effect, 1 - confidence
    other = isinstance(target, ModelTarget) and not _is_itself(target, unprotected)
    findings = [f for each in judged for f in each.findings(*limits, raw_may_resist=other)]
    kept, too_few = (findings, []) if words is not None else affordable(findings)
    return AttackReport(
        findings=tuple(kept),
        skipped=tuple(skipped),
        tolerance=tolerance,
        min_control_effect=min_control_effect,
        confidence=confidence,
        random_state=random_state,
        measures=words,
        left_out=left_out,
        too_few=tuple((finding.name, finding.why_not_shown) for finding in too_few),
        versions=(
            ("python", platform.python_version()),
            *((name, importlib.metadata.version(name)) for name in LIBRARIES),
        ),
    )


class _Measured(NamedTuple):
    """Outcomes of an attack on both targets, and why it failed on either."""

    name: str
    outcomes: tuple[Outcome, ...]
    controls: tuple[Outcome, ...]
    failure: str
    control_failure: str

    def findings(
        self, tolerance: float, min_control_effect: float, error: float, *, raw_may_resist: bool
    ) -> Iterator[Finding]:
        """Pair each outcome with its positive control."""
        by_key = {(control.measure, control.group): control for control in self.controls}
        for outcome in self.outcomes or (_nothing(self.name),):
            yield Finding(
                outcome=outcome,
                positive_control=by_key.get((outcome.measure, outcome.group))
                or by_key.get((outcome.control_measure, outcome.group)),
                tolerance=tolerance,
                min_control_effect=min_control_effect,
                error=error,
                failure=self.failure,
                control_failure=self.control_failure,
                raw_may_resist=raw_may_resist,
            )


def _is_itself(target: ModelTarget, unprotected: object) -> bool:
    """Return whether a model is its own positive control: then that it is good isn't shown."""
    return isinstance(unprotected, ModelTarget) and unprotected.model is target.model


def _wanted(
    measured: list[_Measured], words: tuple[str, ...]
) -> tuple[list[_Measured], tuple[str, ...]]:
    """Return the attacks with outcomes of the wanted measures, and the names of the others.

    Positive controls keep all measures: an outcome may name another one as its control. A word
    that no measure's name contains becomes INVALID, so a misspelled one never counts as resisted.
    """
    judged: list[_Measured] = []
    left_out: list[str] = []
    for each in measured:
        kept = each._replace(outcomes=only(each.outcomes, words))
        if kept.outcomes or not each.outcomes:  # a failed attack has none, and stays INVALID
            judged.append(kept)
        else:
            left_out.append(each.name)
    there = [outcome for each in measured for outcome in each.outcomes]
    for word in without_outcome(there, words):
        nothing = _nothing("no attack", measure=word)
        why = "is measured by no attack that was run"
        judged.append(_Measured(nothing.attack, (nothing,), (), why, ""))
    return judged, tuple(left_out)


def _check(tolerance: float, min_control_effect: float, confidence: float) -> None:
    fraction(owner="attack", tolerance=tolerance, min_control_effect=min_control_effect)
    number_between(0.5, 1, owner="attack", low_open=True, high_open=True, confidence=confidence)
    if min_control_effect < tolerance:
        raise ParameterError(
            "The 'min_control_effect' parameter of attack must be at least its 'tolerance'. "
            f"Got {min_control_effect!r} and {tolerance!r}.",
            hint="A smaller effect would count as resisted, so it can't be a positive control.",
        )


def _chosen(
    target: Target, attacks: Sequence[Attack | str] | None, families: Sequence[str] | None
) -> tuple[list[Attack], list[tuple[str, str]]]:
    """Return the attacks to run, and those of a family or the default that lack inputs."""
    if attacks is None:
        fitting = _of_families(target, families)
        missing = [each.missing_inputs(target) for each in fitting]
        chosen = [each for each, why in zip(fitting, missing, strict=True) if not why]
        skipped = [(each.name, why) for each, why in zip(fitting, missing, strict=True) if why]
        return chosen, skipped
    if families is not None:
        raise ParameterError(
            "Of the 'attacks' and 'families' parameters of attack only one may be given."
        )
    # The same attack twice gives two findings, not an error.
    listed = several(attacks, parameter="attacks", owner="attack", of="attacks or their names")
    chosen = [find_attack(each) for each in listed]
    for each in chosen:
        if not isinstance(target, each.attacks):
            if not any(isinstance(target, made.attacks) for made in ATTACKS.values()):
                raise _no_target(target)
            raise ParameterError(
                f"Attack {each.name!r} is for a {each.attacks.__name__}. "
                f"Got a {type(target).__name__}."
            )
        why = each.missing_inputs(target)
        if why:
            raise ParameterError(f"Attack {each.name!r} can't be run: the target lacks {why}.")
    return chosen, []


def _of_families(target: Target, families: Sequence[str] | None) -> list[Attack]:
    """Return all attacks of some families on a target; ``None``: of those run by default."""
    there: dict[str, list[Attack]] = {}
    for name, make in ATTACKS.items():
        if isinstance(target, make.attacks):
            there.setdefault(name.partition("/")[0], []).append(make())
    if not there:
        raise _no_target(target)
    wanted: tuple[str, ...] = tuple(there)
    if families is not None:
        wanted = as_listed(families, parameter="families", owner="attack", of="families")
        if not wanted or any(family not in there for family in wanted):
            raise ParameterError(
                f"The 'families' parameter of attack must be some of {list(there)}: these are the "
                f"families of attacks on a {type(target).__name__}."
            )
    elif isinstance(target, ModelTarget):
        asked_for = {"poisoning"} if target.budget is not None else {"poisoning", "evasion"}
        wanted = tuple(family for family in there if family not in asked_for)
    return [each for family in there if family in wanted for each in there[family]]


def _no_target(given: object) -> ParameterError:
    return ParameterError(
        "The 'target' parameter of attack must be a target. "
        f"Got a value of type {type(given).__name__}.",
        hint="Wrap a model in ModelTarget(...), a released table in TableTarget(...), an encoding "
        "in EncodingTarget(...), events in EventsTarget(...), tables of counts in "
        "CrosstabTarget(...), masked places in PlacesTarget(...).",
    )


def _run(each: Attack, target: Target | None, random_state: int) -> tuple[tuple[Outcome, ...], str]:
    """Run an attack; one of our errors makes it INVALID, any other propagates."""
    if target is None or each.missing_inputs(target):
        return (), ""
    try:
        outcomes = each.run(target, random_state=random_state)
    except HalfmaskError as error:
        return (), f"failed: {error.what.rstrip('.')}"
    if len({(outcome.measure, outcome.group) for outcome in outcomes}) < len(outcomes):
        raise ParameterError(
            f"Attack {each.name!r} measured the same thing of the same group twice."
        )
    return outcomes, ""


def _nothing(name: str, *, measure: str = "none") -> Outcome:
    """Return the outcome of an attack that measured nothing, or of an unknown measure."""
    return Outcome(
        attack=name,
        measure=measure,
        success=SuccessCount(0, 0),
        control=SuccessCount(0, 0),
        needed=1,
    )
