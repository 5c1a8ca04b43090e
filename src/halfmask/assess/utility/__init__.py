"""Utility: numbers and pictures of the detail that a release keeps.

Start with :func:`information_loss` and :func:`class_size_utility`, which take what the classes of a
release cover (:class:`CellExtents`) and how many rows they have; :func:`numeric_distribution` and
:func:`categorical_distribution` picture a column before and after; :func:`model_utility` trains on
the release and tests on raw rows. Of tables that were masked row by row: :func:`numeric_change`
(IL1s, means, deviations) and :func:`categorical_change`, :func:`correlation_change`,
:func:`covariance_change`, :func:`cramers_v_change`, :func:`propensity_mse` and
:func:`interval_overlap`. All are pure functions of arrays, and each result explains itself
in a sentence.
"""

from __future__ import annotations

from halfmask.assess.utility._associations import (
    AssociationChange,
    correlation_change,
    covariance_change,
    cramers_v_change,
)
from halfmask.assess.utility._class_sizes import ClassSizeUtility, class_size_utility
from halfmask.assess.utility._column_change import (
    ColumnChange,
    categorical_change,
    numeric_change,
)
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
from halfmask.assess.utility._interval_overlap import IntervalOverlap, interval_overlap
from halfmask.assess.utility._model_utility import (
    LabelledRows,
    ModelUtility,
    Score,
    model_utility,
)
from halfmask.assess.utility._propensity import PropensityFit, PropensityModel, propensity_mse

__all__ = [
    "AssociationChange",
    "CellExtents",
    "ClassSizeUtility",
    "ColumnChange",
    "ColumnExtents",
    "ColumnLoss",
    "Distribution",
    "FeaturePlan",
    "InformationLoss",
    "IntervalOverlap",
    "LabelledRows",
    "Members",
    "ModelUtility",
    "PropensityFit",
    "PropensityModel",
    "Score",
    "categorical_change",
    "categorical_distribution",
    "class_size_utility",
    "correlation_change",
    "covariance_change",
    "cramers_v_change",
    "feature_plan",
    "features_of_cells",
    "information_loss",
    "interval_overlap",
    "model_utility",
    "numeric_change",
    "numeric_distribution",
    "propensity_mse",
]
