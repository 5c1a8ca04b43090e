"""What is written for a class: a value of each quasi-identifier that all its rows share.

Start with :class:`Ranges`, which loses nothing that the class doesn't need to lose.
:class:`Level` writes a hierarchy's node, :class:`Centroid` a number or category in the middle (for
learners that want numbers), :class:`Representative` the values of one of the class's own rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from halfmask.anonymize.recodings._centroid import Centroid
from halfmask.anonymize.recodings._level import Level
from halfmask.anonymize.recodings._ranges import MAX_MEMBERS as MAX_MEMBERS
from halfmask.anonymize.recodings._ranges import SHOWN_OF_MANY as SHOWN_OF_MANY
from halfmask.anonymize.recodings._ranges import Ranges
from halfmask.anonymize.recodings._recoding import Recoding
from halfmask.anonymize.recodings._representative import Representative

# Public names are in `__all__`; the others are for other rooms.
__all__ = [
    "RECODINGS",
    "Centroid",
    "Level",
    "Ranges",
    "Recoding",
    "Representative",
]

#: Every recoding by the name that a policy calls it.
RECODINGS: Final[Mapping[str, type[Recoding]]] = {
    kind.name: kind for kind in (Ranges, Level, Centroid, Representative)
}
