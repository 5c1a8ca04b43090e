"""Findings and reports of any verdict, for what shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from halfmask.assess.attacks import AttackReport, Certain, Finding, Outcome, SuccessCount

if TYPE_CHECKING:
    from collections.abc import Callable


def _finding(attack: str, right: int, raw: int | None = None, **others: Any) -> Finding:
    failure = others.pop("failure", "")
    made = {"attack": attack, "measure": "accuracy", "control": Certain(0.5), **others}
    return Finding(
        outcome=Outcome(success=SuccessCount(right, 10_000), **made),
        positive_control=None
        if raw is None
        else Outcome(success=SuccessCount(raw, 10_000), **made),
        tolerance=0.03,
        min_control_effect=0.05,
        error=0.01,
        failure=failure,
    )


def _report(*findings: Finding, **others: Any) -> AttackReport:
    settings = {"skipped": (), "tolerance": 0.03, "min_control_effect": 0.05, "confidence": 0.95}
    return AttackReport(findings=findings, random_state=7, **{**settings, **others})


@pytest.fixture
def finding_of() -> Callable[..., Finding]:
    """Make a finding of 10,000 trials against guessing, and as many without protection."""
    return _finding


@pytest.fixture
def report_of() -> Callable[..., AttackReport]:
    """Put findings into a report."""
    return _report


@pytest.fixture
def mixed() -> AttackReport:
    """One finding of each verdict, of two families, and an attack that wasn't run."""
    return _report(
        _finding("membership/gap", 5000, 6600),
        _finding("membership/lira", 6000, 8000, measure="TPR", group="the oldest"),
        _finding("tables/linkage", 5000),
        skipped=(("releases/intersection", "an earlier release"),),
        versions=(("python", "3.11"),),
    )
