"""What private estimators have in common: declared labels, a budget, and what was spent of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from halfmask._errors import ParameterError, SchemaError
from halfmask._validation import integer_at_least, number_between
from halfmask.dp.accounting import MechanismEvent, epsilon_of
from halfmask.dp.learning._declared import codes_of, declared_classes
from halfmask.dp.learning._persons import one_row_each, person_codes
from halfmask.dp.learning._training_plan import TrainingPlan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray


class BudgetLedger(Protocol):
    """Where a budget is kept: it books what training costs before noise is drawn."""

    def charge(self, events: Sequence[MechanismEvent], *, purpose: str) -> object:
        """Book events, or refuse.

        Parameters
        ----------
        events
            What training is going to do.
        purpose
            What it is for.
        """


class PrivateEstimator(BaseEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """A scikit-learn estimator whose fitted attributes are differentially private.

    Attributes
    ----------
    events_
        What the training did, for :func:`halfmask.dp.accounting.epsilon_of`.
    spent_epsilon_
        What these events cost at ``delta``.
    unit_
        What the guarantee is for: ``"row"``, or ``"person"`` if ``groups`` were given.
    """

    epsilon: float
    delta: float
    ledger: BudgetLedger | None

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 # scikit-learn ships no types
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        if tags.regressor_tags is not None:
            tags.regressor_tags.poor_score = True  # on rows as few as those of its checks
        if tags.classifier_tags is not None:
            tags.classifier_tags.poor_score = True
        return tags

    def plan(self, columns: int) -> TrainingPlan:
        """Return what training costs and how large its noise is; nothing is charged.

        Parameters
        ----------
        columns
            How many columns the rows will have.

        Raises
        ------
        ParameterError
            If a parameter isn't as stated.
        BudgetError
            If no noise fits the budget.
        """
        integer_at_least(1, owner=type(self).__name__, columns=columns)
        events, noise, rows = self._planned(columns)
        return TrainingPlan(
            epsilon=self.epsilon, delta=self.delta, events=tuple(events), noise=noise, rows=rows
        )

    def _planned(self, columns: int) -> tuple[Sequence[MechanismEvent], str, float]:
        """Return what is booked, the noise in words, and how many rows can add as much."""
        raise NotImplementedError

    def _check_budget(self) -> None:
        """Raise unless epsilon and delta are such as can be spent."""
        owner = type(self).__name__
        number_between(0, math.inf, owner=owner, low_open=True, epsilon=self.epsilon)
        number_between(0, 1, owner=owner, high_open=True, delta=self.delta)

    def _spend(self, events: Sequence[MechanismEvent]) -> None:
        """Book what training costs, before any noise is drawn; the last chance to refuse."""
        self.spent_epsilon_ = epsilon_of(events, delta=self.delta)
        if self.spent_epsilon_ > self.epsilon * (1 + 1e-6):
            raise ParameterError(
                f"Training would cost epsilon {self.spent_epsilon_:g}, more than its budget."
            )
        self.events_ = tuple(events)
        if self.ledger is not None:
            self.ledger.charge(self.events_, purpose=f"training of {type(self).__name__}")

    def _persons(self, groups: ArrayLike | None, n: int) -> NDArray[np.int64]:
        """Return the person of each row, or a person for each row if none are given.

        The unit of the training must be that of the ledger. Replacing one row of a person by
        another costs up to twice as much as adding one, so that neither unit covers the other.
        """
        unit = getattr(getattr(self.ledger, "terms", None), "unit", None)
        protected, given = getattr(unit, "person", None), getattr(groups, "name", None)
        if protected is not None and groups is None:
            raise ParameterError(
                f"The ledger protects all rows of one {protected!r}, and training single rows.",
                hint=f"Pass the column {protected!r} by fit(X, y, groups=...).",
            )
        if protected is not None and isinstance(given, str) and given != protected:
            raise ParameterError(
                f"The ledger protects all rows of one {protected!r}, and the 'groups' parameter "
                f"has the column {given!r}."
            )
        if unit is not None and protected is None and groups is not None:
            raise ParameterError(
                "The ledger protects single rows, and training with 'groups' persons.",
                hint="Set a budget whose unit is a person: PrivacyUnit(person=...).",
            )
        self.unit_ = "row" if groups is None else "person"
        if groups is None:
            return np.arange(n, dtype=np.int64)
        return person_codes(groups, n, owner=type(self).__name__)

    def _rows(self, X: ArrayLike, *, reset: bool = False) -> NDArray[np.float64]:
        """Return rows of finite numbers."""
        rows: NDArray[np.float64] = validated(self, X, reset=reset)
        return rows

    def _rows_and_codes(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: Sequence[object],
        groups: ArrayLike | None,
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return one row a person, and each label as its place among the declared classes."""
        rows, codes = self._all_rows_and_codes(X, y, classes)
        kept = self._one_row_each(groups, len(rows))
        return rows[kept], codes[kept]

    def _one_row_each(self, groups: ArrayLike | None, n: int) -> NDArray[np.int64]:
        """Return the places of one row of each person; of all rows if no persons are given."""
        persons = self._persons(groups, n)
        return persons if groups is None else one_row_each(persons)

    def _all_rows_and_codes(
        self, X: ArrayLike, y: ArrayLike, classes: Sequence[object]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return rows, and each label as its place among the declared classes."""
        self.classes_: NDArray[Any] = declared_classes(classes, owner=type(self).__name__)
        rows, labels = validated(self, X, y)
        if None not in labels.tolist():  # scikit-learn takes missing labels for numbers
            check_classification_targets(labels)
        return rows, codes_of(labels, self.classes_, owner=type(self).__name__)


def validated(estimator: object, *data: ArrayLike, **how: bool) -> Any:  # noqa: ANN401 # as scikit-learn's
    """Return what scikit-learn's `validate_data` does of numbers; its error quotes no cell."""
    try:
        return validate_data(estimator, *data, dtype=np.float64, **how)
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
    raise SchemaError(
        f"A column of X, or y, has cells that are no numbers, and {type(estimator).__name__} "
        "learns from numbers.",
        hint="Encode texts as numbers first; labels are listed in 'classes'.",
    )
