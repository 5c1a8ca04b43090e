"""Queries: the model is asked what it makes of a person with each candidate value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask.assess.attacks.attributes._output import chances_of_label
from halfmask.assess.attacks.attributes._settings import AttributeInference

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from halfmask.assess.attacks._targets import ModelTarget
    from halfmask.assess.attacks.attributes._inference_setup import InferenceSetup, Subpopulation

#: What the model is believed to give at least to any label: it may be sure and wrong.
MIN_CHANCE = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryInference(AttributeInference):
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

    name: ClassVar[str] = "attributes/queries"

    def _guesser(
        self,
        target: ModelTarget,
        setup: InferenceSetup,
        random_state: int,  # noqa: ARG002 # nothing is drawn
    ) -> Callable[[Subpopulation], NDArray[np.int64]]:
        def guess(people: Subpopulation) -> NDArray[np.int64]:
            sure = np.maximum(chances_of_label(target, people, setup.secret), MIN_CHANCE)
            return np.asarray((setup.imputed.chances(people.features) * sure).argmax(axis=1))

        return guess
