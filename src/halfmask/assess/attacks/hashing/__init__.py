"""Hashing: what is read of hashed rows, and of the model that they make.

Attack a :class:`~halfmask.assess.attacks.HashingTarget`:

- :class:`Dictionary`, :class:`BruteForce`: values, by hashing them without the key;
- :class:`BucketFrequencies`, :class:`CoOccurrence`: values, from a sample of the population;
- :class:`WeightReading`: values, from trained weights alone.

Attack a :class:`~halfmask.assess.attacks.TrainerTarget`:

- :class:`ModelStealing`: the model, by asking it.
"""

from __future__ import annotations

from halfmask.assess.attacks.hashing._dictionary import BruteForce, Dictionary
from halfmask.assess.attacks.hashing._frequencies import BucketFrequencies, CoOccurrence
from halfmask.assess.attacks.hashing._model_reading import ModelStealing, WeightReading

__all__ = [
    "ATTACKS",
    "BruteForce",
    "BucketFrequencies",
    "CoOccurrence",
    "Dictionary",
    "ModelStealing",
    "WeightReading",
]

#: The attacks on hashed rows and trainers.
ATTACKS = (
    Dictionary,
    BruteForce,
    BucketFrequencies,
    CoOccurrence,
    WeightReading,
    ModelStealing,
)
