"""What a trainer predicts, checked before an attack counts anything of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask._foreign import foreign
from halfmask.assess.attacks._numbers import as_numbers, probabilities_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from halfmask.assess.attacks._trainer_target import Trainer
    from halfmask.hashing import HashedRows


def predicted(trainer: Trainer, rows: HashedRows) -> NDArray[np.float64]:
    """Return what a trainer holds for the probability of 1 of each row."""
    with foreign("The trainer failed to predict"):
        predictions = as_numbers(trainer.predict(rows))
    return probabilities_of(predictions, (len(rows),), who="The trainer")
