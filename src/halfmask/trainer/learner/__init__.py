"""Online learning from hashed rows: one pass, in compiled loops, measured as it goes.

Start with `OnlineLearner`, which learns from :class:`halfmask.hashing.HashedRows`; `learn_file`
reads, hashes and learns a file in one go.
"""

from __future__ import annotations

from halfmask.trainer.learner._learner import OnlineLearner
from halfmask.trainer.learner._pipeline import learn_batches as learn_batches
from halfmask.trainer.learner._pipeline import learn_file
from halfmask.trainer.learner._state import ProgressiveValidation

# Public names are in `__all__`; the others are for other rooms.
__all__ = [
    "OnlineLearner",
    "ProgressiveValidation",
    "learn_file",
]
