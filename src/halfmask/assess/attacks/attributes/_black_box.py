"""Black box: a classifier is trained on the model's output for people with known secrets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask.assess.attacks.attributes._imputation import fitted_imputation
from halfmask.assess.attacks.attributes._output import output_of
from halfmask.assess.attacks.attributes._settings import AttributeInference

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from halfmask.assess.attacks._targets import ModelTarget
    from halfmask.assess.attacks.attributes._inference_setup import InferenceSetup, Subpopulation


@dataclass(frozen=True, slots=True, kw_only=True)
class BlackBoxInference(AttributeInference):
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

    name: ClassVar[str] = "attributes/black_box"
    knows_members: ClassVar[bool] = True

    def _guesser(
        self, target: ModelTarget, setup: InferenceSetup, random_state: int
    ) -> Callable[[Subpopulation], NDArray[np.int64]]:
        def shown(people: Subpopulation) -> NDArray[np.float64]:
            return np.column_stack([people.features, output_of(target, people.rows)])

        rng = np.random.default_rng([random_state, 1])
        known, n_values = setup.known, len(setup.secret)
        learned = fitted_imputation(
            self.learner, shown(known), known.secret, n_values=n_values, rng=rng
        )
        return lambda people: learned.chances(shown(people)).argmax(axis=1)
