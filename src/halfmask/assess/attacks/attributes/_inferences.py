"""Attribute inferences: how a secret is guessed of each subpopulation, and how often rightly.

By a classifier trained on the model's output, by asking the model with each candidate value in
place, or by the counts in a tree's leaves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from halfmask._errors import ParameterError
from halfmask.assess.attacks._answers import (
    ModelQueries,
    answers,
    classes_of_model,
    is_regressor,
    pool_labels,
    predicted_numbers,
)
from halfmask.assess.attacks._arms import SuccessCount
from halfmask.assess.attacks._attack import EVERYONE, DeclaredAttack, Found, Outcome
from halfmask.assess.attacks._rows import column_names, with_column
from halfmask.assess.attacks._targets import ModelTarget
from halfmask.assess.attacks.attributes._inference_setup import (
    NEEDED,
    fitted_imputation,
    inference_setup,
)
from halfmask.assess.attacks.structure._tree_structure import trees_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from halfmask.assess._arrays import Bools, Floats, Ints, Rows
    from halfmask.assess.attacks.attributes._inference_setup import (
        InferenceSetup,
        SecretColumn,
        Subpopulation,
    )
    from halfmask.assess.attacks.structure._tree_structure import Trees


#: Guesses the secret of a subpopulation.
Guess: TypeAlias = "Callable[[Subpopulation], Ints]"


def outcomes_of(
    name: str, target: ModelTarget, setup: InferenceSetup, guess: Guess
) -> Iterator[Outcome]:
    """Compare guesses about members with those about non-members, and with imputation.

    On subgroups the share that is right, where targets and controls are enough.
    """
    targets, controls = setup.targets, setup.controls
    theirs, others = guess(targets), guess(controls)
    without = setup.imputed.chances(targets.features).argmax(axis=1)
    for group, chosen, compared in _groups(target, targets, controls):
        yield Outcome(
            attack=name,
            measure=f"accuracy of {setup.secret.column!r}",
            column=str(setup.secret.column),
            success=_right(theirs, targets, chosen),
            control=_right(others, controls, compared),
            baseline=_right(without, targets, chosen),
            group=group,
            needed=NEEDED,
            needed_of="targets and controls",
            details={"values": float(len(setup.secret)), "known": float(len(setup.held_out))},
        )
    if setup.secret.positive < 0:
        return
    positive = setup.secret.positive
    for measure, of in (("precision", _among_guessed), ("recall", _among_true)):
        yield Outcome(
            attack=name,
            measure=f"{measure} of {setup.secret.column!r}",
            column=str(setup.secret.column),
            success=of(theirs, targets, positive),
            control=of(others, controls, positive),
            baseline=of(without, targets, positive),
            needed=NEEDED,
            needed_of="people of the positive value, guessed and true",
        )


def _groups(
    target: ModelTarget, targets: Subpopulation, controls: Subpopulation
) -> Iterator[tuple[str, Bools, Bools]]:
    """Return everyone, and each subgroup that is large enough on both sides."""
    yield EVERYONE, np.ones(len(targets), bool), np.ones(len(controls), bool)
    if target.groups is None:
        return
    names, numbers = target.groups
    ours = np.asarray(numbers)[targets.places]
    theirs = np.asarray(numbers)[controls.places + target.n_members]
    for number, name in enumerate(names):
        chosen, compared = ours == number, theirs == number
        if min(chosen.sum(), compared.sum()) >= NEEDED:
            yield name, chosen, compared


def _right(guessed: Ints, people: Subpopulation, chosen: Bools) -> SuccessCount:
    return SuccessCount(int((guessed == people.secret)[chosen].sum()), int(chosen.sum()))


def _among_guessed(guessed: Ints, people: Subpopulation, value: int) -> SuccessCount:
    positive = guessed == value
    return SuccessCount(int((positive & (people.secret == value)).sum()), int(positive.sum()))


def _among_true(guessed: Ints, people: Subpopulation, value: int) -> SuccessCount:
    true = people.secret == value
    return SuccessCount(int((true & (guessed == value)).sum()), int(true.sum()))


def output_of(target: ModelTarget, rows: Rows) -> Floats:
    """Return the model's probabilities of its own classes: (rows, classes).

    Of a regressor it is one column, what it predicts.
    """
    labels = pool_labels(target)
    if is_regressor(target.model, labels):
        return predicted_numbers(target.model, rows, who="The model")[:, None]
    classes = classes_of_model(target.model, labels)
    return answers(target.model, rows, classes, who="The model")


def chances_of_label(target: ModelTarget, people: Subpopulation, secret: SecretColumn) -> Floats:
    """Return what the model gives the true label with each candidate in place: (rows, values)."""
    found = np.empty((len(people), len(secret)))
    queries = ModelQueries.of(target)
    for number, candidate in enumerate(secret.candidates):
        rows = with_column(people.rows, secret.column, candidate)
        if queries.classes is None:
            found[:, number] = queries.nearness(target.model, rows, people.true, who="The model")
            continue
        output = output_of(target, rows)
        of_label = output[np.arange(len(people)), people.labels]
        found[:, number] = np.where(people.labels >= 0, of_label, 0.0)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeInference(DeclaredAttack, target=ModelTarget):
    """What the attribute inferences have in common: settings, arms and measures.

    Parameters
    ----------
    column
        The secret column, by name (frames) or number (arrays); ``None``: each of the target's
        ``secrets``.
    positive
        A value of the column whose precision and recall are measured too, not only the accuracy of
        all guesses. It isn't in any report. Missing counts as a value, but it can't be positive.
    bins
        A secret of numbers with more values than this is inferred by as many quantiles of the
        non-members. At least 2.
    learner
        The scikit-learn classifier that learns the secret; ``None``: a random forest. It is given
        the other columns as numbers, in order, then the label, then the model's probabilities. Its
        ``random_state`` is set, also within a pipeline.
    """

    #: Whether the attacker knows the secret of some members.
    knows_members: ClassVar[bool] = False

    column: str | int | None = None
    positive: Any = None
    bins: int = field(default=5, metadata={"ge": 2})
    learner: Any = None

    def __post_init__(self) -> None:
        DeclaredAttack.__post_init__(self)
        if self.learner is not None and not hasattr(self.learner, "predict_proba"):
            raise ParameterError(
                f"The 'learner' parameter of {type(self).__name__} must have predict_proba. "
                f"Got a value of type {type(self.learner).__name__}."
            )

    def missing_inputs(self, target: ModelTarget) -> str:
        """Return what the target lacks: secrets, or the column."""
        if self.column is None:
            return "" if target.secrets else "secrets"
        times = column_names(target.members).count(self.column)
        return "" if times == 1 else f"one column {self.column!r}, it has {times}"

    def _measure(self, target: ModelTarget, random_state: int) -> Found:
        found: list[Outcome] = []
        for column in target.secrets if self.column is None else (self.column,):
            setup = inference_setup(
                target,
                column,
                bins=self.bins,
                positive=self.positive,
                learner=self.learner,
                with_known=self.knows_members,
                random_state=random_state,
            )
            found += outcomes_of(
                self.name, target, setup, self._guesser(target, setup, random_state)
            )
        return tuple(found)

    def _guesser(self, target: ModelTarget, setup: InferenceSetup, random_state: int) -> Guess:
        """Return a function that guesses the secret of a subpopulation."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class BlackBoxInference(AttributeInference, name="attributes/black_box"):
    """Infer a column of the other columns, the true label and the model's output.

    Parameters
    ----------
    column, positive, bins, learner
        The secret column, the value whose precision is measured, the quantiles of a numeric secret,
        and the learner: as :class:`AttributeInference`.

    Notes
    -----
    As ``AttributeInferenceBlackBox`` of the Adversarial Robustness Toolbox, with which Goldsteen et
    al. ("Anonymizing machine learning models", DPM 2021) measured: the attacker knows some members
    whole, learns the secret from the model's output for them, and infers it for the others.

    The baseline is *imputation* (Jayaraman and Evans, "Are attribute inference attacks just
    imputation?", CCS 2022): the same learner, taught by as many people that the model never saw,
    without the output. The control is the attack on non-members. An output that reveals the
    secret of any person is no leak of members; one that reveals only members' secrets is.

    **Edge cases.** Fewer than 100 members or non-members: an error, and so an INVALID finding.
    """

    knows_members: ClassVar[bool] = True

    def _guesser(self, target: ModelTarget, setup: InferenceSetup, random_state: int) -> Guess:
        def shown(people: Subpopulation) -> Floats:
            return np.column_stack([people.features, output_of(target, people.rows)])

        rng = np.random.default_rng([random_state, 1])
        known, n_values = setup.known, len(setup.secret)
        learned = fitted_imputation(
            self.learner, shown(known), known.secret, n_values=n_values, rng=rng
        )
        return lambda people: learned.chances(shown(people)).argmax(axis=1)


