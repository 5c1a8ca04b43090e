"""Training on anonymized people: guide, anonymize, retrain, as one estimator.

Start with :class:`AnonymizedEstimator`.
"""

from __future__ import annotations

from halfmask.anonymize.training._encoding import Encoding
from halfmask.anonymize.training._estimator import AnonymizedEstimator
from halfmask.anonymize.training._guides import cross_fitted
from halfmask.anonymize.training._representatives import REPRESENTATIVES

__all__ = ["REPRESENTATIVES", "AnonymizedEstimator", "Encoding", "cross_fitted"]
