"""Hardening: what changed cells and hostile rows do to a model, and what defences cost.

Start with :func:`assess_robustness`: it trains an estimator plainly and with defences, attacks each
model, and returns a :class:`RobustnessAssessment` with an :class:`AssessedModel` for each.
"""

from __future__ import annotations

from halfmask.assess.hardening._assess import assess_robustness
from halfmask.assess.hardening._assessment import AssessedModel, RobustnessAssessment

__all__ = ["AssessedModel", "RobustnessAssessment", "assess_robustness"]
