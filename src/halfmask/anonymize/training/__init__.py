"""Training on anonymized people: guide, anonymize, retrain, as one estimator.

Start with :class:`AnonymizedEstimator`; :func:`accuracy_by_k` tells what each k costs before you
choose one.
"""

from __future__ import annotations

from halfmask.anonymize.training._accuracy_by_k import AccuracyByK, KCost, accuracy_by_k
from halfmask.anonymize.training._encoding import Encoding
from halfmask.anonymize.training._estimator import AnonymizedEstimator
from halfmask.anonymize.training._guidance import Guidance, guidance
from halfmask.anonymize.training._guides import cross_fitted
from halfmask.anonymize.training._representatives import REPRESENTATIVES

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
