"""Utility: numbers and pictures of the detail that a release keeps.

Start with :func:`information_loss` and :func:`class_size_utility`, which take what the classes of a
release cover (:class:`CellExtents`) and how many rows they have; :func:`ambiguity`,
:func:`kl_divergence`, :func:`non_uniform_entropy`, :func:`squared_error`,
:func:`generalization_height`, :func:`classification_metric` and :func:`publisher_payout` are the
other measures that methods are compared with. `numeric_distribution` and
`categorical_distribution` picture a column before and after; :func:`model_utility` trains on
the release and tests on raw rows. Of tables that were masked row by row: :func:`numeric_change`
(IL1s, means, deviations) and :func:`categorical_change`, :func:`correlation_change`,
:func:`covariance_change`, :func:`cramers_v_change`, :func:`propensity_mse` and
:func:`interval_overlap`. :func:`crosstab_utility` is about tables of counts and sums,
:func:`place_utility` about moved points. All are pure
functions of arrays, and each result explains itself in a sentence.
"""

from __future__ import annotations

from halfmask.assess.utility._class_measures import (
    ClassSizeUtility,
    ColumnEntries,
    ColumnRise,
    GeneralizationHeight,
    class_size_utility,
    classification_metric,
    generalization_height,
    non_uniform_entropy,
    squared_error,
)
from halfmask.assess.utility._crosstab_models import (
    CrosstabUtility,
    crosstab_utility,
)
from halfmask.assess.utility._distributions import Distribution
from halfmask.assess.utility._distributions import (
    categorical_distribution as categorical_distribution,
)
from halfmask.assess.utility._distributions import date_label as date_label
from halfmask.assess.utility._distributions import numeric_distribution as numeric_distribution
from halfmask.assess.utility._extents import CellExtents, ColumnExtents, Members
from halfmask.assess.utility._extents import feature_plan as feature_plan
from halfmask.assess.utility._extents import features_of_cells as features_of_cells
from halfmask.assess.utility._information_loss import (
    ColumnLoss,
    InformationLoss,
    PayoutOfRelease,
    ambiguity,
    information_loss,
    kl_divergence,
    publisher_payout,
)
from halfmask.assess.utility._masked_models import (
    IntervalOverlap,
    PropensityFit,
    PropensityModel,
    interval_overlap,
    propensity_mse,
)
from halfmask.assess.utility._model_utility import LabelledRows, ModelUtility, Score, model_utility
from halfmask.assess.utility._place_utility import PlaceUtility, PointPattern, place_utility
from halfmask.assess.utility._place_utility import ripley_l as ripley_l
from halfmask.assess.utility._regression import FittedRegression as FittedRegression
from halfmask.assess.utility._regression import fit_regression as fit_regression
from halfmask.assess.utility._regression import overlaps as overlaps
from halfmask.assess.utility._table_changes import (
    AssociationChange,
    ColumnChange,
    categorical_change,
    correlation_change,
    covariance_change,
    cramers_v_change,
    numeric_change,
)

# Public names are in `__all__`; the others are for other rooms.
__all__ = [
    "AssociationChange",
    "CellExtents",
    "ClassSizeUtility",
    "ColumnChange",
    "ColumnEntries",
    "ColumnExtents",
    "ColumnLoss",
    "ColumnRise",
    "CrosstabUtility",
    "Distribution",
    "GeneralizationHeight",
    "InformationLoss",
    "IntervalOverlap",
    "LabelledRows",
    "Members",
    "ModelUtility",
    "PayoutOfRelease",
    "PlaceUtility",
    "PointPattern",
    "PropensityFit",
    "PropensityModel",
    "Score",
    "ambiguity",
    "categorical_change",
    "class_size_utility",
    "classification_metric",
    "correlation_change",
    "covariance_change",
    "cramers_v_change",
    "crosstab_utility",
    "generalization_height",
    "information_loss",
    "interval_overlap",
    "kl_divergence",
    "model_utility",
    "non_uniform_entropy",
    "numeric_change",
    "place_utility",
    "propensity_mse",
    "publisher_payout",
    "squared_error",
]
