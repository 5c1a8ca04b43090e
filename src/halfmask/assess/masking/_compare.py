"""Compare a masked table with its original: what is left at risk, and what it costs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask._foreign import need
from halfmask._progress import Progress, silent
from halfmask._validation import fraction, integer_at_least, number_between
from halfmask.assess.attacks import Certain, Finding, Outcome, TableTarget, attack
from halfmask.assess.attacks._inputs import as_listed, as_table, as_whole_numbers, check_columns
from halfmask.assess.attacks.tables import DistanceLinkage, ProbabilisticLinkage, RankLinkage
from halfmask.assess.attacks.tables._links import ALL
from halfmask.assess.masking._assessment import MaskingAssessment
from halfmask.assess.masking.pairs import ColumnPair, column_pairs, stacked_columns, table_quality
from halfmask.assess.risk import IntervalScale, interval_disclosure, table_risk
from halfmask.assess.utility import categorical_change, covariance_change, numeric_change

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from halfmask.assess._arrays import Floats, Ints
    from halfmask.assess.attacks import Attack, AttackReport

#: The most pairs of people and rows that linkage compares, while it has the fewest people.
PAIRS, FEWEST_PEOPLE = 20_000_000, 100
MIN_CONTROL_EFFECT = 0.05
#: Beyond these, distances and variances overflow.
LARGEST, NEAREST = 1e100, 1e-30
CONFIDENCE = 0.95
_INTERVALS: dict[IntervalScale, str] = {"rank": "of the ranks", "deviation": "of a deviation"}


def compare_masked(  # noqa: PLR0913 # keyword-only, each with a default
    original: object,
    masked: object,
    *,
    columns: Sequence[str] | None = None,
    key_columns: Sequence[str] | None = None,
    target: str | None = None,
    categories: Sequence[str] = (),
    rows: ArrayLike | None = None,
    weights: str | None = None,
    interval: float = 0.05,
    linked_people: int = 1_000,
    tolerance: float = 0.03,
    random_state: int = 0,
    progress: Progress = silent,
) -> MaskingAssessment:
    """Measure what masking leaves at risk, and what it costs.

    Parameters
    ----------
    original, masked
        The table before and after, as frames of any library.
    columns
        The columns to compare; ``None``: all that both tables have.
    key_columns
        The columns that an attacker knows of people. Linkage by any of `columns` is always
        measured; uniqueness needs key columns.
    target
        The target of the regression; ``None``: the first column of numbers.
    categories
        Columns whose numbers are codes of categories: they aren't averaged, nor are differences.
    rows
        For each masked row the number of its original row, where rows were sampled or reordered;
        ``None``: row i of both is one person.
    weights
        The column of sampling weights, numbers above 0 in both tables: means, deviations, shares of
        categories and the regression are then weighted. Other measures count rows.
    interval
        The width of interval disclosure to either side, in (0, 0.5].
    linked_people
        Linkage is measured for so many people at most; fewer for tables of more than 20,000 rows.
    tolerance
        The excess over control and guess, in [0, 1], up to which an attack counts as resisted.
    random_state
        The seed of samples, attacks and models.
    progress
        Called with the name of each step and the fraction that is done.

    Returns
    -------
    MaskingAssessment

    Raises
    ------
    ParameterError
        If an argument isn't as described above.
    ColumnNotFoundError
        If a table lacks a named column.
    SchemaError
        If a named column holds lists, structs, bytes or foreign objects.
    DataError
        If the tables have no row or column in common, or differ in rows without `rows`, or a column
        has numbers above 1e100 or a spread below 1e-30.

    See Also
    --------
    halfmask.attack : The attacks on releases of classes.

    Notes
    -----
    **Guarantees.** Every attack has three arms and is run on the unmasked table, too: where it
    doesn't succeed there its verdict is INVALID. The same arguments give the same numbers. A masked
    table that equals the original has IL1s 0, pMSE 0 and overlap 1.

    **Edge cases.** Linkage is always among all masked rows: among some of them, rows that were
    masked alike would look rarer than they are. Of a larger table fewer people are linked, at least
    100, and the interval of the risk shows it. A masked range counts as its middle. Categories that
    the original doesn't have count as one.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> rng = np.random.default_rng(0)
    >>> original = pl.DataFrame({"income": rng.normal(50, 9, 500), "age": rng.normal(40, 9, 500)})
    >>> found = compare_masked(original, original)
    >>> found.il1s, found.worst_linkage.outcome.success.value, found.overlap.mean
    (0.0, 1.0, 1.0)
    >>> compare_masked(original, original // 10 * 10).il1s > 0.1
    True
    """
    need("numba", "scipy", "sklearn", "threadpoolctl")
    number_between(0, 0.5, owner="compare_masked", low_open=True, interval=interval)
    fraction(owner="compare_masked", tolerance=tolerance)
    integer_at_least(1, owner="compare_masked", linked_people=linked_people)
    integer_at_least(0, owner="compare_masked", random_state=random_state)
    before, after = as_table(original), as_table(masked)
    keys = _named(key_columns, "key_columns", before, after)
    compared = tuple(dict.fromkeys([*_compared(columns, before, after), *keys]))
    codes = _named(categories, "categories", before, after)
    as_categories = pl.col(codes).cast(pl.String).cast(pl.Categorical)  # no type of numbers
    before, after = (table.with_columns(as_categories) for table in (before, after))
    owners = _owners(rows, before, after)
    for table in (before, after):
        _check_sizes(table, compared)
    progress("record linkage", 0.0)
    n_people = min(linked_people, after.height, max(FEWEST_PEOPLE, PAIRS // after.height))
    linkage = _linkage(
        TableTarget(
            released=after.select(compared),
            original=before[owners].select(compared),
            quasi_identifiers=keys,
        ),
        n_people=n_people,
        tolerance=tolerance,
        random_state=random_state,
    )
    progress("utility", 0.6)
    pairs = column_pairs(before, after, compared)
    sizes = _weights_of(weights, pairs)
    numbers = [pair for pair in pairs if pair.is_number]
    result = MaskingAssessment(
        rows=after.height,
        original_rows=before.height,
        columns={
            pair.name: (numeric_change if pair.is_number else categorical_change)(
                pair.original, pair.masked, rows=owners, weights=sizes
            )
            for pair in pairs
        },
        key_columns=keys,
        linkage=linkage,
        linked_people=n_people,
        intervals=_intervals(numbers, owners, interval, tolerance),
        uniqueness=(
            (table_risk(before, quasi_identifiers=keys), table_risk(after, quasi_identifiers=keys))
            if keys
            else None
        ),
        covariances=covariance_change(*stacked_columns(numbers)),
        **table_quality(pairs, owners, target, random_state, weights),
        weights=weights,
    )
    progress("done", 1.0)
    return result


def _named(
    names: Sequence[str] | None, parameter: str, before: pl.DataFrame, after: pl.DataFrame
) -> tuple[str, ...]:
    """Return columns that were named, after a check that both tables have them."""
    found: tuple[str, ...] = as_listed(
        names or (), parameter=parameter, owner="compare_masked", of="columns"
    )
    for table, where in ((before, "the original table"), (after, "the masked table")):
        check_columns(found, table.columns, where=where)
    return found


def _weights_of(name: str | None, pairs: Sequence[ColumnPair]) -> tuple[Floats, Floats] | None:
    """Return the weights of the original and of the masked rows, or raise."""
    if name is None:
        return None
    found = next((pair for pair in pairs if pair.name == name and pair.is_number), None)
    if found is None:
        raise ParameterError(f"The weights {name!r} are none of the compared columns of numbers.")
    for each in (found.original, found.masked):
        wrong = int((~(np.isfinite(each) & (each > 0))).sum())
        if wrong:
            raise DataError(f"The weights {name!r} must be above 0, and {wrong:,} aren't.")
    return found.original, found.masked


def _compared(
    names: Sequence[str] | None, before: pl.DataFrame, after: pl.DataFrame
) -> tuple[str, ...]:
    found = _named(names, "columns", before, after)
    if names is None:
        shared = [name for name in before.columns if name in after.columns]
        found = tuple(name for name in shared if not _is_opaque(before.schema[name]))
    opaque = [name for name in found if _is_opaque(before.schema[name])]
    if opaque:
        raise SchemaError(
            f"Columns of this type can't be compared: {', '.join(map(repr, opaque))}.",
            hint="Leave out columns of lists, structs, bytes and foreign objects.",
        )
    if not found:
        raise DataError("The original and the masked table share no column that can be compared.")
    return found


def _is_opaque(dtype: pl.DataType) -> bool:
    return dtype.is_nested() or str(dtype) in {"Binary", "Object"}


def _check_sizes(table: pl.DataFrame, columns: Sequence[str]) -> None:
    """Raise if squares of a column's numbers, or of one over its spread, overflow."""
    for name in columns:
        if not table.schema[name].is_float():
            continue
        numbers = table[name].to_numpy().astype(np.float64)
        finite = numbers[np.isfinite(numbers)]
        most = float(np.abs(finite).max(initial=0.0))
        if most > LARGEST or 0.0 < float(np.ptp(finite) if len(finite) else 0.0) < NEAREST:
            raise DataError(
                f"Column {name!r} has numbers that are too large, or too near to each other.",
                hint=f"Divide it so that its numbers are below {LARGEST:g} and differ by more "
                f"than {NEAREST:g}.",
            )


def _owners(rows: ArrayLike | None, before: pl.DataFrame, after: pl.DataFrame) -> Ints:
    """Return for each masked row the number of its original row."""
    if not after.height:
        raise DataError("The masked table has no rows.")
    if rows is None:
        if before.height != after.height:
            raise DataError(
                f"The original has {before.height:,} rows, the masked table {after.height:,}.",
                hint="Give the number of each masked row's original row as rows=.",
            )
        return np.arange(after.height, dtype=np.int64)
    owners = as_whole_numbers(rows, parameter="rows", owner="compare_masked")
    if len(owners) != after.height or owners.min() < 0 or owners.max() >= before.height:
        raise ParameterError(
            "The 'rows' parameter of compare_masked must have the number of an original row for "
            f"each of the {after.height:,} masked rows. Got {len(owners):,} numbers from "
            f"{owners.min(initial=0)} to {owners.max(initial=0)}."
        )
    if len(np.unique(owners)) < len(owners):
        raise ParameterError("The 'rows' parameter of compare_masked names an original row twice.")
    return owners


def _linkage(
    target: TableTarget, *, n_people: int, tolerance: float, random_state: int
) -> AttackReport:
    """Link people to their masked rows, and to their unmasked ones."""
    attacks: list[Attack] = [
        DistanceLinkage(n_attacks=n_people),
        ProbabilisticLinkage(n_attacks=n_people),
        RankLinkage(n_attacks=n_people),
    ]
    return attack(
        target,
        unprotected=replace(target, released=target.original),
        attacks=[each for each in attacks if not each.missing_inputs(target)],
        measures=None if target.quasi_identifiers else [ALL],
        tolerance=tolerance,
        min_control_effect=max(tolerance, MIN_CONTROL_EFFECT),
        confidence=CONFIDENCE,
        random_state=random_state,
    )


def _intervals(
    pairs: Sequence[ColumnPair], owners: Ints, width: float, tolerance: float
) -> tuple[Finding, ...]:
    """Return the interval disclosure of each column of numbers, compared with unmasked ones."""
    findings = []
    for pair in pairs:
        true = pair.original[owners]
        if np.isnan(true).all():
            continue
        for scale, of in _INTERVALS.items():
            outcomes = []
            for released in (pair.masked, true):
                risk = interval_disclosure(true, released, width=width, scale=scale)
                outcomes.append(
                    Outcome(
                        attack="interval-disclosure",
                        measure=f"share within {width:.3g} {of} of {pair.name!r}",
                        success=Certain(risk.value, len(true)),
                        control=Certain(risk.control or 0.0),
                        baseline=Certain(risk.baseline or 0.0),
                        needed=1,
                        needed_of="rows",
                        column=pair.name,
                    )
                )
            findings.append(
                Finding(
                    outcome=outcomes[0],
                    positive_control=outcomes[1],
                    tolerance=tolerance,
                    min_control_effect=max(tolerance, MIN_CONTROL_EFFECT),
                    error=1 - CONFIDENCE,
                )
            )
    return tuple(findings)
