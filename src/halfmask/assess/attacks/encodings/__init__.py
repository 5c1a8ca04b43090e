"""Encodings: what is learnt of rows that left behind keyed codes, matrices and ranks.

All attack an :class:`~halfmask.assess.attacks.EncodingTarget`. What an attacker may come to know
without the key is granted to them: which column is which, how many categories there are.

- :class:`KnownPlaintext`: from k known rows, with the curve over k and k50;
- :class:`PopulationSample`, :class:`QuantileMatching`: numbers, from a sample of the population;
- :class:`FrequencyMatching`, :class:`JointFrequencyMatching`, :class:`ReMerge`: categories, alike;
- :class:`NameDictionary`: names of columns;
- :class:`DateRecovery`, :class:`FoldedCycle`: dates, by weeks and seasons, and which cycles rows
  have;
- :class:`NullPatterns`, :class:`SecretReuse`, :class:`Fingerprints`: whose row it is, and which row
  of another upload.
"""

from __future__ import annotations

from halfmask.assess.attacks.encodings._categories import FrequencyMatching, JointFrequencyMatching
from halfmask.assess.attacks.encodings._dates import DateRecovery, FoldedCycle
from halfmask.assess.attacks.encodings._known_plaintext import KnownPlaintext
from halfmask.assess.attacks.encodings._name_dictionary import NameDictionary
from halfmask.assess.attacks.encodings._population_sample import PopulationSample, QuantileMatching
from halfmask.assess.attacks.encodings._re_merge import ReMerge
from halfmask.assess.attacks.encodings._row_links import Fingerprints, NullPatterns, SecretReuse

__all__ = [
    "ATTACKS",
    "DateRecovery",
    "Fingerprints",
    "FoldedCycle",
    "FrequencyMatching",
    "JointFrequencyMatching",
    "KnownPlaintext",
    "NameDictionary",
    "NullPatterns",
    "PopulationSample",
    "QuantileMatching",
    "ReMerge",
    "SecretReuse",
]

#: The attacks on encodings.
ATTACKS = (
    KnownPlaintext,
    PopulationSample,
    QuantileMatching,
    FrequencyMatching,
    JointFrequencyMatching,
    ReMerge,
    NameDictionary,
    DateRecovery,
    FoldedCycle,
    NullPatterns,
    SecretReuse,
    Fingerprints,
)
