"""Robustness: what changed cells and hostile rows do to a model, proven where it can be."""

from __future__ import annotations

from halfmask.assess.robustness.black_box import flip_by_labels
from halfmask.assess.robustness.budget import AttackerBudget, Change, ColumnBudget, Norm, Relation
from halfmask.assess.robustness.cost_to_flip import CostToFlip

__all__ = [
    "AttackerBudget",
    "Change",
    "ColumnBudget",
    "CostToFlip",
    "Norm",
    "Relation",
    "flip_by_labels",
]
