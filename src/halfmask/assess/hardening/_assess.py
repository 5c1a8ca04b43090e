"""assess_robustness: train an estimator plainly and with defences, and attack each model."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import Pipeline

from halfmask._errors import DataError, ParameterError
from halfmask._progress import Progress, silent
from halfmask._validation import integer_at_least, number_between
from halfmask.anonymize.given_rows import as_array
from halfmask.anonymize.settings import seeded
from halfmask.assess._risk import row_text
from halfmask.assess.attacks import ModelTarget, attack, poisoning
from halfmask.assess.attacks._inputs import check_columns
from halfmask.assess.attacks.evasion import KnownModel, LabelsOnly
from halfmask.assess.attacks.evasion._changed_rows import LAST_COSTS
from halfmask.assess.hardening._assessment import AssessedModel, RobustnessAssessment
from halfmask.assess.robustness import AttackerBudget, suspect_labels, train_hardened
from halfmask.assess.robustness._black_box import predictions
from halfmask.assess.robustness._budget import as_columns
from halfmask.assess.robustness._defences import fitted, losses_of
from halfmask.guarantees import KAnonymity
from halfmask.training import AnonymizedEstimator, PartitionedClassifier

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from halfmask.assess._arrays import Bools, Floats, Ints, Model, Rows, Values
    from halfmask.assess.attacks import Attack, AttackReport
    from halfmask.assess.attacks._targets import Train
    from halfmask.assess.robustness import CostToFlip

OWNER = "assess_robustness"
#: A column of groups has at most so many; every table has so many blocks of rows.
MOST_GROUPS, BLOCKS = 20, 10
#: With more classes each model of the attackers takes minutes, and few rows are of each.
MOST_CLASSES = 100
#: Models of partitions ask all of their voters: of a tenth of the rows, of a hundred at least, and
#: with a fifth of the search.
SLOWER, LEAST, EFFORT = 10, 100, 2
#: What the names of measures say: of evasion, and of poisoning.
MEASURES = ("rows that flip", "hostile rows")
#: So many suspicious rows are named.
NAMED = 10
#: Attacks see so many held-out rows: poisoning asks dozens of models about each of them.
MOST_ASKED = 3_000


def assess_robustness(  # noqa: PLR0913 # keyword-only, each with a default
    estimator: Model,
    rows: Rows,
    labels: Rows,
    *,
    budget: AttackerBudget,
    difference: float | None = None,
    shares: Sequence[float] = (0.01, 0.05, 0.1, 0.2),
    partitions: int | None = 101,
    hardened: bool = True,
    k: int | None = None,
    quasi_identifiers: Sequence[str] | None = None,
    held_out: float = 0.25,
    groups: str | None = None,
    attacked_rows: int = 1_000,
    random_state: int = 0,
    progress: Progress = silent,
) -> RobustnessAssessment:
    """Train an estimator plainly and with defences, and attack each model.

    Parameters
    ----------
    estimator
        A scikit-learn estimator with all preprocessing in its pipeline; it is cloned. It gets
        frames of polars.
    rows, labels
        A frame of any library, or an array, whose columns are called 0, 1, ...; and its labels.
    budget
        What an attacker may change of a row that is predicted.
    difference
        By how much a predicted number must change; regressors need it.
    shares
        The shares of hostile training rows that poisoning is tried with; none: it isn't.
    partitions
        How many models vote in the partitioned defence; ``None``: without it, as for regressors.
    hardened
        Whether a model is trained on changed rows, too.
    k, quasi_identifiers
        Also train on classes of so many people by these columns; ``None``: without it, and all.
    held_out
        The share of rows that no model is trained on.
    groups
        A column of groups, such as a sex, whose costs are compared.
    attacked_rows
        Costs are found of so many held-out rows at most. Poisoning asks twice as many, and 3,000
        at least.
    random_state
        The seed of everything.
    progress
        Called with the name of each step and the fraction of it that is done.

    Returns
    -------
    RobustnessAssessment

    Raises
    ------
    ParameterError
        If an argument isn't as described above.
    DataError
        If rows or labels are missing, or a model can't be trained.
    """
    _check_estimator(estimator, budget, difference)
    regresses = is_regressor(estimator)
    integer_at_least(0, owner=OWNER, random_state=random_state)
    integer_at_least(1, owner=OWNER, attacked_rows=attacked_rows)
    number_between(0, 1, owner=OWNER, low_open=True, high_open=True, held_out=held_out)
    for name, n in (("partitions", partitions), ("k", k)):
        integer_at_least(1, owner=OWNER, **({} if n is None else {name: n}))
    for share in shares:
        number_between(0, 0.5, owner=OWNER, low_open=True, shares=share)
    table, known = as_columns(rows), _labels_of(labels)
    train, test = _split(table, known, held_out, random_state, regresses=regresses)
    budget.for_attack(table[train])
    case = ModelTarget(
        model=None,
        members=table[train],
        member_labels=known[train],
        non_members=table[test],
        non_member_labels=known[test],
        budget=budget,
    )
    attacked = _drawn(case, table, groups, (train, test), (random_state, attacked_rows))
    parts = None if regresses else partitions
    learners = _learners(estimator, budget, parts, k, quasi_identifiers, hardened=hardened)
    evade = (KnownModel if budget.knows == "model" else LabelsOnly)(
        rows=attacked_rows, difference=difference if regresses else None
    )
    poisons = () if regresses else _poisons(shares)
    n_models = 2 + len(poisons) * len(shares) if poisons else 1
    counted = {name: _counted(it, progress, name, n_models) for name, it in learners.items()}
    models = tuple(_attacked(counted, case, attacked, (evade, *poisons), random_state))
    progress("suspicious rows", 0.0)
    doubts = () if regresses else suspect_labels(case.members, case.member_labels).rows(NAMED)
    relearn = _counted(learners["plain"], progress, "suspicious blocks", BLOCKS + 1)
    return RobustnessAssessment(
        rows=len(train),
        held_out_rows=len(test),
        scored_by="R²" if regresses else "accuracy",
        budget=budget,
        models=models,
        suspicious_rows=tuple(int(train[it]) for it in doubts),
        suspicious_blocks=_blocks(case, relearn, np.concatenate([train, test]), random_state),
    )


def _poisons(shares: Sequence[float]) -> tuple[Attack, ...]:
    """Return all attacks by hostile training rows, where shares of them are given."""
    # backdoors come first: their models answer for the others, too
    those = [it for it in reversed(poisoning.ATTACKS) if it.attacks is ModelTarget]
    return tuple(it(shares=tuple(shares)) for it in those if shares)  # type: ignore[call-arg] # theirs


def _check_estimator(estimator: Model, budget: object, difference: float | None) -> None:
    is_one = hasattr(estimator, "get_params") and not isinstance(estimator, type)
    if not (is_one and (is_classifier(estimator) or is_regressor(estimator))):
        raise ParameterError(
            f"The 'estimator' parameter of {OWNER} must be a classifier or a regressor. "
            f"Got a value of type {type(estimator).__name__}."
        )
    if not isinstance(budget, AttackerBudget):
        raise ParameterError(f"The 'budget' parameter of {OWNER} must be an AttackerBudget.")
    if is_regressor(estimator) and difference is None:
        raise ParameterError(
            f"A regressor needs the 'difference' parameter of {OWNER}.",
            hint="Give by how much a predicted number must change to count as flipped.",
        )


def _split(
    table: pl.DataFrame, labels: Values, held_out: float, random_state: int, *, regresses: bool
) -> tuple[Ints, Ints]:
    """Return the numbers of rows to train on, and of those that are held out."""
    order = np.random.default_rng(random_state).permutation(table.height)
    test, train = map(np.sort, np.split(order, [round(held_out * table.height)]))
    if labels.shape != order.shape or min(len(test), len(train)) <= BLOCKS:
        raise DataError(
            f"{OWNER} takes a label for each row, more than {BLOCKS} rows held out, and as many to "
            f"train on. Got {row_text(len(order))}, and labels of shape {labels.shape}."
        )
    n_classes = 0 if regresses else len(set(labels.tolist()))
    if n_classes > MOST_CLASSES:
        raise DataError(
            f"{OWNER} takes {MOST_CLASSES} classes at most. Got {n_classes:,}.",
            hint="Is the label a name or a number? A regressor with 'difference' predicts numbers.",
        )
    return train, test


def _drawn(
    case: ModelTarget,
    table: pl.DataFrame,
    groups: str | None,
    rows: tuple[Ints, Ints],
    drawn: tuple[int, int],
) -> ModelTarget:
    """Return the case with the held-out rows that attacks see, in their groups."""
    (train, test), (seed, n_attacked) = rows, drawn
    order = np.random.default_rng((seed, 1)).permutation(len(test))
    seen = np.sort(order[: max(MOST_ASKED, 2 * n_attacked)])
    of_rows = np.concatenate([train, test[seen]])
    return replace(
        case,
        non_members=case.non_members[seen],
        non_member_labels=case.non_member_labels[seen],
        groups=None if groups is None else _groups(table, groups, of_rows),
    )


def _attacked(
    learners: Mapping[str, Train],
    case: ModelTarget,
    attacked: ModelTarget,
    attacks: tuple[KnownModel | LabelsOnly, *tuple[Attack, ...]],
    seed: int,
) -> Iterator[AssessedModel]:
    """Train a model by each learner and attack it; the plain one is every positive control."""
    plain, (evade, *poisons) = None, attacks
    for name, learn in learners.items():
        model, own = learn(case.members, case.member_labels, seed), evade
        if isinstance(model, PartitionedClassifier):
            fewer = min(evade.rows, max(LEAST, evade.rows // SLOWER))
            own = replace(evade, rows=fewer, effort=EFFORT)
        target = replace(attacked, model=model, train=learn)
        plain = plain or target
        report = attack(
            target,
            unprotected=plain,
            attacks=[own, *poisons],
            measures=MEASURES[: 1 + bool(poisons)],  # asked for, none is left out for few rows
            random_state=seed,
        )
        yield _assessed(name, model, case, LAST_COSTS.pop(target, None), report)


def _labels_of(labels: Rows) -> Values:
    known = as_array(labels)
    cells = pl.Series(known.ravel(), strict=False)
    if gaps := (cells.fill_nan(None) if cells.dtype.is_float() else cells).null_count():
        raise DataError(f"Labels are missing in {row_text(gaps)}.")
    return known


def _groups(table: pl.DataFrame, column: str, order: Ints) -> tuple[list[str], Ints]:
    """Return names of groups that show no value, and each row's group, as a target has them."""
    check_columns([column], table.columns, where="the rows")
    values = table[column].drop_nulls().unique().sort()
    if len(values) > MOST_GROUPS:
        raise ParameterError(f"{OWNER} takes {MOST_GROUPS} groups at most. Got {len(values):,}.")
    numbers = np.full(table.height, -1)
    for n, value in enumerate(values):
        numbers[(table[column] == value).fill_null(value=False).to_numpy()] = n
    return [f"{column} {n + 1} of {len(values)}" for n in range(len(values))], numbers[order]


