"""SynthesisAssessment: the measured risk and quality of synthetic rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halfmask._facts import facts_of
from halfmask._html_table import html_table
from halfmask.assess.attacks import explain_verdicts
from halfmask.assess.risk import percent
from halfmask.release import TableBlock

if TYPE_CHECKING:
    from halfmask.assess.attacks import AttackReport, Finding
    from halfmask.assess.synthesis._trained_models import LearnerScores
    from halfmask.assess.synthesis.marginals import MarginalDistance
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
        return "".join(
            html_table(block.title, block.columns, block.rows, [block.caption])
            for block in self.blocks()
        )

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
            [f"pMSE ratio, {each.model} model", "1.000", f"{each.ratio:.3f}"]
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
