"""Training on classes of people: split targets, partition, representatives, retrain.

Start with :class:`AnonymizedEstimator`; :func:`accuracy_by_k` measures what each k costs before you
choose one. :class:`PartitionedClassifier` is for rows of people whom you don't trust.
"""

from __future__ import annotations

from halfmask.training._accuracy_by_k import AccuracyByK, KCost, accuracy_by_k
from halfmask.training._encoding import Encoding
from halfmask.training._estimator import AnonymizedEstimator
from halfmask.training._partitioned import PartitionedClassifier
from halfmask.training._representatives import REPRESENTATIVES
from halfmask.training._selection import CandidateScore
from halfmask.training._split_targets import cross_fitted

__all__ = [
    "REPRESENTATIVES",
    "AccuracyByK",
    "AnonymizedEstimator",
    "CandidateScore",
    "Encoding",
    "KCost",
    "PartitionedClassifier",
    "accuracy_by_k",
    "cross_fitted",
]
