"""Utility: numbers and pictures of the detail that a release keeps.

Start with :func:`information_loss` and :func:`class_size_utility`, which take what the classes of a
release cover (:class:`CellExtents`) and how many rows they have; :func:`numeric_distribution` and
:func:`categorical_distribution` picture a column before and after; :func:`model_utility` trains on
the release and tests on raw rows. All are pure functions of arrays, and each result explains itself
in a sentence.
"""

from __future__ import annotations

from halfmask.assess.utility._class_sizes import ClassSizeUtility, class_size_utility
from halfmask.assess.utility._distributions import (
    Distribution,
    categorical_distribution,
    numeric_distribution,
)
from halfmask.assess.utility._extents import CellExtents, ColumnExtents, Members
from halfmask.assess.utility._features import FeaturePlan, feature_plan, features_of_cells
from halfmask.assess.utility._information_loss import (
    ColumnLoss,
    InformationLoss,
    information_loss,
)
from halfmask.assess.utility._model_utility import (
    LabelledRows,
    ModelUtility,
    Score,
    model_utility,
)

__all__ = [
    "CellExtents",
    "ClassSizeUtility",
    "ColumnExtents",
    "ColumnLoss",
    "Distribution",
    "FeaturePlan",
    "InformationLoss",
    "LabelledRows",
    "Members",
    "ModelUtility",
    "Score",
    "categorical_distribution",
    "class_size_utility",
    "feature_plan",
    "features_of_cells",
    "information_loss",
    "model_utility",
    "numeric_distribution",
]
