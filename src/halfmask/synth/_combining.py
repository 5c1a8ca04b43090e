"""Combining rules: one estimate and its interval from several synthetic tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from halfmask._errors import ParameterError
from halfmask._validation import one_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedEstimate:
    """An estimate from several synthetic tables.

    Parameters
    ----------
    estimate
        The mean of the tables' estimates.
    variance
        Of that mean, what synthesis adds included.
    degrees_of_freedom
        Of the t-distribution that intervals come from; infinite for the normal distribution.
    tables
        How many tables were combined.
    """

    estimate: float
    variance: float
    degrees_of_freedom: float
    tables: int

    @property
    def standard_error(self) -> float:
        """The square root of the variance."""
        return float(np.sqrt(self.variance))

    def interval(self, level: float) -> tuple[float, float]:
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
        reach = float(t.ppf(0.5 + level / 2, self.degrees_of_freedom)) * self.standard_error
        return self.estimate - reach, self.estimate + reach


def combine_estimates(
    estimates: ArrayLike, variances: ArrayLike, *, kind: Literal["full", "partial"]
) -> CombinedEstimate:
    """Combine what was estimated on each of several synthetic tables of one original.

    Parameters
    ----------
    estimates
        The estimate of each table, two at least: a mean, a coefficient.
    variances
        Its variance as usual software states it for that table, (tables,).
    kind
        ``"full"``: every cell is synthetic; ``"partial"``: some columns or cells are.

    Raises
    ------
    ParameterError
        If there are fewer than two tables, lengths differ, a number isn't finite, or a variance is
        negative.

    Notes
    -----
    With m tables, mean q, mean variance u and variance between tables b, the variance is:

    - full: (1 + 1/m) b - u. Raghunathan, Reiter and Rubin, "Multiple imputation for statistical
      disclosure limitation" (2003), section 2. Where that is negative, which happens with few
      tables, it is u, as Reiter, "Satisfying disclosure restrictions with synthetic data sets"
      (2002) proposes for tables of the original's size;
    - partial: u + b/m. Reiter, "Inference for partially synthetic, public use microdata sets"
      (2003), section 3.

    Degrees of freedom are (m - 1) (1 - m u / ((m + 1) b))**2 for full and (m - 1) (1 + m u / b)**2
    for partial.

    **Edge cases.** If all tables agree (b = 0), the variance is u, and intervals are normal.

    Examples
    --------
    >>> found = combine_estimates([10.2, 9.8, 10.3], [0.04, 0.05, 0.04], kind="partial")
    >>> round(found.estimate, 2), round(found.variance, 4)
    (10.1, 0.0667)
    """
    one_of(("full", "partial"), owner="combine_estimates", kind=kind)
    q, u = np.asarray(estimates, dtype=np.float64), np.asarray(variances, dtype=np.float64)
    if q.ndim != 1 or q.shape != u.shape or len(q) < 2:
        raise ParameterError(
            "combine_estimates needs one estimate and one variance of each of two tables at least. "
            f"Got shapes {q.shape} and {u.shape}."
        )
    if not (np.isfinite(q).all() and np.isfinite(u).all() and (u >= 0).all()):
        raise ParameterError("Estimates must be finite, and variances finite and at least 0.")
    m, within, between = len(q), float(u.mean()), float(q.var(ddof=1))
    variance, freedom = within, np.inf
    if between > 0 and kind == "partial":
        variance = within + between / m
        freedom = (m - 1) * (1 + m * within / between) ** 2
    elif between > 0:
        added = (1 + 1 / m) * between - within
        if added > 0:
            variance = added
            freedom = (m - 1) * (1 - m * within / ((m + 1) * between)) ** 2
    return CombinedEstimate(
        estimate=float(q.mean()), variance=variance, degrees_of_freedom=float(freedom), tables=m
    )