#: What the model is believed to give at least to any label: it may be sure and wrong.
MIN_CHANCE = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryInference(AttributeInference, name="attributes/queries"):
    """Infer a column as the value with which the model is surest of the true label.

    Parameters
    ----------
    column, positive, bins, learner
        The secret column, the value whose precision is measured, the quantiles of a numeric secret,
        and the learner: as :class:`AttributeInference`.

    Notes
    -----
    Yeom, Giacomelli, Fredrikson and Jha, "Privacy risk in machine learning" (CSF 2018), section 4:
    membership inference is asked about each candidate, here by the model's confidence in the true
    label, times what the attacker believes of the value without the model. That belief is the
    imputation of the baseline, so that any success above it comes of the model.
    """

    def _guesser(self, target: ModelTarget, setup: InferenceSetup, random_state: int) -> Guess:  # noqa: ARG002 # nothing is drawn
        def guess(people: Subpopulation) -> Ints:
            sure = np.maximum(chances_of_label(target, people, setup.secret), MIN_CHANCE)
            return np.asarray((setup.imputed.chances(people.features) * sure).argmax(axis=1))

        return guess


#: The least mass of a path: if no path fits, the prior decides.
MIN_MASS = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class WhiteBoxTreeInference(AttributeInference, name="attributes/white_box_tree"):
    """Infer a column from the rows that a tree counted on each path.

    Parameters
    ----------
    column, positive, bins, learner
        The secret column, the value whose precision is measured, the quantiles of a numeric secret,
        and the learner: as :class:`AttributeInference`.
    prior
        The attacker's prior: ``"imputed"`` from the other columns
        and the label, the strongest; ``"marginal"``, how often each value is, as in the paper.
    counts
        Which rows of a path weigh: ``"label"``, those of the person's label; ``"all"``, for an
        attacker who doesn't know the label. The marginal prior goes with that: the imputed one
        knows the label.

    Notes
    -----
    Fredrikson, Jha and Ristenpart, "Model inversion attacks that exploit confidence information and
    basic countermeasures" (CCS 2015), section 4, white box with counts: a candidate ``v`` is as
    likely as its prior times the share of training rows on paths that fit the known columns, ``v``
    and the label, over the share on paths that fit ``v`` at all. A path's rows of the label are
    counted at its leaf, also where they aren't the most; a path fits ``v`` at all if one of the
    attacked people would take it with ``v`` in place. The shares of a forest's trees are summed.
    ``counts="all"`` leaves the label out: what a path holds is all rows of its leaf. A tree that
    never looks at the column has the same leaf for each candidate, and the prior decides.

    Models are those of scikit-learn: ``DecisionTreeClassifier``, ``RandomForestClassifier``,
    ``ExtraTreesClassifier``, also as the last step of a pipeline.
    """

    prior: str = field(default="imputed", metadata={"one_of": ("imputed", "marginal")})
    counts: str = field(default="label", metadata={"one_of": ("label", "all")})

    def missing_inputs(self, target: ModelTarget) -> str:
        """Return what the target lacks: secrets, or trees that count classes."""
        trees = trees_of(target.model)
        if trees is None or trees.kind not in {"tree", "forest"} or not trees.has_classes:
            return (
                "a classification tree or forest of scikit-learn: the attack reads the rows of "
                "each label in its leaves; attributes/queries and attributes/black_box need only "
                "predictions"
            )
        return AttributeInference.missing_inputs(self, target)

    def _guesser(self, target: ModelTarget, setup: InferenceSetup, random_state: int) -> Guess:  # noqa: ARG002 # nothing is drawn
        trees = trees_of(target.model)

        def guess(people: Subpopulation) -> Ints:
            before = setup.imputed.frequencies
            if self.prior == "imputed":
                before = setup.imputed.chances(people.features)
            held = _held(trees, people, setup.secret, self.counts) if trees is not None else 0.0
            return np.asarray((before * (held + MIN_MASS)).argmax(axis=1))

        return guess


def _held(trees: Trees, people: Subpopulation, secret: SecretColumn, counts: str) -> Floats:
    """Return how much the paths of each candidate hold: (rows, values).

    Of each person's label, or of all.
    """
    held = np.zeros((len(people), len(secret)))
    for number, candidate in enumerate(secret.candidates):
        leaves = trees.leaves(with_column(people.rows, secret.column, candidate))
        for counted, reached in zip(trees.class_counts, leaves.T, strict=True):
            with_value = counted[np.unique(reached)].sum()
            if counts == "label":
                held[:, number] += counted[reached, people.labels] / with_value
            else:
                held[:, number] += counted.sum(axis=1)[reached] / with_value
    if counts == "label":
        held[people.labels < 0] = 0.0
    return held
