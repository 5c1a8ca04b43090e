"""AttributeInference: the common settings of all attribute inferences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from halfmask._errors import ParameterError
from halfmask._validation import integer_at_least
from halfmask.assess.attacks._targets import ModelTarget
from halfmask.assess.attacks.attributes._inference_setup import inference_setup
from halfmask.assess.attacks.attributes._outcomes import outcomes_of
from halfmask.assess.attacks.attributes._rows import column_names

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from halfmask.assess.attacks._outcome import Outcome
    from halfmask.assess.attacks.attributes._inference_setup import InferenceSetup, Subpopulation


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeInference:
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

    name: ClassVar[str]
    attacks: ClassVar[type] = ModelTarget

    #: Whether the attacker knows the secret of some members.
    knows_members: ClassVar[bool] = False

    column: str | int | None = None
    positive: Any = None
    bins: int = 5
    learner: Any = None

    def __post_init__(self) -> None:
        integer_at_least(2, owner=type(self).__name__, bins=self.bins)
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

    def run(self, target: ModelTarget, *, random_state: int) -> tuple[Outcome, ...]:
        """Infer each secret column of members and of non-members."""
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

    def _guesser(
        self, target: ModelTarget, setup: InferenceSetup, random_state: int
    ) -> Callable[[Subpopulation], NDArray[np.int64]]:
        """Return a function that guesses the secret of a subpopulation."""
        raise NotImplementedError