def _learners(
    estimator: Model,
    budget: AttackerBudget,
    partitions: int | None,
    k: int | None,
    names: Sequence[str] | None,
    *,
    hardened: bool,
) -> dict[str, Train]:
    """Return the plain learner, and one for each defence that is asked for."""

    def plain(rows: Rows, labels: Values, seed: int) -> Model:
        return fitted(seeded(estimator, seed), rows, labels)

    def harden(rows: Rows, labels: Values, seed: int) -> Model:
        model = seeded(estimator, seed)
        return train_hardened(model, rows, labels, budget=budget, random_state=seed)

    def part(rows: Rows, labels: Values, seed: int) -> Model:
        settings: Any = {"n_partitions": partitions, "random_state": seed}
        return PartitionedClassifier(estimator, **settings).fit(rows, labels)

    def anonymize(rows: Rows, labels: Values, seed: int) -> Model:
        model, settings = seeded(estimator, seed), dict[str, Any](random_state=seed)
        if isinstance(model, Pipeline) and len(model) > 1:
            model, settings["encoder"] = model[-1], model[:-1]
        guarantee: Any = {"k": k}
        settings |= {"guarantees": [KAnonymity(**guarantee)], "quasi_identifiers": names or None}
        return AnonymizedEstimator(model, **settings).fit(rows, labels)

    found = {
        "plain": plain,
        "hardened": harden if hardened else None,
        f"{partitions} partitions": part if partitions else None,
        f"{k}-anonymous": anonymize if k else None,
    }
    return {name: learn for name, learn in found.items() if learn is not None}


