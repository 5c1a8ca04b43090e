"""Combining rules: one estimate and its interval from several synthetic or imputed tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from halfmask._errors import ParameterError
from halfmask._validation import one_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedEstimate:
    """An estimate from several tables, or an array of them where several were given.

    Parameters
    ----------
    estimate
        The mean of the tables' estimates.
    variance
        Of that mean, what synthesis or imputation adds included.
    degrees_of_freedom
        Of the t-distribution that intervals come from; infinite for the normal distribution.
    tables
        How many tables were combined.
    missing_information
        Of imputed tables: the share of the variance, 0 to 1, that comes of what the release
        doesn't say.
    """

    estimate: Any
    variance: Any
    degrees_of_freedom: Any
    tables: int
    missing_information: Any = None

    @property
    def standard_error(self) -> Any:  # noqa: ANN401 # a number or an array
        """The square root of the variance."""
        return np.sqrt(self.variance)

    def interval(self, level: float) -> tuple[Any, Any]:
        """Return the interval that holds the true value with a probability.

        Parameters
        ----------
        level
            The probability, in (0, 1), such as 0.95.
        """
        from scipy.stats import t  # noqa: PLC0415 # loads late

        if not 0 < level < 1:
            raise ParameterError(
                f"The 'level' parameter of interval must be a number in (0, 1). Got {level}."
            )
        reach = t.ppf(0.5 + level / 2, self.degrees_of_freedom) * self.standard_error
        return self.estimate - reach, self.estimate + reach


def combine_estimates(
    estimates: ArrayLike,
    variances: ArrayLike,
    *,
    kind: Literal["imputed", "full", "partial"],
) -> CombinedEstimate:
    """Combine what was estimated on each of several tables of one original.

    Parameters
    ----------
    estimates
        The estimate of each table, two at least: a mean, a coefficient; or an array of several.
    variances
        Its variance as usual software states it for that table: the standard error squared.
    kind
        ``"imputed"``: tables of `halfmask.impute_release`; ``"full"``: every cell is synthetic;
        ``"partial"``: some columns or cells are.

    Raises
    ------
    ParameterError
        If there are fewer than two tables, shapes differ, a number isn't finite, or a variance is
        negative.

    Notes
    -----
    With m tables, mean q, mean variance u and variance between tables b, the variance is:

    - imputed: u + (1 + 1/m) b. Rubin, "Multiple imputation for nonresponse in surveys" (1987);
    - full: (1 + 1/m) b - u. Raghunathan, Reiter and Rubin, "Multiple imputation for statistical
      disclosure limitation" (2003), section 2. Where that is negative, which happens with few
      tables, it is u, as Reiter, "Satisfying disclosure restrictions with synthetic data sets"
      (2002) proposes for tables of the original's size;
    - partial: u + b/m. Reiter, "Inference for partially synthetic, public use microdata sets"
      (2003), section 3.

    Degrees of freedom are (m - 1) (1 + r)**2, where r is u over what is added to it, and
    (m - 1) (1 - m u / ((m + 1) b))**2 for full.

    **Edge cases.** If all tables agree (b = 0), the variance is u, and intervals are normal.

    Examples
    --------
    >>> found = combine_estimates([10.2, 9.8, 10.3], [0.04, 0.05, 0.04], kind="partial")
    >>> round(found.estimate, 2), round(found.variance, 4)
    (10.1, 0.0667)
    >>> found = combine_estimates([[1.0, 5.0], [1.2, 5.0]], [[0.04, 1.0]] * 2, kind="imputed")
    >>> found.standard_error.round(3)
    array([0.265, 1.   ])
    """
    one_of(("imputed", "full", "partial"), owner="combine_estimates", kind=kind)
    q, u = np.asarray(estimates, dtype=np.float64), np.asarray(variances, dtype=np.float64)
    if q.ndim not in {1, 2} or q.shape != u.shape or len(q) < 2 or not q.size:
        raise ParameterError(
            "combine_estimates needs one estimate and one variance of each of two tables at least. "
            f"Got shapes {q.shape} and {u.shape}."
        )
    if not (np.isfinite(q).all() and np.isfinite(u).all() and (u >= 0).all()):
        raise ParameterError("Estimates must be finite, and variances finite and at least 0.")
    m, within, between = len(q), u.mean(axis=0), q.var(axis=0, ddof=1)
    added = between / m if kind == "partial" else (1 + 1 / m) * between
    sign = -1 if kind == "full" else 1
    variance = added + sign * within
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = (m - 1) * (1 + sign * within / added) ** 2
        missing = np.where(between > 0, added / variance, 0.0)
    usable = (between > 0) & (variance > 0)

    def plain(found: Any) -> Any:  # noqa: ANN401 # a number or an array
        return float(found) if q.ndim == 1 else found

    return CombinedEstimate(
        estimate=plain(q.mean(axis=0)),
        variance=plain(np.where(usable, variance, within)),
        degrees_of_freedom=plain(np.where(usable, freedom, np.inf)),
        tables=m,
        missing_information=plain(missing) if kind == "imputed" else None,
    )
