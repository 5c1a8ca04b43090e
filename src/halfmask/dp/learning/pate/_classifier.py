"""PATE: teachers on disjoint parts label public rows for a student, and what their votes cost."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from scipy.special import log_ndtr, logsumexp
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from halfmask._errors import DataError, ParameterError
from halfmask._foreign import foreign
from halfmask._random import fresh_key, keyed_integers, keyed_order
from halfmask._validation import number_between
from halfmask.dp.accounting import MechanismEvent, SampledGaussianEvent
from halfmask.dp.learning._private_estimator import PrivateClassifier
from halfmask.dp.noise import GaussianMechanism

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from halfmask.dp.learning._private_estimator import BudgetLedger

#: One row, or person, moves one teacher's vote: from one count to another.
_VOTE_SENSITIVITY: Final = math.sqrt(2)
#: The share of the privacy loss for the tests whether enough teachers agree.
_TEST_SHARE: Final = 0.25


@dataclass(eq=False, repr=False)
class PateClassifier(MetaEstimatorMixin, PrivateClassifier):  # type: ignore[misc] # sklearn has no types
    """A student that learns from noisy votes of teachers on public rows (PATE).

    Parameters
    ----------
    teacher
        A scikit-learn classifier of any kind; a clone of it learns from each part.
    student
        A scikit-learn classifier; a clone of it learns from the labelled public rows.
    epsilon, delta, classes, ledger
        As of `PrivateEstimator`; delta above 0.
    teachers
        Disjoint parts of the private rows, at least 2. Noise is relative to their number.
    answers
        The most public rows that get a label, at least 1. Each costs.
    agreement
        The share of teachers, in [0, 1], that must agree on a row, tested with noise (confident
        GNMax); ``None``: every row gets its plurality.

    Attributes
    ----------
    student_
        The fitted student, all that may be published. ``teachers`` aren't kept.
    labelled_
        How many public rows got a label.
    noise_multiplier_
        Standard deviation of the noise on each count of votes, divided by sqrt(2).
    private_epsilon_
        A data-dependent epsilon of the answers given. It is private: don't publish it.
    events_, spent_epsilon_
        What the training cost, whatever the votes were.

    Raises
    ------
    BudgetError
        If no noise fits the budget, or the ledger refuses; nothing was trained then.
    DataError
        If the noisy labels are all the same, or no row got one.

    Guarantees
    ----------
    The student is (epsilon, delta)-differentially private if one private row is added or removed,
    or with ``groups`` all rows of one person. Public rows aren't protected.

    Notes
    -----
    Papernot et al. 2017 and 2018 (GNMax). Each row, or person, is in a part by chance,
    independently, so that it changes one teacher. What is booked holds for all votes; the smaller
    figure for these votes is in ``private_epsilon_``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = np.linspace(-1, 1, 2000)[:, None]
    >>> y = (X[:, 0] > 0).astype(int)
    >>> tree = DecisionTreeClassifier(max_depth=1)
    >>> model = PateClassifier(
    ...     tree, tree, epsilon=4.0, delta=1e-5, classes=[0, 1], teachers=50, answers=20,
    ... ).fit(X, y, public=np.linspace(-1, 1, 40)[:, None])
    >>> model.predict([[-0.9], [0.9]]).tolist()
    [0, 1]
    """

    teacher: Any  # any estimator
    student: Any  # any estimator
    _: KW_ONLY
    epsilon: float
    delta: float
    classes: Sequence[object]
    teachers: int = field(metadata={"ge": 2})
    answers: int = field(metadata={"ge": 1})
    agreement: float | None = field(default=None, metadata={"ge": 0, "le": 1})
    ledger: BudgetLedger | None = None

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        public: ArrayLike | None = None,
    ) -> Self:
        """Train teachers on private rows, and the student on public rows that they label.

        Parameters
        ----------
        X
            Private rows, finite numbers.
        y
            One of ``classes`` a private row.
        groups
            The person of each row. All rows of a person go to one teacher, and the guarantee is
            for persons; ``None``: for rows.
        public
            Rows without labels that need no protection. Required.
        """
        self._check()
        if public is None:
            raise ParameterError(
                "PateClassifier needs rows that may be public, without labels.",
                hint="Pass them as fit(X, y, public=rows).",
            )
        rows, codes = self._rows_and_codes(X, y)
        persons = self._persons(groups, len(rows))
        asked = self._rows(public)
        asked = asked[keyed_order(len(asked), key=fresh_key())]
        answers = min(self.answers, len(asked))

        self.noise_multiplier_, events = self._noise(answers, len(asked))
        self._spend(events)
        self._warn_of_noise(
            noise=2 * self.noise_multiplier_ * _VOTE_SENSITIVITY,
            signal=self.teachers,
            hint="Take more teachers, fewer answers or a larger epsilon.",
        )
        votes = self._votes(rows, codes, persons, asked)
        chosen = self._agreed(votes, answers)
        scale = self.noise_multiplier_ * _VOTE_SENSITIVITY
        noisy = GaussianMechanism(sensitivity=_VOTE_SENSITIVITY, scale=scale)
        labels = np.array([noisy.release(votes[each]).argmax() for each in chosen], dtype=np.int64)
        self.private_epsilon_ = data_dependent_epsilon(votes[chosen], scale=scale, delta=self.delta)
        self.labelled_ = len(chosen)
        self._train_student(asked[chosen], labels)
        return self

    @available_if(lambda self: hasattr(self.student, "predict_proba"))  # type: ignore[untyped-decorator] # sklearn has no types
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the student's probability of each class, a row a row.

        It costs nothing: the student learned from noisy labels alone. A class that no label named
        gets 0. Only students that have probabilities have this method.
        """
        check_is_fitted(self, "student_")
        rows = self._rows(X)
        found = np.zeros((len(rows), len(self.classes_)))
        known = np.searchsorted(self.classes_, self.student_.classes_)
        found[:, known] = self.student_.predict_proba(rows)
        return found

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the student's label of each row."""
        check_is_fitted(self, "student_")
        labels: NDArray[Any] = self.student_.predict(self._rows(X))
        return labels

    def _planned(self, columns: int) -> tuple[Sequence[MechanismEvent], str, float]:  # noqa: ARG002 # teachers hide them
        multiplier, events = self._noise(self.answers, self.answers)
        deviation = multiplier * _VOTE_SENSITIVITY
        noise = (
            f"Each count of the votes of {self.teachers:,} teachers gets noise of standard "
            f"deviation {deviation:.3g}"
            + ("." if self.agreement is None else ", for as many public rows as answers.")
        )
        return events, noise, deviation

    def _noise(self, answers: int, asked: int) -> tuple[float, list[MechanismEvent]]:
        """Return the noise multiplier of an answer, and what answers and tests cost."""
        return self._calibrated(lambda noise: self._events(noise, answers, asked))

    def _events(self, noise: float, answers: int, asked: int) -> list[MechanismEvent]:
        """Return what all answers, and all tests of agreement, cost."""
        labels = SampledGaussianEvent(
            noise_multiplier=noise,
            sampling_probability=1.0,
            steps=answers,
            coordinates=self._n_classes,
        )
        if self.agreement is None:
            return [labels]
        tests = SampledGaussianEvent(
            noise_multiplier=self._test_noise(noise, answers, asked),
            sampling_probability=1.0,
            steps=asked,
            coordinates=1,
        )
        return [labels, tests]

    @staticmethod
    def _test_noise(noise: float, answers: int, asked: int) -> float:
        return noise * math.sqrt(asked / answers * (1 - _TEST_SHARE) / _TEST_SHARE)

    def _votes(
        self,
        rows: NDArray[np.float64],
        codes: NDArray[np.int64],
        persons: NDArray[np.int64],
        asked: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        """Return how many teachers vote for each class, a row of counts a public row."""
        drawn = keyed_integers(int(persons.max()) + 1, key=fresh_key())
        parts = (drawn % np.uint64(self.teachers))[persons]
        votes = np.zeros((len(asked), len(self.classes_)), dtype=np.int64)
        places = np.arange(len(asked))
        for part in range(self.teachers):
            inside = parts == part
            learnt = np.unique(codes[inside])
            if len(learnt) < 2:  # nothing to learn: one label, or by convention the first
                votes[:, learnt[0] if len(learnt) else 0] += 1
                continue
            with foreign("A teacher of PateClassifier failed"):
                fitted = clone(self.teacher).fit(rows[inside], codes[inside])
                voted = np.asarray(fitted.predict(asked)).astype(np.int64)
            votes[places, voted] += 1
        return votes

    def _agreed(self, votes: NDArray[np.int64], answers: int) -> NDArray[np.int64]:
        """Return the places of the public rows that get a label, the first ones that agree."""
        if self.agreement is None:
            return np.arange(answers, dtype=np.int64)
        noise = self._test_noise(self.noise_multiplier_, answers, len(votes))
        test = GaussianMechanism(sensitivity=1.0, scale=noise)
        most = test.release(votes.max(axis=1))
        return np.flatnonzero(most >= self.agreement * self.teachers)[:answers].astype(np.int64)

    def _train_student(self, rows: NDArray[np.float64], codes: NDArray[np.int64]) -> None:
        if len(np.unique(codes)) < 2:
            raise DataError(
                f"The noisy labels of {len(codes)} public rows name fewer than two classes.",
                hint="Ask about more rows, or lower 'agreement'.",
            )
        with foreign("The student of PateClassifier failed"):
            self.student_ = clone(self.student).fit(rows, self.classes_[codes])


_ORDERS: Final = np.concatenate([np.arange(1.25, 10, 0.25), np.arange(10, 100), [128, 256, 512]])


def data_dependent_epsilon(votes: ArrayLike, *, scale: float, delta: float) -> float:
    """Return the epsilon of noisy plurality answers, given the votes behind them.

    Parameters
    ----------
    votes
        A row an answer, a column a class: how many teachers voted for it.
    scale
        Standard deviation of the noise on each count, above 0.
    delta
        Above 0, below 1.

    Returns
    -------
    float
        It depends on the votes, so it is itself private: don't publish it.

    Notes
    -----
    Papernot, Song, Mironov, Raghunathan, Talwar, Erlingsson 2018, theorem 6 and propositions 7
    and 10: the stronger teachers agree, the less an answer costs.

    Examples
    --------
    >>> agreed, split = [[250, 0]] * 100, [[130, 120]] * 100
    >>> low = data_dependent_epsilon(agreed, scale=40.0, delta=1e-5)
    >>> low < 0.3 * data_dependent_epsilon(split, scale=40.0, delta=1e-5)
    True
    """
    owner = "data_dependent_epsilon"
    number_between(0, math.inf, owner=owner, low_open=True, scale=scale)
    number_between(0, 1, owner=owner, low_open=True, high_open=True, delta=delta)
    counts = np.asarray(votes, dtype=np.float64)
    if counts.ndim != 2 or counts.shape[1] < 2:
        raise ParameterError(f"The 'votes' of {owner} must be a table of at least two classes.")
    costs = np.zeros_like(_ORDERS)
    for row in counts:
        costs += _renyi(_log_other(row, scale), scale)
    return float(_converted(costs, delta).min())


def _log_other(votes: NDArray[np.float64], scale: float) -> float:
    """Return the log of a bound on the probability that the plurality isn't the answer."""
    ordered = np.sort(votes)[::-1]
    gaps = ordered[0] - ordered[1:]
    # Two counts with noise of this scale differ by noise of sqrt(2) times the scale.
    return float(min(0.0, logsumexp(log_ndtr(-gaps / (math.sqrt(2) * scale)))))


def _renyi(logq: float, scale: float) -> NDArray[np.float64]:
    """Return Renyi differential privacy at each order, given the log of q."""
    variance = scale**2
    costs = _ORDERS / variance
    second = math.sqrt(-logq) * scale
    first = second + 1
    if second <= 1 or logq == 0:
        return costs
    epsilon_first, epsilon_second = first / variance, second / variance
    limit = (second - 1) * epsilon_second - second * (
        math.log1p(1 / (first - 1)) + math.log1p(1 / (second - 1))
    )
    if logq > limit or -logq <= epsilon_second:
        return costs
    log_right = math.log1p(-math.exp(logq))
    inner = np.log1p(-math.exp((logq + epsilon_second) * (1 - 1 / second)))
    log_a = (_ORDERS - 1) * (log_right - inner)
    log_b = (_ORDERS - 1) * (epsilon_first - logq / (first - 1))
    dependent = np.logaddexp(log_right + log_a, logq + log_b) / (_ORDERS - 1)
    smaller: NDArray[np.float64] = np.where(first > _ORDERS, np.minimum(costs, dependent), costs)
    return smaller


def _converted(costs: NDArray[np.float64], delta: float) -> NDArray[np.float64]:
    """Return epsilon at each order (Canonne, Kamath, Steinke 2020, proposition 12)."""
    added = np.log1p(-1 / _ORDERS) - (math.log(delta) + np.log(_ORDERS)) / (_ORDERS - 1)
    epsilons: NDArray[np.float64] = np.maximum(0.0, costs + added)
    return epsilons
