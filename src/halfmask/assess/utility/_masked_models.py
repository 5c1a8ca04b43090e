"""Models of masked rows: how well one separates them, and whether a regression says the same."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from halfmask._errors import DataError, ParameterError
from halfmask._facts import Facts
from halfmask._validation import integer_at_least, number_between, one_of
from halfmask.assess._one_thread import one_thread
from halfmask.assess.utility._regression import fit_regression, independent, overlaps

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from halfmask.assess._arrays import Floats, Ints


#: The model that tells masked rows from original ones.
PropensityModel: TypeAlias = Literal["logistic", "cart"]
#: Permutations of the labels that the null expectation of a tree is the mean of.
PERMUTATIONS = 10
#: A leaf has at least this share of the rows, and at least so many of them.
LEAF_SHARE, LEAF_ROWS = 0.005, 20
#: Hardly a penalty: it only keeps coefficients finite where both tables separate.
INVERSE_PENALTY = 1e4


@dataclass(frozen=True, slots=True, kw_only=True)
class PropensityFit(Facts):
    """The pMSE of one model, and its null expectation.

    Parameters
    ----------
    model
        ``"logistic"`` or ``"cart"``.
    pmse
        The mean squared distance of the predicted probabilities from the share of masked rows.
        0: no difference is seen. 0.25: the model separates tables of equal length in every row.
    null, null_deviation
        The mean and standard deviation of the pMSE of rows that are drawn from a correct model of
        the original.
    rows
        How many rows of both tables were used.
    """

    facts = ("model", "pmse", "null", "null_deviation", "rows", "ratio", "standardized")

    model: PropensityModel
    pmse: float
    null: float
    null_deviation: float
    rows: int

    @property
    def ratio(self) -> float:
        """The pMSE over its null: synthpop's ``S_pMSE``, Snoke's pMSE ratio.

        1: as similar as rows of a correct model.
        """
        return self.pmse / self.null if self.null > 0 else 0.0

    @property
    def standardized(self) -> float | None:
        """The pMSE less its null, in deviations of the null.

        ``utilStd`` of older synthpop. ``None`` if the null has none, as without features.
        """
        far = self.pmse - self.null
        return far / self.null_deviation if self.null_deviation > 0 else None


def propensity_mse(
    original: ArrayLike,
    masked: ArrayLike,
    *,
    model: PropensityModel,
    random_state: int,
    permutations: int = PERMUTATIONS,
) -> PropensityFit:
    """Predict which rows are masked, and return the pMSE with its null expectation.

    Parameters
    ----------
    original, masked
        (rows, features) of both tables, without missing cells. For a logistic model include the
        squares and products that it shall see.
    model
        ``"logistic"``, or ``"cart"`` for a tree.
    random_state
        The seed of the tree and of the permutations.
    permutations
        How often the labels are permuted for the null of a tree, 2 or more; synthpop's 50 take
        five times as long as 10, whose deviation is a quarter off.

    Raises
    ------
    ParameterError
        If an argument isn't as described.
    DataError
        If a table has no rows or a cell isn't finite.

    Notes
    -----
    Woo, Reiter, Oganian and Karr, "Global measures of data utility for microdata masked for
    disclosure limitation" (2009); null expectations after Snoke, Raab, Nowok, Dibben and
    Slavkovic, "General and specific utility measures for synthetic data" (JRSS A 2018). Of a
    logistic model with k coefficients, N rows and a share c of masked ones it is
    ``(k - 1)(1 - c)^2 c / N``, with the deviation ``sqrt(2(k - 1))(1 - c)^2 c / N``. Of a tree both
    are those over permutations of the labels, times 1 - c: permuted labels make two independent
    samples of one population, whose pMSE is larger than the null by the factor 1 / (1 - c), 2 for
    tables of equal length. Rows count alike: sampling weights don't enter, as in synthpop.

    **Guarantees.** Tables with the same rows have a pMSE of 0.

    **Edge cases.** Rows that are masked in place may resemble the original more than drawn rows
    would: then the ratio is below 1. Features that don't vary, or repeat others, don't
    count as coefficients.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(500, 2))
    >>> propensity_mse(rows, rows, model="logistic", random_state=0).ratio < 1e-6
    True
    >>> round(propensity_mse(rows, rows + 100, model="cart", random_state=0).pmse, 3)
    0.25
    """
    one_of(("logistic", "cart"), owner="propensity_mse", model=model)
    integer_at_least(0, owner="propensity_mse", random_state=random_state)
    integer_at_least(2, owner="propensity_mse", permutations=permutations)
    features, labels = _stacked(original, masked)
    with one_thread(None):
        pmse, null, deviation = (
            _by_logistic(features, labels)
            if model == "logistic"
            else _by_tree(features, labels, random_state, permutations)
        )
    return PropensityFit(
        model=model, pmse=pmse, null=null, null_deviation=deviation, rows=len(labels)
    )


def _by_logistic(features: Floats, labels: Ints) -> tuple[float, float, float]:
    """Return the pMSE, and the mean and deviation of its null."""
    share = float(labels.mean())
    chances, n_coefficients = _logistic(features, labels)
    each = (1 - share) ** 2 * share / len(labels)
    freedom = n_coefficients - 1
    return _distance(chances, share), freedom * each, (2 * freedom) ** 0.5 * each


def _by_tree(
    features: Floats, labels: Ints, random_state: int, permutations: int
) -> tuple[float, float, float]:
    """Return the pMSE, and the mean and deviation of its null."""
    rng, share = np.random.default_rng(random_state), float(labels.mean())
    pmse, *permuted = (
        _distance(_tree(features, each, random_state), share)
        for each in (labels, *(rng.permutation(labels) for _ in range(permutations)))
    )
    mean, deviation = float(np.mean(permuted)), float(np.std(permuted, ddof=1))
    return pmse, (1 - share) * mean, (1 - share) * deviation


def _stacked(original: ArrayLike, masked: ArrayLike) -> tuple[Floats, Ints]:
    tables = [np.asarray(each, dtype=np.float64) for each in (original, masked)]
    if any(table.ndim != 2 for table in tables) or tables[0].shape[1] != tables[1].shape[1]:
        raise ParameterError(
            "The tables of propensity_mse must have the same features. "
            f"Got shapes {tables[0].shape} and {tables[1].shape}."
        )
    if not all(len(table) and np.isfinite(table).all() for table in tables):
        raise DataError("A table of propensity_mse has no rows, or cells that aren't finite.")
    labels = np.repeat([0, 1], [len(table) for table in tables])
    return np.concatenate(tables), labels


def _distance(chances: Floats, share: float) -> float:
    return float(((chances - share) ** 2).mean())


def _logistic(features: Floats, labels: Ints) -> tuple[Floats, int]:
    """Return the probability that each row is masked, and the number of coefficients."""
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415 # 1 s to import
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 # the same

    spread = features.std(axis=0)
    varying = spread > 1e-12 * np.abs(features).max(axis=0, initial=1e-300)
    scaled = (features[:, varying] - features[:, varying].mean(axis=0)) / spread[varying]
    if not scaled.shape[1]:
        return np.full(len(labels), labels.mean()), 1
    rank = int(np.linalg.matrix_rank(scaled.T @ scaled, hermitian=True))
    model = LogisticRegression(C=INVERSE_PENALTY, solver="newton-cholesky", max_iter=200)
    with warnings.catch_warnings():
        # Of few rows that a line separates, it says so however large its coefficients are.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(scaled, labels).predict_proba(scaled)[:, 1], 1 + rank


def _tree(features: Floats, labels: Ints, random_state: int) -> Floats:
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415 # 1 s to import

    if not features.shape[1]:
        return np.full(len(labels), labels.mean())
    leaf = max(LEAF_ROWS, int(LEAF_SHARE * len(labels)))
    model = DecisionTreeClassifier(min_samples_leaf=leaf, random_state=random_state)
    return np.asarray(model.fit(features, labels).predict_proba(features)[:, 1])


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalOverlap(Facts):
    """How much the confidence intervals of a regression overlap.

    Parameters
    ----------
    coefficients, mean, least
        How many coefficients were compared, and the mean and smallest overlap, in [0, 1].
    shift
        The mean absolute difference of coefficients, in original standard errors; None where the
        masked rows can't estimate one.
    rows, masked_rows
        How many complete rows each regression had.
    """

    coefficients: int
    mean: float
    least: float
    shift: float | None
    rows: int
    masked_rows: int


def interval_overlap(
    original: tuple[ArrayLike, ArrayLike],
    masked: tuple[ArrayLike, ArrayLike],
    *,
    weights: tuple[ArrayLike, ArrayLike] | None = None,
    confidence: float = 0.95,
) -> IntervalOverlap:
    """Fit a linear regression to both tables, and compare confidence intervals.

    Parameters
    ----------
    original, masked
        Features (rows, features) and target of each table. Rows with a missing cell (NaN) are left
        out.
    weights
        Sampling weights of the rows of each table, above 0; ``None``: rows count alike.
    confidence
        The confidence of the intervals, in (0, 1).

    Raises
    ------
    ParameterError
        If the tables differ in features, or features and target in length.
    DataError
        If the original has fewer complete rows than coefficients, or no feature that varies.

    Notes
    -----
    Karr, Kohnen, Oganian, Reiter and Sanil, "A framework for evaluating the utility of data altered
    to protect confidentiality" (The American Statistician 2006): the length of the intersection
    over the length of each interval, the mean of both. Least squares with an intercept, which isn't
    compared; intervals by Student's t. With weights, errors are linearized, as by R's ``svyglm``.
    A target of two values makes it a linear probability model.

    **Guarantees.** Equal tables overlap by 1. Intervals that don't meet overlap by 0, not less.

    **Edge cases.** Features that repeat others in the original are left out of both. A coefficient
    that the masked rows can't estimate overlaps by 0.

    Examples
    --------
    >>> x, y = [[0.0], [1.0], [2.0], [3.0]], [0.1, 0.9, 2.2, 2.8]
    >>> interval_overlap((x, y), (x, y)).mean
    1.0
    >>> interval_overlap((x, y), (x, [3.0, 1.9, 1.2, 0.0])).mean
    0.0
    """
    number_between(
        0, 1, owner="interval_overlap", low_open=True, high_open=True, confidence=confidence
    )
    sizes = (None, None) if weights is None else weights
    x, y, weight = _complete(*original, sizes[0])
    z, w, masked_weight = _complete(*masked, sizes[1])
    if x.shape[1] != z.shape[1]:
        raise ParameterError(
            "The tables of interval_overlap must have the same features. "
            f"Got {x.shape[1]} and {z.shape[1]}."
        )
    with one_thread(None):
        kept = independent(x)
        if not len(kept) or len(y) <= len(kept) + 1:
            raise DataError(
                "The original table has too few complete rows, or no feature that varies."
            )
        before, after = (
            fit_regression(a[:, kept], b, size, confidence=confidence)
            for a, b, size in ((x, y, weight), (z, w, masked_weight))
        )
    shared = overlaps(before, after)[1:]  # the intercept isn't compared
    with np.errstate(divide="ignore", invalid="ignore"):  # a perfect fit has no error
        shift = (np.abs(after.values - before.values) / before.errors)[1:]
    return IntervalOverlap(
        coefficients=len(kept),
        mean=float(shared.mean()),
        least=float(shared.min()),
        shift=float(shift.mean()) if np.isfinite(shift).all() else None,
        rows=len(y),
        masked_rows=len(w),
    )


def _complete(
    features: ArrayLike, target: ArrayLike, weights: ArrayLike | None
) -> tuple[Floats, Floats, Floats | None]:
    x, y = (np.asarray(each, dtype=np.float64) for each in (features, target))
    if x.ndim != 2 or y.shape != x.shape[:1]:
        raise ParameterError(
            "Features and target of interval_overlap must have the same rows. "
            f"Got shapes {x.shape} and {y.shape}."
        )
    there = np.isfinite(x).all(axis=1) & np.isfinite(y)
    if weights is None:
        return x[there], y[there], None
    sizes = np.asarray(weights, dtype=np.float64)
    if sizes.shape != y.shape or not (np.isfinite(sizes) & (sizes > 0)).all():
        raise ParameterError("The weights of interval_overlap must be one above 0 for each row.")
    return x[there], y[there], sizes[there]
