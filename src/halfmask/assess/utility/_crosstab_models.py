"""What an analyst of a table still finds: a test of independence, and a regression on its codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import ParameterError
from halfmask._facts import Facts

if TYPE_CHECKING:
    from halfmask.assess._arrays import Bools, Floats, Ints
    from halfmask.crosstabs import CrosstabChange, PublishedCells

_ROUNDS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class IndependenceTest(Facts):
    """Pearson's chi-square test of mutual independence."""

    statistic: float
    degrees: int
    p_value: float
    #: Of a table with two dimensions; None with more.
    cramers_v: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CrosstabUtility(Facts):
    """What protection costs an analyst of a table.

    Parameters
    ----------
    change
        Cells and value hidden, and distances.
    test_before, test_after
        The test of independence on true and on published inner cells; None for sums, with fewer
        than two dimensions, or where too few cells are left.
    effects
        How many effects of codes a main-effects model has: Poisson for counts, log-linear for
        sums. 0 if none can be estimated.
    lost
        How many of them can't be estimated from published cells.
    mean_difference, largest_difference
        Absolute differences of the others, on the log scale; None without any.
    """

    change: CrosstabChange
    test_before: IndependenceTest | None
    test_after: IndependenceTest | None
    effects: int
    lost: int
    mean_difference: float | None
    largest_difference: float | None


def crosstab_utility(published: PublishedCells, table: str) -> CrosstabUtility:
    """Compare a test and a regression on a table before and after protection.

    Parameters
    ----------
    published
        True and published cells, as the tables of a release have them.
    table
        The name of the table.

    Raises
    ------
    ParameterError
        If there is no such table.

    Notes
    -----
    Both look at cells whose codes are no sums. Combinations without a cell are 0. Hidden cells are
    left out, as an analyst would: expected counts are then those of quasi-independence, found by
    iterative proportional fitting, with a degree of freedom less for each (Bishop, Fienberg and
    Holland, "Discrete multivariate analysis", 1975, chapter 5). The model has main effects of each
    dimension; each dimension's effects are centred before they are compared.

    Examples
    --------
    >>> import polars as pl
    >>> import halfmask as hm
    >>> people = pl.DataFrame({"town": ["u", "b"] * 20, "ill": (["y"] * 3 + ["n"]) * 10})
    >>> release = hm.crosstab(people, rows="town", columns="ill", min_frequency=3)
    >>> utility = crosstab_utility(release.facts.tables[0].published, "counts")
    >>> utility.change.hidden_cells, utility.lost
    (0.0, 0)
    """
    from halfmask.crosstabs import crosstab_change  # noqa: PLC0415 # loads scipy

    cells = published.cells
    if table not in cells.tables:
        raise ParameterError(f"There is no table {table!r}.", hint=f"There are {[*cells.tables]}.")
    own = cells.tables[table]
    true, shown, is_shown = _inner(published, own)
    everywhere = np.ones_like(is_shown)
    before, effects_before = _expected(true, everywhere)
    after, effects_after = _expected(shown, is_shown)
    n_effects = sum(int(np.isfinite(each).sum()) for each in effects_before)
    apart = np.concatenate(
        [np.zeros(0), *(_apart(*both) for both in zip(effects_before, effects_after, strict=True))]
    )
    tested = cells.is_count and true.ndim > 1
    return CrosstabUtility(
        change=crosstab_change(published, own),
        test_before=_test(true, before, everywhere) if tested else None,
        test_after=_test(shown, after, is_shown) if tested else None,
        effects=n_effects,
        lost=n_effects - len(apart),
        mean_difference=float(apart.mean()) if len(apart) else None,
        largest_difference=float(apart.max()) if len(apart) else None,
    )


def _inner(published: PublishedCells, own: Ints) -> tuple[Floats, Floats, Bools]:
    """Return true and published inner cells as arrays, and which are published."""
    from halfmask.crosstabs import inner_places  # noqa: PLC0415 # loads scipy

    cells = published.cells
    codes = cells.codes[own]
    totals = [each.position[each.total] for each in cells.dimensions]
    axes = frozenset(np.flatnonzero((codes != totals).any(axis=0)).tolist())
    shape, inner, places = inner_places(cells.dimensions, codes, axes)
    true, shown, is_shown = np.zeros(shape), np.zeros(shape), np.ones(shape, dtype=bool)
    true[places] = cells.value[own][inner]
    shown[places] = np.nan_to_num(published.value[own][inner])
    is_shown[places] = ~published.hidden[own][inner]
    crossed = tuple(shape[axis] for axis in sorted(axes))
    return true.reshape(crossed), shown.reshape(crossed), is_shown.reshape(crossed)


def _expected(counts: Floats, used: Bools) -> tuple[Floats, list[Floats]]:
    """Return expected counts of independence, and the effect of each code on the log scale.

    The fit of a Poisson model with main effects, which for counts and sums from 0 is the fit of
    all one-way totals over the cells that are used. Codes without a count have no effect.
    """
    weights = used.astype(np.float64)
    counts = np.where(used, np.maximum(counts, 0.0), 0.0)
    factors = [np.ones(size) for size in counts.shape]
    for _ in range(_ROUNDS):
        before = np.concatenate(factors) if factors else np.zeros(0)
        for axis in range(counts.ndim):
            others = tuple(each for each in range(counts.ndim) if each != axis)
            fitted = (_product(factors) * weights).sum(axis=others)
            ratio = np.divide(
                counts.sum(axis=others), fitted, out=np.zeros_like(fitted), where=fitted > 0
            )
            factors[axis] = factors[axis] * ratio
        if not factors or np.allclose(np.concatenate(factors), before, rtol=1e-10, atol=0):
            break
    with np.errstate(divide="ignore"):
        effects = [np.where(factor > 0, np.log(factor), np.nan) for factor in factors]
    return _product(factors) * weights, effects


def _apart(before: Floats, after: Floats) -> Floats:
    """Return how far the effects differ that both have: each is about the mean of these."""
    both = np.isfinite(before) & np.isfinite(after)
    moved = (before - after)[both]
    return np.abs(moved - moved.mean()) if len(moved) else moved


def _product(factors: list[Floats]) -> Floats:
    made: Floats = np.array(1.0)
    for factor in factors:
        made = made[..., None] * factor
    return made


def _test(counts: Floats, expected: Floats, used: Bools) -> IndependenceTest | None:
    from scipy.stats import chi2  # noqa: PLC0415 # scipy loads late

    tested = used & (expected > 0)
    # Codes without a count have no row or column.
    sizes = [
        int((tested.sum(axis=tuple(set(range(tested.ndim)) - {axis})) > 0).sum())
        for axis in range(tested.ndim)
    ]
    degrees = int(tested.sum()) - 1 - sum(size - 1 for size in sizes)
    if degrees < 1:
        return None
    statistic = float(((counts - expected)[tested] ** 2 / expected[tested]).sum())
    n, least = float(counts[tested].sum()), min(sizes) - 1
    return IndependenceTest(
        statistic=statistic,
        degrees=degrees,
        p_value=float(chi2.sf(statistic, degrees)),
        cramers_v=float(np.sqrt(statistic / (n * least))) if counts.ndim == 2 and n else None,
    )
