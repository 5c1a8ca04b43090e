"""White box: the counts in a tree's leaves weigh the candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask._validation import one_of
from halfmask.assess.attacks._trees import trees_of
from halfmask.assess.attacks.attributes._rows import with_column
from halfmask.assess.attacks.attributes._settings import AttributeInference

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from halfmask.assess.attacks._targets import ModelTarget
    from halfmask.assess.attacks._trees import Trees
    from halfmask.assess.attacks.attributes._inference_setup import InferenceSetup, Subpopulation
    from halfmask.assess.attacks.attributes._secret import SecretColumn

#: The least mass of a path: if no path fits, the prior decides.
MIN_MASS = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class WhiteBoxTreeInference(AttributeInference):
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

    name: ClassVar[str] = "attributes/white_box_tree"

    prior: str = "imputed"
    counts: str = "label"

    def __post_init__(self) -> None:
        AttributeInference.__post_init__(self)
        one_of(("imputed", "marginal"), owner="WhiteBoxTreeInference", prior=self.prior)
        one_of(("label", "all"), owner="WhiteBoxTreeInference", counts=self.counts)

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

    def _guesser(
        self,
        target: ModelTarget,
        setup: InferenceSetup,
        random_state: int,  # noqa: ARG002 # nothing is drawn
    ) -> Callable[[Subpopulation], NDArray[np.int64]]:
        trees = trees_of(target.model)

        def guess(people: Subpopulation) -> NDArray[np.int64]:
            before = setup.imputed.frequencies
            if self.prior == "imputed":
                before = setup.imputed.chances(people.features)
            held = _held(trees, people, setup.secret, self.counts) if trees is not None else 0.0
            return np.asarray((before * (held + MIN_MASS)).argmax(axis=1))

        return guess


def _held(
    trees: Trees, people: Subpopulation, secret: SecretColumn, counts: str
) -> NDArray[np.float64]:
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
