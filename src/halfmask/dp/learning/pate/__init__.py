"""PATE: private aggregation of teacher ensembles.

Start with :class:`PateClassifier`. Teachers of any kind learn from disjoint parts of the private
rows; their votes, with noise, label public rows; a student learns from those alone.
"""

from __future__ import annotations

from halfmask.dp.learning.pate._classifier import PateClassifier, data_dependent_epsilon

__all__ = ["PateClassifier", "data_dependent_epsilon"]
