"""The owner's own regression, fitted to the original and to the released rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np
import polars as pl

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask._facts import Facts
from halfmask._foreign import need
from halfmask.assess._one_thread import one_thread
from halfmask.assess.attacks._inputs import as_table, check_columns
from halfmask.assess.attacks.tables._matching import match
from halfmask.assess.masking.pairs import CONFIDENCE
from halfmask.assess.utility import FittedRegression, fit_regression, overlaps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.assess._arrays import Floats

Family: TypeAlias = Literal["linear", "logistic"]

_NAME: Final = r"(?:`([^`]+)`|([^\W\d][\w.]*))"
_TERM: Final = re.compile(rf"\s*(?:{_NAME}|C\(\s*{_NAME}\s*\))\s*")
#: More coefficients are no regression of an office, but a column of names.
_MOST_COEFFICIENTS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RegressionUtility(Facts):
    """A regression on the original and on the released rows.

    Parameters
    ----------
    formula, weights, family
        As given; and ``"linear"`` or ``"logistic"``.
    rows, released_rows
        How many rows each regression used.
    left_out, released_left_out
        How many rows it left out: a cell is missing, suppressed or no single category.
    coefficients
        The intercept first: ``name``, such as ``"age"`` or ``"sex = m"``; ``original`` and
        ``released`` with ``error`` and ``released_error``, standard errors; ``difference`` in
        original standard errors; ``overlap`` of both 95 % confidence intervals.
    """

    facts = (
        "formula", "weights", "family", "rows", "left_out", "released_rows", "released_left_out",
        "mean_overlap", "least_overlap", "coefficients=_as_rows",
    )  # fmt: skip

    formula: str
    weights: str | None
    family: Family
    rows: int
    released_rows: int
    left_out: int
    released_left_out: int
    coefficients: pl.DataFrame

    @property
    def mean_overlap(self) -> float:
        """The mean overlap of confidence intervals, 1 at best."""
        return float(self.coefficients["overlap"].to_numpy().mean())

    @property
    def least_overlap(self) -> float:
        """The smallest overlap of confidence intervals."""
        return float(self.coefficients["overlap"].to_numpy().min())

    @property
    def _as_rows(self) -> list[dict[str, object]]:
        return self.coefficients.to_dicts()

    def __repr__(self) -> str:
        found = f"{self.coefficients.height} coefficients, mean overlap {self.mean_overlap:.3f}"
        return f"RegressionUtility({self.family}, {found})"


def compare_regression(
    original: object,
    released: object,
    formula: str,
    *,
    weights: str | None = None,
) -> RegressionUtility:
    """Fit one regression to original and released rows, and compare coefficients.

    Parameters
    ----------
    original, released
        The table before and after, as frames of any library. Rows needn't be in the same order.
    formula
        Columns, such as ``"income ~ age + C(sex)"``. ``C()`` makes numbers categories. A name that
        isn't of letters, digits, ``_`` and ``.`` stands in backticks.
    weights
        The column of sampling weights in both tables; ``None``: rows count alike.

    Returns
    -------
    RegressionUtility

    Raises
    ------
    ParameterError
        If the formula isn't as described, or has more than 200 coefficients.
    ColumnNotFoundError
        If a table lacks a column of it, or the weights.
    SchemaError
        If a column holds times, lists or structs, or numbers that floats can't tell apart.
    DataError
        If the outcome doesn't vary, a weight is missing or not above 0, or the original rows are
        too few, or can't be fitted.

    Notes
    -----
    An outcome of two categories, or of the numbers 0 and 1, is fitted by logistic regression, any
    other number by least squares. Texts and truth values are categories. The first of the sorted
    original categories is the reference; of an outcome the second is what is predicted.

    Overlap: Karr, Kohnen, Oganian, Reiter and Sanil, "A framework for evaluating the utility of
    data altered to protect confidentiality" (2006), the mean of the intersection over either
    interval. With weights, estimates are those of ``svyglm`` of R's survey package for a design
    without strata and clusters: linearized errors, and Student's t with n - k degrees of freedom.
    Without, they are those of ``lm`` and ``glm``: Student's t, or the normal law for a logistic
    regression.

    **Guarantees.** Equal tables have differences 0 and overlaps 1. The representation holds no
    cell. A level that no released row has isn't named.

    **Edge cases.** A range counts as its middle: coefficients on it are biased, see
    docs/how-to/read-a-release.md. Rows with a missing or suppressed cell, with several categories
    in a cell, or with a category that no original row has are left out, and counted. A coefficient
    that the released rows can't estimate overlaps by 0. Columns that others add up to are left out.

    Examples
    --------
    >>> people = pl.DataFrame({"pay": [3.0, 5, 6, 9, 9, 12], "age": [20, 30, 40, 50, 60, 70]})
    >>> found = compare_regression(people, people.with_columns(pl.col("age") + 5), "pay ~ age")
    >>> found.coefficients.select("name", pl.col("difference").round(2)).rows()
    [('intercept', -1.08), ('age', 0.0)]
    """
    need("scipy")
    outcome, terms = read_formula(formula)
    before, after = as_table(original), as_table(released)
    names = [outcome.name, *(each.name for each in terms), *([] if weights is None else [weights])]
    check_columns(names, before.columns, where="the original table")
    check_columns(names, after.columns, where="the released table")
    family, aim = _outcome(outcome, before, after)
    columns = [_columns_of(each, before, after) for each in terms]
    labels = [label for each in columns for label in each[0]]
    if len(labels) >= _MOST_COEFFICIENTS:
        raise ParameterError(
            f"The formula has {len(labels):,} coefficients, and at most {_MOST_COEFFICIENTS} are "
            "compared.",
            hint="Leave out C() of columns with many categories.",
        )
    fitted = [
        _fitted(table, [each[1][place] for each in columns], aim[place], weights)
        for place, table in enumerate((before, after))
    ]
    with one_thread(None):
        is_logistic = family == "logistic"
        old = fit_regression(*fitted[0], is_logistic=is_logistic, confidence=CONFIDENCE)
        kept = np.flatnonzero(np.isfinite(old.values[1:]))
        if not len(kept):
            raise DataError(
                "The original rows are too few for this regression, or separate its outcomes.",
                hint="Use fewer columns, or merge categories.",
            )
        x, y, sizes = fitted[1]
        new = fit_regression(x[:, kept], y, sizes, is_logistic=is_logistic, confidence=CONFIDENCE)
    old = FittedRegression(*(each[np.r_[0, 1 + kept]] for each in old))
    used = [len(each[1]) for each in fitted]
    return RegressionUtility(
        formula=formula,
        weights=weights,
        family=family,
        rows=used[0],
        left_out=before.height - used[0],
        released_rows=used[1],
        released_left_out=after.height - used[1],
        coefficients=_compared(["intercept", *(labels[place] for place in kept)], old, new),
    )


@dataclass(frozen=True, slots=True)
class _Term:
    """A column of a formula, and whether its numbers are categories."""

    name: str
    is_category: bool


def read_formula(formula: str) -> tuple[_Term, list[_Term]]:
    """Return the outcome and the terms of a formula of columns, ``+`` and ``C()``."""
    sides = str(formula).split("~")
    found = [_TERM.fullmatch(each) for each in (sides[0], *sides[-1].split("+"))]
    if len(sides) != 2 or None in found:
        raise ParameterError(
            "The formula can't be read: it takes columns, + and C() only.",
            hint="Write it as in 'income ~ age + C(sex)', and names with other signs in backticks. "
            "Compute products and logarithms as columns of both tables.",
        )
    terms = []
    for each in found:
        groups = () if each is None else each.groups()
        name = next(it for it in groups if it)
        terms.append(_Term(name, not any(groups[:2])))
    names = [each.name for each in terms]
    if len(set(names)) < len(names):
        raise ParameterError("The formula names a column twice.")
    return terms[0], terms[1:]


def _is_category(term: _Term, column: pl.Series) -> bool:
    dtype = column.dtype
    if dtype.is_temporal() or dtype.is_nested() or dtype in {pl.Binary, pl.Object}:
        raise SchemaError(
            f"Column {term.name!r} of the formula has the type {dtype.base_type()}, and takes "
            "numbers, texts or truth values.",
            hint="Add a column with numbers of it to both tables, such as years.",
        )
    return term.is_category or not dtype.is_numeric()


def _numbers(name: str, before: pl.Series, after: pl.Series) -> tuple[Floats, Floats]:
    """Return a column of numbers of both tables; NaN where a cell has none."""
    found = []
    for column in (before, after):
        if column.dtype.is_numeric():
            found.append(column.cast(pl.Float64).fill_null(float("nan")).to_numpy())
            continue
        read = match(name, column, [before])
        if read.reader is None or read.reader.origin is not None:
            raise SchemaError(
                f"Column {name!r} has numbers that a regression can't compute with.",
                hint="Round them in both tables.",
            )
        found.append(read.cells.middle)
    return found[0], found[1]


def _levels(name: str, before: pl.Series, after: pl.Series) -> tuple[list[str], Floats, Floats]:
    """Return the names of original categories, and their codes in both tables."""
    if before.dtype.is_numeric():
        if after.dtype.is_numeric():  # 2.0 is the code 2, and 2.5 is none
            same = after.cast(before.dtype, strict=False)
            after = same.set((same != after).fill_null(value=False), None)
        before, after = before.cast(pl.String), after.cast(pl.String)
    read = match(name, after, [before])
    if read.is_number:  # texts of numbers, released as ranges
        categories = before.drop_nulls().unique().sort().to_list()
        known, found = (_coded(each, categories) for each in (before, after))
    else:
        categories, cells = list(read.categories), read.cells
        known = read.known(before)
        found = np.where(cells.single & (cells.codes < len(categories)), cells.codes, np.nan)
    if len(categories) < 2:
        raise DataError(f"Column {name!r} of the formula has fewer than two categories.")
    there = set(found[np.isfinite(found)].tolist())
    names = [
        text if place in there else f"level {place + 1}" for place, text in enumerate(categories)
    ]
    return names, known, found


def _coded(texts: pl.Series, categories: Sequence[str]) -> Floats:
    codes = pl.Series(range(len(categories)), dtype=pl.Float64)
    found = texts.replace_strict(
        pl.Series(categories, dtype=pl.String), codes, default=None, return_dtype=pl.Float64
    )
    return np.asarray(found.fill_null(float("nan")).to_numpy())


def _columns_of(
    term: _Term, before: pl.DataFrame, after: pl.DataFrame
) -> tuple[list[str], tuple[Floats, Floats]]:
    """Return the coefficients of a term, and its columns in both tables."""
    columns = before[term.name], after[term.name]
    if not _is_category(term, columns[0]):
        x, z = _numbers(term.name, *columns)
        return [term.name], (x[:, None], z[:, None])
    shown, *codes = _levels(term.name, *columns)
    places = np.arange(1, len(shown))
    x, z = (
        np.where(np.isnan(each)[:, None], np.nan, each[:, None] == places[None, :])
        for each in codes
    )
    return [f"{term.name} = {each}" for each in shown[1:]], (x, z)


def _outcome(
    term: _Term, before: pl.DataFrame, after: pl.DataFrame
) -> tuple[Family, tuple[Floats, Floats]]:
    """Return what the outcome is fitted by, and its numbers in both tables."""
    columns = before[term.name], after[term.name]
    if _is_category(term, columns[0]):
        shown, y, w = _levels(term.name, *columns)
        if len(shown) > 2:
            raise ParameterError(
                f"The outcome {term.name!r} has {len(shown):,} categories, and a regression takes "
                "a number or two categories.",
                hint="Make a column that says whether a row has the category of interest.",
            )
        return "logistic", (y, w)
    y, w = _numbers(term.name, *columns)
    there = np.unique(y[np.isfinite(y)])
    if len(there) < 2:
        raise DataError(f"The outcome {term.name!r} doesn't vary.")
    if there.tolist() == [0.0, 1.0]:
        return "logistic", (y, np.where(np.isin(w, there), w, np.nan))
    return "linear", (y, w)


def _fitted(
    table: pl.DataFrame, columns: Sequence[Floats], target: Floats, weights: str | None
) -> tuple[Floats, Floats, Floats | None]:
    """Return features, outcome and weights of the rows that have all of them."""
    features = np.hstack(columns)
    used = np.isfinite(features).all(axis=1) & np.isfinite(target)
    sizes = None if weights is None else _weights_of(table[weights])[used]
    return features[used], target[used], sizes


def _weights_of(column: pl.Series) -> Floats:
    """Return sampling weights, or raise."""
    if not column.dtype.is_numeric():
        raise DataError(
            f"The weights in column {column.name!r} aren't numbers in both tables.",
            hint="Release them without a recoding, or leave the weights out.",
        )
    found = column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    wrong = int((~(np.isfinite(found) & (found > 0))).sum())
    if wrong:
        raise DataError(
            f"The weights in column {column.name!r} must be above 0. {wrong:,} aren't.",
            hint="Leave out rows without a weight.",
        )
    return np.asarray(found)


def _compared(
    names: Sequence[str], before: FittedRegression, after: FittedRegression
) -> pl.DataFrame:
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = (after.values - before.values) / before.errors
    found = {
        "original": before.values,
        "error": before.errors,
        "released": after.values,
        "released_error": after.errors,
        "difference": np.where(after.values == before.values, 0.0, apart),
        "overlap": overlaps(before, after),
    }
    finite = {name: np.where(np.isfinite(each), each, np.nan) for name, each in found.items()}
    return pl.DataFrame({"name": names, **finite}).fill_nan(None)
