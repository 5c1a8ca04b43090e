"""MaskingAssessment: the measured risk and utility of one masked table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._facts import Facts
from halfmask._html_table import html_table
from halfmask.assess.masking._blocks import (
    arms,
    columns_block,
    intervals_block,
    linkage_block,
    uniqueness_block,
    utility_block,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halfmask.assess.attacks import AttackReport, Finding
    from halfmask.assess.risk import TableRisk
    from halfmask.assess.utility import (
        AssociationChange,
        ColumnChange,
        IntervalOverlap,
        PropensityFit,
    )
    from halfmask.release import TableBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskingAssessment(Facts):
    """What masking leaves at risk, and what it costs.

    Parameters
    ----------
    rows, original_rows
        How many rows the masked and the original table have.
    columns
        What masking changed, by column.
    key_columns
        The columns that an attacker knows, if they were given.
    linkage
        Record linkage by distance, probability and rank, each compared with the unmasked table.
    linked_people
        How many people were linked, each among all masked rows.
    intervals
        Interval disclosure of each column of numbers, by rank and by standard deviation.
    uniqueness
        The risks counted over the key columns, before and after; None without key columns.
    correlations, covariances, cramers_v
        What changed between columns.
    propensity
        How well a logistic model and a tree separate the masked from the original rows.
    overlap
        The overlap of confidence intervals of a regression; None where none could be fitted.
    target
        The target of that regression.
    """

    facts = (
        "rows", "original_rows", "key_columns", "linkage=_linkage", "linked_people",
        "linked_rows=rows", "interval_disclosure=_intervals", "uniqueness=_before_after", "columns",
        "il1s", "correlations", "covariances", "cramers_v", "propensity",
        "interval_overlap=overlap", "target",
    )  # fmt: skip

    rows: int
    original_rows: int
    columns: Mapping[str, ColumnChange]
    key_columns: tuple[str, ...]
    linkage: AttackReport
    linked_people: int
    intervals: tuple[Finding, ...]
    uniqueness: tuple[TableRisk, TableRisk] | None
    correlations: AssociationChange
    covariances: AssociationChange
    cramers_v: AssociationChange
    propensity: tuple[PropensityFit, ...]
    overlap: IntervalOverlap | None
    target: str | None

    @property
    def il1s(self) -> float | None:
        """Mean IL1s over the columns of numbers; None without any."""
        losses = [each.il1s for each in self.columns.values() if each.il1s is not None]
        return float(np.mean(losses)) if losses else None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All attacks: record linkage, then interval disclosure."""
        return (*self.linkage.findings, *self.intervals)

    @property
    def worst_linkage(self) -> Finding | None:
        """The record linkage with most right links that isn't INVALID."""
        valid = [each for each in self.linkage.findings if each.verdict != "INVALID"]
        return max(valid, key=lambda each: each.outcome.success.value, default=None)

    @property
    def worst_interval(self) -> Finding | None:
        """The interval disclosure with the highest excess that isn't INVALID."""
        valid = [each for each in self.intervals if each.verdict != "INVALID"]
        return max(valid, key=lambda each: each.outcome.excess.value, default=None)

    @property
    def warning(self) -> str | None:
        """The warning that attacks find people in the masked rows; None if they don't."""
        named = "quasi-identifiers" if self.key_columns else "any columns"
        found = [it for it in self.linkage.findings if it.outcome.measure.endswith(named)]
        worst = max(found, key=lambda it: it.outcome.success.value, default=None)
        if worst is None or worst.verdict != "broken":
            return None
        risk = arms(worst)
        knows = "the key columns" if self.key_columns else "the original rows"
        return (
            f"An attacker who knows {knows} links {risk.value:.1%} of people to their own row "
            f"({risk.low:.1%} to {risk.high:.1%})."
        )

    @property
    def _linkage(self) -> list[dict[str, Any]]:
        return [_arms_dict(each) for each in self.linkage.findings]

    @property
    def _intervals(self) -> list[dict[str, Any]]:
        return [_arms_dict(each) for each in self.intervals]

    @property
    def _before_after(self) -> dict[str, TableRisk] | None:
        counted = self.uniqueness
        return None if counted is None else dict(zip(("before", "after"), counted, strict=True))

    def blocks(self) -> tuple[TableBlock, ...]:
        """Return tables for the page of a release: names and numbers, no cell."""
        found = [linkage_block(self.linkage.findings, self.linked_people, self.rows)]
        if self.intervals:
            found.append(intervals_block(self.intervals))
        if self.uniqueness is not None:
            found.append(uniqueness_block(self.key_columns, *self.uniqueness))
        associations = {
            "correlations": self.correlations,
            "variances and covariances": self.covariances,
            "Cramér's V": self.cramers_v,
        }
        return (
            *found,
            columns_block(self.columns),
            utility_block(self.il1s, associations, self.propensity, self.overlap, self.target),
        )

    def __repr__(self) -> str:
        linkage, loss = self.worst_linkage, self.il1s
        linked = "no linkage" if linkage is None else f"linked {linkage.risk.value:.1%}"
        lost = "no numbers" if loss is None else f"IL1s {loss:.3f}"
        return f"MaskingAssessment({self.rows} rows, {len(self.columns)} columns, {linked}, {lost})"

    def _repr_html_(self) -> str:
        """Show the tables of `blocks` in a notebook."""
        return "".join(
            html_table(block.title, block.columns, block.rows, [block.caption])
            for block in self.blocks()
        )


def _arms_dict(finding: Finding) -> dict[str, Any]:
    return {**finding.to_dict(), **arms(finding).to_dict()}
