"""Robustness: what changed cells and hostile rows do to a model, proven where it can be.

- :class:`AttackerBudget`: what an attacker may change, how far, and at what cost;
- :func:`cost_to_flip`: what it costs to flip each prediction, certified, exact and found;
- :func:`train_hardened`, :func:`suspect_labels`, :func:`suspect_blocks`: defences of training.
  :class:`halfmask.training.PartitionedClassifier` is one more.
"""

from __future__ import annotations

from halfmask.assess.robustness._budget import AttackerBudget, Change, ColumnBudget, Norm, Relation
from halfmask.assess.robustness._cost_to_flip import CostToFlip
from halfmask.assess.robustness._defences import (
    Suspicions,
    change_randomly,
    suspect_blocks,
    suspect_labels,
    train_hardened,
)
from halfmask.assess.robustness._flips import cost_to_flip

__all__ = [
    "AttackerBudget",
    "Change",
    "ColumnBudget",
    "CostToFlip",
    "Norm",
    "Relation",
    "Suspicions",
    "change_randomly",
    "cost_to_flip",
    "suspect_blocks",
    "suspect_labels",
    "train_hardened",
]
