"""Hashing: what is read of hashed rows, of the model that they make, and what spoils that model.

Attack a :class:`~halfmask.assess.attacks.HashingTarget`:

- :class:`Dictionary`, :class:`BruteForce`: values, by hashing them without the key;
- :class:`BucketFrequencies`, :class:`CoOccurrence`: values, from a sample of the population;
- :class:`WeightReading`: values, from trained weights alone.

Attack a :class:`~halfmask.assess.attacks.TrainerTarget`:

- :class:`ModelStealing`: the model, by asking it;
- :class:`LabelFlip`, :class:`WorstCasePoisoning`: its accuracy, by what one client sends.
"""

from __future__ import annotations

from halfmask.assess.attacks.hashing._dictionary import BruteForce, Dictionary
from halfmask.assess.attacks.hashing._frequencies import BucketFrequencies, CoOccurrence
from halfmask.assess.attacks.hashing._model_reading import ModelStealing, WeightReading
from halfmask.assess.attacks.hashing._poisoning import LabelFlip, WorstCasePoisoning

__all__ = [
    "ATTACKS",
    "BruteForce",
    "BucketFrequencies",
    "CoOccurrence",
    "Dictionary",
    "LabelFlip",
    "ModelStealing",
    "WeightReading",
    "WorstCasePoisoning",
]

#: The attacks on hashed rows and trainers.
ATTACKS = (
    Dictionary,
    BruteForce,
    BucketFrequencies,
    CoOccurrence,
    WeightReading,
    ModelStealing,
    LabelFlip,
    WorstCasePoisoning,
)
