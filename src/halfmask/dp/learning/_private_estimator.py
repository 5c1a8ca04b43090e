"""What private estimators have in common: declared labels, a budget, a plan, and what was spent."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, Self

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from halfmask._errors import NoiseWarning, ParameterError, SchemaError
from halfmask._foreign import need
from halfmask._validation import check_fields, integer_at_least, number_between
from halfmask.dp.accounting import MechanismEvent, calibrate, epsilon_of
from halfmask.dp.learning._declared import (
    codes_of,
    declared_bounds,
    declared_classes,
    one_row_each,
    person_codes,
)
from halfmask.dp.noise import GaussianMechanism, LaplaceMechanism

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from halfmask.dp.ledger import PrivacyUnit
    from halfmask.dp.noise import NoiseMechanism

#: Rows differ, so that together they add about a tenth of the most that they could.
ENOUGH: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """What a training costs, and how large its noise is, before a row is read.

    Parameters
    ----------
    epsilon, delta
        The budget.
    events
        What is booked.
    noise
        The noise in words.
    rows
        So many rows can add as much as the noise, at most.
    """

    epsilon: float
    delta: float
    events: tuple[MechanismEvent, ...]
    noise: str
    rows: float

    def explain(self) -> str:
        """Return the plan in words: cost, noise, and how many rows it takes."""
        cost = f"Costs epsilon {self.epsilon:g}" + (f", delta {self.delta:g}" if self.delta else "")
        return (
            f"{cost}. {self.noise} It is as large as what {math.ceil(self.rows):,} rows add at "
            f"most. Rows differ, so have {math.ceil(ENOUGH * self.rows):,} or more."
        )


class BudgetLedger(Protocol):
    """Where a budget is kept: it books what training costs before noise is drawn.

    Attributes
    ----------
    unit
        What the budget protects; ``None`` if the ledger doesn't state it.
    """

    @property
    def unit(self) -> PrivacyUnit | None: ...

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
    epsilon, delta
        The budget: epsilon above 0, delta from 0 to below 1.
    classes
        Of classifiers: all labels that can occur, at least two.
    ledger
        Where the budget is booked; ``None``: nowhere.
    events_
        What the training did, for :func:`halfmask.dp.accounting.epsilon_of`.
    spent_epsilon_
        What these events cost at ``delta``.
    unit_
        What the guarantee is for: ``"row"``, or ``"person"`` if ``groups`` were given.

    Raises
    ------
    BudgetError
        If no noise fits the budget, or the ledger refuses; nothing was trained then.

    Guarantees
    ----------
    The fitted attributes are (epsilon, delta)-differentially private if one row is added or
    removed, or with ``groups`` all rows of one person.
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
        BudgetError
            If no noise fits the budget.
        """
        integer_at_least(1, owner=self._owner, columns=columns)
        self._check()
        events, noise, rows = self._planned(columns)
        return TrainingPlan(
            epsilon=self.epsilon, delta=self.delta, events=tuple(events), noise=noise, rows=rows
        )

    @property
    def _owner(self) -> str:
        return type(self).__name__

    def _planned(self, columns: int) -> tuple[Sequence[MechanismEvent], str, float]:
        """Return what is booked, the noise in words, and how many rows can add as much."""
        raise NotImplementedError

    def _check(self) -> None:
        """Raise unless all parameters are as stated."""
        need("opendp", "dp_accounting")
        check_fields(self)
        number_between(0, math.inf, owner=self._owner, low_open=True, epsilon=self.epsilon)
        number_between(0, 1, owner=self._owner, high_open=True, delta=self.delta)

    def _bounds(
        self, columns: int, name: str = "bounds"
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return declared_bounds(getattr(self, name), columns, owner=self._owner, name=name)

    def _calibrated(
        self, events: Callable[[float], list[MechanismEvent]]
    ) -> tuple[float, list[MechanismEvent]]:
        """Return the least noise multiplier within the budget, and the events that it makes."""
        found = calibrate(events, epsilon=self.epsilon, delta=self.delta)
        return found, events(found)

    def _mechanism_for(self, *, l1: float, l2: float) -> NoiseMechanism:
        """Return the least noise within the budget, given bounds on what a row adds."""
        if self.delta > 0:
            return GaussianMechanism.calibrated(
                sensitivity=l2, epsilon=self.epsilon, delta=self.delta
            )
        return LaplaceMechanism.calibrated(sensitivity=l1, epsilon=self.epsilon)

    def _spend(self, events: Sequence[MechanismEvent]) -> None:
        """Book what training costs, before any noise is drawn; the last chance to refuse."""
        self.spent_epsilon_ = epsilon_of(events, delta=self.delta)
        if self.spent_epsilon_ > self.epsilon * (1 + 1e-6):
            raise ParameterError(
                f"Training would cost epsilon {self.spent_epsilon_:g}, more than its budget."
            )
        self.events_ = tuple(events)
        if self.ledger is not None:
            self.ledger.charge(self.events_, purpose=f"training of {self._owner}")

    def _warn_of_noise(self, *, noise: float, signal: float, hint: str) -> None:
        """Warn if noise exceeds what was learned, by numbers that are released or public."""
        if noise > signal:
            warnings.warn(
                f"The noise of {self._owner} exceeds what was learned: predictions can be little "
                f"better than chance. Training was charged all the same. {hint}",
                NoiseWarning,
                stacklevel=5,
            )

    def _persons(self, groups: ArrayLike | None, n: int) -> NDArray[np.int64]:
        """Return the person of each row, or a person for each row if none are given.

        The unit of the training must be that of the ledger. Replacing one row of a person by
        another costs up to twice as much as adding one, so that neither unit covers the other.
        """
        unit = None if self.ledger is None else self.ledger.unit
        protected, given = unit and unit.person, getattr(groups, "name", None)
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
        return person_codes(groups, n, owner=self._owner)

    def _one_row_each(self, groups: ArrayLike | None, n: int) -> NDArray[np.int64]:
        """Return the places of one row of each person; of all rows if no persons are given."""
        persons = self._persons(groups, n)
        return persons if groups is None else one_row_each(persons)

    def _rows(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return rows of finite numbers, of the columns that were fitted."""
        rows: NDArray[np.float64] = self._validated(X, reset=False)
        return rows

    def _validated(self, *data: ArrayLike, **how: bool) -> Any:  # noqa: ANN401 # as scikit-learn's
        """Return what scikit-learn's `validate_data` does of numbers; its error quotes no cell."""
        try:
            return validate_data(self, *data, dtype=np.float64, **how)
        except ValueError as error:
            if "could not convert" not in str(error):
                raise
        raise SchemaError(
            f"A column of X, or y, has cells that are no numbers, and {self._owner} "
            "learns from numbers.",
            hint="Encode texts as numbers first; labels are listed in 'classes'.",
        )


class PrivateClassifier(ClassifierMixin, PrivateEstimator):  # type: ignore[misc] # sklearn has no types
    """Labels and probabilities from the scores that a kind of classifier learns."""

    classes: Sequence[object]
    classes_: NDArray[Any]
    #: The attribute that a fitted one has; by default any.
    _learnt: ClassVar[str | None] = None

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Train on rows and their labels.

        Parameters
        ----------
        X
            Finite numbers.
        y
            One of ``classes`` a row.
        groups
            The person of each row. One row of each person is drawn by chance, and the guarantee is
            for persons; ``None``: for rows.
        """
        self._check()
        rows, codes = self._rows_and_codes(X, y)
        kept = self._one_row_each(groups, len(rows))
        self._learn(rows[kept], codes[kept])
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the label that is likeliest for each row.

        Parameters
        ----------
        X
            Rows as in ``fit``.
        """
        scores = self._scored(X)
        codes = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[codes]
        return labels

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return a probability a row and class.

        Parameters
        ----------
        X
            Rows as in ``fit``.
        """
        likely = likelihoods(self._scored(X))
        return np.column_stack([1 - likely, likely]) if likely.shape[1] == 1 else likely

    def _learn(self, rows: NDArray[np.float64], codes: NDArray[np.int64]) -> None:
        """Learn from one row a person, and its label's place among the declared classes."""
        raise NotImplementedError

    def _scores(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a score a row and class; two classes may have one, that of the second."""
        raise NotImplementedError

    def _scored(self, X: ArrayLike) -> NDArray[np.float64]:
        check_is_fitted(self, self._learnt)
        return self._scores(self._rows(X))

    def _rows_and_codes(
        self, X: ArrayLike, y: ArrayLike
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return rows, and each label as its place among the declared classes."""
        self.classes_ = declared_classes(self.classes, owner=self._owner)
        rows, labels = self._validated(X, y)
        if None not in labels.tolist():  # scikit-learn takes missing labels for numbers
            check_classification_targets(labels)
        return rows, codes_of(labels, self.classes_, owner=self._owner)

    @property
    def _n_classes(self) -> int:
        return len(declared_classes(self.classes, owner=self._owner))


class ScoreClassifier(PrivateClassifier):
    """A classifier of one score for two classes, or one a class for more."""

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return a score a row, or one a row and class for more than two classes.

        Parameters
        ----------
        X
            Rows as in ``fit``.
        """
        scores = self._scored(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    @property
    def _outputs(self) -> int:
        """The scores of a row."""
        return 1 if self._n_classes == 2 else self._n_classes

    def _truth(self, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return what the probability of each score is for rows whose classes are known."""
        return codes[:, None].astype(float) if self._outputs == 1 else np.eye(self._outputs)[codes]


def likelihoods(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of each score: of the second class if there is one a row."""
    likely: NDArray[np.float64] = expit(scores) if scores.shape[1] == 1 else softmax(scores, axis=1)
    return likely
