"""Masking: what a masked table leaves at risk, and what it costs.

Start with :func:`compare_masked`: it takes a table before and after masking, row by row, and
returns a :class:`MaskingAssessment`. Risk is measured by record linkage (distance, probability,
rank), interval disclosure and uniqueness; utility by IL1s, means, variances, correlations, the
propensity-score MSE and the overlap of confidence intervals of a regression.

:func:`compare_regression` fits the owner's own regression to both tables.
:func:`compare_techniques` masks one table by several techniques and compares them.
:func:`assess_places` measures points that were moved, as a :class:`PlaceAssessment`.
"""

from __future__ import annotations

from halfmask.assess.masking._assessment import MaskingAssessment, arms
from halfmask.assess.masking._compare import compare_masked
from halfmask.assess.masking._place_assessment import PlaceAssessment, assess_places
from halfmask.assess.masking._regression import RegressionUtility, compare_regression
from halfmask.assess.masking._techniques import TechniqueComparison, compare_techniques

__all__ = [
    "MaskingAssessment",
    "PlaceAssessment",
    "RegressionUtility",
    "TechniqueComparison",
    "arms",
    "assess_places",
    "compare_masked",
    "compare_regression",
    "compare_techniques",
]