def _counted(learn: Train, progress: Progress, stage: str, n: int) -> Train:
    """Return a learner that says which share of so many models is trained."""
    trained = count()

    def counted(rows: Rows, labels: Values, seed: int) -> Model:
        progress(stage, min(next(trained) / n, 1.0))
        return learn(rows, labels, seed)

    return counted


def _assessed(
    name: str, model: Model, case: ModelTarget, costs: CostToFlip | None, report: AttackReport
) -> AssessedModel:
    """Return a model with its score, and with what is certified of it."""
    true, survived = case.non_member_labels, np.full(len(case.non_member_labels), -1)
    predicted = predictions(model, case.non_members)
    if isinstance(model, PartitionedClassifier):
        survived = np.where(predicted == true, model.certified_rows(case.non_members), -1)
    return AssessedModel(
        name=name,
        score=float((r2_score if is_regressor(model) else accuracy_score)(true, predicted)),
        costs=costs,
        attacks=report,
        certified=tuple(float((survived >= n).mean()) for n in range(survived.max() + 1)),
    )


def _blocks(
    case: ModelTarget, learn: Train, order: Ints, seed: int
) -> tuple[tuple[int, int, float], ...]:
    """Return blocks of rows, and by how much the loss on other held-out rows falls without each."""
    rows, labels, n = case.members, case.member_labels, len(order)
    of = order * BLOCKS // n
    own, held_out = of[: len(labels)], of[len(labels) :]

    def losses(kept: Bools) -> Floats:
        model = learn(rows.filter(kept), labels[kept], seed)
        return losses_of(model, case.non_members, case.non_member_labels)

    whole, found = losses(own >= 0), []
    for block in np.unique(own).tolist():
        if len(np.unique(labels[own != block])) > 1:  # else there is nothing to learn
            lost = (whole - losses(own != block))[held_out != block].mean()
            ends = -(-block * n // BLOCKS), -(-(block + 1) * n // BLOCKS) - 1
            found.append((*ends, float(lost)))
    return tuple(sorted(found, key=lambda it: -it[2]))
