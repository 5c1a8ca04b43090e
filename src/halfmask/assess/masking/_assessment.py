"""MaskingAssessment: the measured risk and utility of one masked table, as blocks of a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._facts import Facts
from halfmask._html_table import html_table
from halfmask.assess._risk import Risk
from halfmask.assess.attacks import explain_verdicts
from halfmask.assess.attacks.tables._links import LOOK_ALIKE
from halfmask.assess.risk import listed, percent
from halfmask.release import TableBlock

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from halfmask.assess.attacks import AttackReport, Finding
    from halfmask.assess.risk import TableRisk
    from halfmask.assess.utility import (
        AssociationChange,
        ColumnChange,
        IntervalOverlap,
        PropensityFit,
    )


ARMS = ("share right", "95 % interval", "control", "guess", "unmasked", "verdict")
_NONE = "—"
_MODELS = {"logistic": "logistic regression", "cart": "classification tree"}


def arms(finding: Finding) -> Risk:
    """Return the risk of a finding, with other people as control.

    Parameters
    ----------
    finding
        Of record linkage or interval disclosure.

    Examples
    --------
    >>> from halfmask.assess.attacks import Certain, Finding, Outcome
    >>> outcome = Outcome(
    ...     attack="tables/linkage",
    ...     measure="links",
    ...     success=Certain(0.5),
    ...     control=Certain(0.01),
    ...     details={"look_alike": 0.1},
    ... )
    >>> limits = {"tolerance": 0.03, "min_control_effect": 0.05, "error": 0.05}
    >>> risk = arms(Finding(outcome=outcome, positive_control=None, **limits))
    >>> risk.value, risk.control, risk.baseline
    (0.5, 0.1, 0.01)
    """
    risk, details = finding.risk, finding.outcome.details
    return Risk(
        value=risk.value,
        low=risk.low,
        high=risk.high,
        baseline=risk.control if risk.baseline is None else risk.baseline,
        control=details.get(LOOK_ALIKE, risk.control),
    )


def html_of(blocks: Iterable[TableBlock]) -> str:
    """Return tables of a page for a notebook."""
    return "".join(html_table(it.title, it.columns, it.rows, [it.caption]) for it in blocks)


def linkage_block(findings: Sequence[Finding], people: int, rows: int) -> TableBlock:
    """Return a table of record linkage, a row for each method and knowledge of the attacker."""
    return TableBlock(
        title="Record linkage",
        columns=("method", "the attacker knows", *ARMS),
        rows=[
            [
                finding.outcome.attack.rsplit("-", 1)[-1],
                finding.outcome.measure.rsplit(" by ", 1)[-1].replace(
                    "quasi-identifiers", "key columns"
                ),
                *three_arms(finding),
            ]
            for finding in findings
        ],
        caption=f"Share of {people:,} people who are linked to their own row among {rows:,} masked "
        "rows. The control links by the values of the most similar other person. The guess takes "
        f"a row at random. {' '.join(explain_verdicts(findings))}",
    )


def intervals_block(findings: Sequence[Finding]) -> TableBlock:
    """Return a table of interval disclosure, a row for each column and kind of interval."""
    return TableBlock(
        title="Interval disclosure",
        columns=("column and interval", *ARMS),
        rows=[
            [finding.outcome.measure.removeprefix("share within "), *three_arms(finding)]
            for finding in findings
        ],
        caption="Share of original numbers within an interval around the masked number. The "
        "control takes the masked number of another person. The guess is one interval for all. "
        f"{' '.join(explain_verdicts(findings))}",
    )


def uniqueness_block(key_columns: Sequence[str], before: TableRisk, after: TableRisk) -> TableBlock:
    """Return a table of the rows that are unique on the key columns, before and after."""
    readings = [
        ("missing is a value", before.as_value, after.as_value),
        (
            "missing may be any value",
            before.as_wildcard or before.as_value,
            after.as_wildcard or after.as_value,
        ),
    ]
    return TableBlock(
        title="Uniqueness before and after",
        columns=("reading", "unique before", "unique after", "expected right before", "after"),
        rows=[
            [
                name,
                *(percent(each.uniqueness.share.value) for each in (old, new)),
                *(percent(each.prosecutor.average.value) for each in (old, new)),
            ]
            for name, old, new in readings
        ],
        caption=f"Rows that no other row of the table matches in {listed(list(key_columns))}, and "
        "the expected share of right links by these columns alone.",
    )


def columns_block(columns: Mapping[str, ColumnChange], weights: str | None = None) -> TableBlock:
    """Return a table of what masking changed, a row for each column."""
    weighed = "" if weights is None else f" Mean, deviation and TVD are weighted by {weights}."
    return TableBlock(
        title="Utility by column",
        columns=("column", "cells changed", "suppressed", "IL1s", "mean", "deviation", "TVD"),
        rows=[
            [
                name,
                f"{each.changed:.1%}",
                f"{each.suppressed:.1%}",
                _decimal(each.il1s),
                _NONE if each.mean_shift is None else f"{each.mean_shift:+.3f}",
                _decimal(each.deviation_ratio),
                _decimal(each.total_variation),
            ]
            for name, each in columns.items()
        ],
        caption="IL1s: mean absolute change in units of sqrt(2) deviations. Mean: its change in "
        "deviations. Deviation: masked over original. TVD: total variation of frequencies."
        f"{weighed}",
    )


def utility_block(
    il1s: float | None,
    associations: Mapping[str, AssociationChange],
    propensity: Iterable[PropensityFit],
    overlap: IntervalOverlap | None,
    target: str | None,
) -> TableBlock:
    """Return a table of what masking changed in the table as a whole."""
    rows = [["IL1s, mean over columns", _decimal(il1s), "0"]]
    for name, change in associations.items():
        rows += [
            [f"change of {name}, mean", _decimal(change.mean), "0"],
            [f"change of {name}, largest", _decimal(change.largest), "0"],
        ]
    for fit in propensity:
        named = _MODELS[fit.model]
        rows += [
            [f"pMSE, {named}", f"{fit.pmse:.4f}", "0"],
            [f"S_pMSE (pMSE ratio), {named}", f"{fit.ratio:.3g}", "0 to 1"],
        ]
    if overlap is not None:
        rows += [
            [f"interval overlap, regression of {target!r}, mean", _decimal(overlap.mean), "1"],
            [f"interval overlap, regression of {target!r}, least", _decimal(overlap.least), "1"],
        ]
    return TableBlock(
        title="Utility of the table",
        columns=("measure", "value", "best"),
        rows=rows,
        caption="S_pMSE divides the pMSE by that of rows that are drawn from a correct model.",
    )


def three_arms(finding: Finding) -> list[str]:
    """Return the cells of a finding below `ARMS`."""
    risk, raw = arms(finding), finding.positive_control
    return [
        f"{risk.value:.1%}",
        f"{risk.low:.1%} to {risk.high:.1%}",
        _share(risk.control),
        _share(risk.baseline),
        _NONE if raw is None else f"{raw.success.value:.1%}",
        finding.verdict,
    ]


def _share(value: float | None) -> str:
    return _NONE if value is None else percent(value)


def _decimal(value: float | None) -> str:
    return _NONE if value is None else f"{value:.3f}"


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
    weights
        The column of sampling weights of `columns` and of the regression; None: rows count alike.
    """

    facts = (
        "rows", "original_rows", "key_columns", "linkage=_linkage", "linked_people",
        "linked_rows=rows", "interval_disclosure=_intervals", "uniqueness=_before_after", "columns",
        "il1s", "correlations", "covariances", "cramers_v", "propensity",
        "interval_overlap=overlap", "target", "weights",
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
    weights: str | None = None

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
            columns_block(self.columns, self.weights),
            utility_block(self.il1s, associations, self.propensity, self.overlap, self.target),
        )

    def __repr__(self) -> str:
        linkage, loss = self.worst_linkage, self.il1s
        linked = "no linkage" if linkage is None else f"linked {linkage.risk.value:.1%}"
        lost = "no numbers" if loss is None else f"IL1s {loss:.3f}"
        return f"MaskingAssessment({self.rows} rows, {len(self.columns)} columns, {linked}, {lost})"

    def _repr_html_(self) -> str:
        """Show the tables of `blocks` in a notebook."""
        return html_of(self.blocks())


def _arms_dict(finding: Finding) -> dict[str, Any]:
    return {**finding.to_dict(), **arms(finding).to_dict()}
