"""assess_synthetic: measure what synthetic rows reveal, and what they are good for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import DataError
from halfmask._facts import facts_of
from halfmask._foreign import need
from halfmask._progress import Progress, silent
from halfmask.assess.attacks import Shuffled, attack_shuffled, explain_verdicts
from halfmask.assess.attacks._inputs import as_table
from halfmask.assess.masking._assessment import html_of
from halfmask.assess.masking.pairs import column_pairs, table_quality
from halfmask.assess.risk import percent
from halfmask.assess.synthesis.quality import LearnerScores, marginal_distances, trained_models
from halfmask.release import TableBlock

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from halfmask.assess.attacks import AttackReport, Finding
    from halfmask.assess.synthesis.quality import MarginalDistance
    from halfmask.assess.utility import AssociationChange, IntervalOverlap, PropensityFit


#: With fewer rows set aside nothing is compared with them.
LEAST_CONTROL = 20
_NONE = "—"
_UTILITY = (
    "marginals", "correlations", "cramers_v", "propensity", "interval_overlap=overlap", "target",
    "label", "learners",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisAssessment:
    """What synthetic rows reveal about the original ones, and what they are good for.

    Parameters
    ----------
    rows, original_rows, control_rows
        How many rows were drawn, learnt from and set aside.
    copied, control_copied
        Drawn rows, and rows set aside, that equal a row that was learnt from.
    attacks
        Singling out, linkability, inference and membership; ``None`` without control rows.
    marginals
        The distances of tables of one, two and three columns.
    correlations, cramers_v
        What changed between columns.
    propensity
        How well a logistic model and a tree separate synthetic from original rows.
    overlap, target
        The overlap of confidence intervals of a regression, and its target.
    label, learners
        The column that models predict, and their scores on control rows.
    """

    rows: int
    original_rows: int
    control_rows: int
    copied: int
    control_copied: int
    attacks: AttackReport | None
    marginals: tuple[MarginalDistance, ...]
    correlations: AssociationChange
    cramers_v: AssociationChange
    propensity: tuple[PropensityFit, ...]
    overlap: IntervalOverlap | None
    target: str | None
    label: str | None
    learners: tuple[LearnerScores, ...]

    def __repr__(self) -> str:
        return f"SynthesisAssessment({self.rows} rows, {len(self.findings)} findings)"

    def _repr_html_(self) -> str:
        """Show the tables of `blocks` in a notebook."""
        return html_of(self.blocks())

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All attacks that ran."""
        return () if self.attacks is None else self.attacks.findings

    @property
    def not_attacked(self) -> str:
        """Why no attack ran, in a sentence; empty if some did."""
        if self.attacks is not None:
            return ""
        return (
            f"No attack was run: {self.control_rows:,} rows were set aside, and attacks are "
            f"compared on {LEAST_CONTROL} at least. What the rows reveal isn't known."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything under its name, for JSON."""
        return {"risk": self.risk(), "utility": self.utility()}

    def risk(self) -> dict[str, Any]:
        """Return the numbers of risk, for JSON."""
        named = ("rows", "original_rows", "control_rows", "copied", "control_copied")
        attacks = [each.to_dict() for each in self.findings]
        missing = self.not_attacked or None
        return {**facts_of(self, named), "attacks": attacks, "not_attacked": missing}

    def utility(self) -> dict[str, Any]:
        """Return the numbers of quality, for JSON."""
        return facts_of(self, _UTILITY)

    def blocks(self) -> tuple[TableBlock, ...]:
        """Return tables for the page of a release: names and numbers, no cell."""
        found = [self._attacks_block(), self._marginals_block(), self._models_block()]
        return tuple(block for block in found if block.rows)

    def _attacks_block(self) -> TableBlock:
        rows = [
            [
                each.outcome.attack,
                each.outcome.measure,
                percent(each.outcome.success.value),
                percent(each.outcome.control.value),
                _NONE
                if each.positive_control is None
                else percent(each.positive_control.success.value),
                each.verdict,
            ]
            for each in self.findings
        ] or [["none", *[_NONE] * 4, "not run"]]
        equal = (
            f"{self.copied:,} of {self.rows:,} drawn rows equal a row that was learnt from; of "
            f"{self.control_rows:,} rows set aside {self.control_copied:,} do."
        )
        return TableBlock(
            title="Attacks",
            columns=("attack", "measure", "success", "on other people", "on raw rows", "verdict"),
            rows=rows,
            caption=" ".join(
                filter(None, [self.not_attacked, equal, *explain_verdicts(self.findings)])
            ),
        )

    def _marginals_block(self) -> TableBlock:
        rows = [
            [
                str(each.columns),
                str(each.tables),
                percent(each.mean),
                _NONE if each.by_chance is None else percent(each.by_chance),
                percent(each.largest),
                ", ".join(each.worst),
            ]
            for each in self.marginals
        ]
        return TableBlock(
            title="Tables of columns",
            columns=("columns", "tables", "rows that differ", "by chance", "most", "in"),
            rows=rows,
            caption="The share of rows that would have to move to make both tables equal. By "
            "chance: of rows that weren't learnt from.",
        )

    def _models_block(self) -> TableBlock:
        rows = [
            [
                f"{each.learner}, {each.measure} of {self.label}",
                f"{each.original:.3f}",
                f"{each.synthetic:.3f}",
            ]
            for each in self.learners
        ]
        rows += [
            [f"S_pMSE (pMSE ratio), {each.model} model", "1.000", f"{each.ratio:.3f}"]
            for each in self.propensity
        ]
        if self.overlap is not None:
            rows.append(
                [
                    f"overlap of intervals, regression of {self.target}",
                    "1.000",
                    f"{self.overlap.mean:.3f}",
                ]
            )
        return TableBlock(
            title="Models",
            columns=("model", "of original rows", "of synthetic rows"),
            rows=rows,
            caption="Learners are tested on rows that neither table has.",
        )


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
    owners = np.arange(drawn.height) % learnt.height
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
        **table_quality(pairs, owners, None, random_state),
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
