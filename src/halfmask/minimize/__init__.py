"""Data minimization: how coarse what is collected for a model may be.

Start with :class:`Minimizer`, a scikit-learn estimator that searches for the coarsest features with
which a model keeps its score.
"""

from __future__ import annotations

from halfmask.minimize._generalizations import FeatureGeneralization, Generalizations, Part
from halfmask.minimize._minimizer import Minimizer

__all__ = ["FeatureGeneralization", "Generalizations", "Minimizer", "Part"]
