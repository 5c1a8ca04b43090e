"""Guided: cut where a model's predictions differ most."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from halfmask._errors import ParameterError
from halfmask._validation import fraction
from halfmask.anonymize._growth import GrowthPlan

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Guided:
    """Cut where the labels or predictions given at the fit differ most.

    Parameters
    ----------
    min_gain
        The least share, in [0, 1], of a class's remaining spread that a cut must remove. Where no
        cut does, the widest column is cut as in :class:`Mondrian`, by the columns' weights. Less
        follows the predictions for longer, and makes ranges wider.

    See Also
    --------
    Mondrian : Needs no labels.

    Notes
    -----
    After Goldsteen et al., "Anonymizing machine learning models" (2020): the classes are the
    leaves of a tree fitted to what the model predicts. Unlike there, the tree is fitted to the rows
    that it anonymizes and judges every guarantee at every cut, so that no leaf can fall below k.
    The gain is the decrease of the sum of squared deviations over all guides: for labels Gini's
    impurity, for probabilities Brier's score, for numbers the variance.

    Examples
    --------
    >>> Guided()
    Guided(min_gain=0.07)
    """

    name: ClassVar[str] = "guided"
    sentence: ClassVar[str] = "Classes grown by what a model has to predict."
    needs_guide: ClassVar[bool] = True
    judges_release: ClassVar[bool] = False

    min_gain: float = field(
        default=0.07,
        metadata={
            "ge": 0, "le": 1, "description": "Share of the spread that a cut must take away."
        },
    )  # fmt: skip

    def __post_init__(self) -> None:
        fraction(owner="Guided", min_gain=self.min_gain)

    def plan_growth(self, guides: NDArray[np.float64] | None) -> GrowthPlan:
        """Return how classes are cut.

        Parameters
        ----------
        guides
            Labels or predictions, (rows, outputs); ``None`` without any.
        """
        if guides is None:
            raise ParameterError(
                "Guided needs labels or predictions as split targets. Got none.",
                hint="Pass y to fit, or name the target columns in the policy.",
            )
        return GrowthPlan(guides=guides, min_gain=self.min_gain)
