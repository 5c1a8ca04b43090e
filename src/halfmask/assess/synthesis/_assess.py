"""assess_synthetic: measure what synthetic rows reveal, and what they are good for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import DataError
from halfmask._optional import need
from halfmask._progress import Progress, silent
from halfmask.assess.attacks import Shuffled, attack_shuffled
from halfmask.assess.attacks._inputs import as_table
from halfmask.assess.masking._fits import regression_overlap, regression_target, separation
from halfmask.assess.masking.pairs import (
    column_pairs,
    has_few_categories,
    stacked_columns,
)
from halfmask.assess.synthesis._assessment import LEAST_CONTROL, SynthesisAssessment
from halfmask.assess.synthesis._trained_models import LearnerScores, trained_models
from halfmask.assess.synthesis.marginals import marginal_distances
from halfmask.assess.utility import correlation_change, cramers_v_change

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from halfmask.assess.attacks import AttackReport

#: Attacks compare so many rows of each table at most.
ATTACKED_ROWS = 15_000


def assess_synthetic(
    original: object,
    synthetic: object,
    *,
    control: object,
    quasi_identifiers: Sequence[str] = (),
    secrets: Sequence[str] = (),
    label: str | None = None,
    random_state: int = 0,
    progress: Progress = silent,
) -> SynthesisAssessment:
    """Measure what synthetic rows reveal about the rows that they were learnt from.

    Parameters
    ----------
    original
        The rows that were learnt from, as a frame of any library.
    synthetic
        The drawn rows.
    control
        Rows of the same population that weren't learnt from; fewer than 20 show nothing.
    quasi_identifiers, secrets
        The columns that an attacker knows, and those that they want to learn.
    label
        The column that models predict.
    random_state
        The seed of samples, attacks and models.
    progress
        Called with the name of each step and the fraction that is done.

    Returns
    -------
    SynthesisAssessment

    Raises
    ------
    DataError
        If a table has no rows, or the control holds rows of the original.

    Notes
    -----
    Singling out, linkability, inference and membership are run on the synthetic rows and, as
    positive control, on the original ones. Each is compared with the same attack on control rows.

    **Edge cases.** Of tables with more than 15,000 rows attacks see a random part.

    Examples
    --------
    >>> import polars as pl
    >>> rng = np.random.default_rng(0)
    >>> rows = pl.DataFrame({"x": rng.normal(size=600), "y": rng.integers(0, 3, 600)})
    >>> found = assess_synthetic(rows[:400], rows[:400], control=rows[400:])
    >>> found.copied, round(found.marginals[0].mean, 3)
    (400, 0.0)
    """
    need("numba", "scipy", "sklearn", "threadpoolctl")
    tables = [as_table(each) for each in (original, synthetic, control)]
    learnt, drawn, others = tables
    if not learnt.height or not drawn.height:
        raise DataError("A table without rows can't be compared.")
    columns = [name for name, dtype in learnt.schema.items() if not dtype.is_nested()]
    pairs = column_pairs(learnt, drawn, columns)
    by_chance = column_pairs(learnt, others, columns) if others.height >= LEAST_CONTROL else None
    progress("attacks", 0.0)
    report = None
    if by_chance is not None:
        report = _attacked(tables, quasi_identifiers, secrets, random_state)
    progress("quality", 0.6)
    numbers = [pair for pair in pairs if pair.is_number]
    groups = [pair for pair in pairs if not pair.is_number and has_few_categories(pair)]
    owners = np.arange(drawn.height) % learnt.height
    aim = regression_target(None, pairs)
    scores: tuple[LearnerScores, ...] = ()
    if label is not None and by_chance is not None:
        scores = trained_models(pairs, by_chance, label, random_state=random_state)
    return SynthesisAssessment(
        rows=drawn.height,
        original_rows=learnt.height,
        control_rows=others.height,
        copied=_equal(drawn, learnt, columns),
        control_copied=_equal(others, learnt, columns) if others.height else 0,
        attacks=report,
        marginals=marginal_distances(pairs, by_chance, random_state=random_state),
        correlations=correlation_change(*stacked_columns(numbers)),
        cramers_v=cramers_v_change(*stacked_columns(groups)),
        propensity=separation(pairs, owners, random_state),
        overlap=None if aim is None else regression_overlap(pairs, aim, owners, random_state),
        target=None if aim is None else aim.name,
        label=label,
        learners=scores,
    )


def _attacked(
    tables: Sequence[pl.DataFrame],
    quasi_identifiers: Sequence[str],
    secrets: Sequence[str],
    random_state: int,
) -> AttackReport:
    """Run all attacks that need no pairing, and membership by densities."""
    learnt, drawn, others = (
        each.sample(ATTACKED_ROWS, seed=random_state) if each.height > ATTACKED_ROWS else each
        for each in tables
    )
    return attack_shuffled(
        Shuffled(
            released=drawn,
            original=learnt,
            control=others,
            quasi_identifiers=tuple(quasi_identifiers),
            secrets=tuple(secrets),
            unchanged=frozenset(),
            hierarchies={},
        ),
        random_state=random_state,
    )


def _equal(some: pl.DataFrame, others: pl.DataFrame, columns: Sequence[str]) -> int:
    rows = others.select(columns).unique()
    return some.select(columns).join(rows, on=columns, how="semi", nulls_equal=True).height
