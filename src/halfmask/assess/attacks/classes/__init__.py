"""Attacks on k-anonymity itself: what equivalence classes disclose despite their size.

Each is run on a :class:`TableTarget` with quasi-identifiers and secrets, for an attacker who knows
the class of each target. Classes are the groups of rows with equal quasi-identifiers.

- :class:`Homogeneity`, :class:`BackgroundKnowledge`: classes with one secret, or few;
- :class:`Skewness`: classes whose secrets are distributed unlike the table's;
- :class:`Minimality`: classes that are coarse for a reason;
- :class:`Downcoding`: cells that are no more general than needed.
"""

from __future__ import annotations

from halfmask.assess.attacks.classes._disclosure import BackgroundKnowledge, Homogeneity, Skewness
from halfmask.assess.attacks.classes._downcoding import Downcoding
from halfmask.assess.attacks.classes._minimality import Minimality

__all__ = [
    "ATTACKS",
    "BackgroundKnowledge",
    "Downcoding",
    "Homogeneity",
    "Minimality",
    "Skewness",
]

#: The attacks on equivalence classes.
ATTACKS = (Homogeneity, BackgroundKnowledge, Skewness, Minimality, Downcoding)
