"""Training on anonymized people: guide, anonymize, retrain, as one estimator.

Start with :class:`AnonymizedEstimator`; :func:`accuracy_by_k` tells what each k costs before you
choose one.
"""

from __future__ import annotations

from halfmask.training._accuracy_by_k import AccuracyByK, KCost, accuracy_by_k
from halfmask.training._encoding import Encoding
from halfmask.training._estimator import AnonymizedEstimator
from halfmask.training._guidance import Guidance, guidance
from halfmask.training._guides import cross_fitted
from halfmask.training._representatives import REPRESENTATIVES

__all__ = [
    "REPRESENTATIVES",
    "AccuracyByK",
    "AnonymizedEstimator",
    "Encoding",
    "Guidance",
    "KCost",
    "accuracy_by_k",
    "cross_fitted",
    "guidance",
]
