"""Synthetic rows next to the original ones: what they still reveal, and what they are good for.

Start with :func:`assess_synthetic`. It needs rows that weren't learnt from: attacks on these show
what would be guessed anyway, and tables of them how different two samples are by chance.
"""

from __future__ import annotations

from halfmask.assess.synthesis._assessment import SynthesisAssessment, assess_synthetic
from halfmask.assess.synthesis._pictures import Associations, associations
from halfmask.assess.synthesis._pictures import column_pictures as column_pictures
from halfmask.assess.synthesis._spread_tables import spread_distances as spread_distances
from halfmask.assess.synthesis.quality import (
    LearnerScores,
    MarginalDistance,
    marginal_distances,
    trained_models,
)

# Public names are in `__all__`; the others are for other rooms.
__all__ = [
    "Associations",
    "LearnerScores",
    "MarginalDistance",
    "SynthesisAssessment",
    "assess_synthetic",
    "associations",
    "marginal_distances",
    "trained_models",
]
