"""Equivalence classes: how they are found, what is written for them, and the Anonymizer.

Start with :class:`Anonymizer`, a scikit-learn estimator. :class:`Protection` is the same as
``summarize -> plan -> apply`` over batches, for tables that don't fit in memory.

A *method* finds classes (:class:`Mondrian`, :class:`Guided`, :class:`Mdav`,
:class:`FullDomain`), a *recoding* writes them
(:class:`Ranges`, :class:`Level`, :class:`Centroid`, :class:`Representative`); what must hold are
the values of :mod:`halfmask.guarantees`. The engine judges every guarantee at every cut, every
joined group and every node of a lattice, so a method can't break one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from halfmask.anonymize._cells import CellCounts as CellCounts
from halfmask.anonymize._fitted import Fitted as Fitted
from halfmask.anonymize._full_domain import FullDomain
from halfmask.anonymize._full_domain import NearBest as NearBest
from halfmask.anonymize._guided import Guided
from halfmask.anonymize._lattice_partition import LatticePartition, SearchFacts
from halfmask.anonymize._lattice_rounds import RoundsPartition
from halfmask.anonymize._level_people import PeopleOfNode as PeopleOfNode
from halfmask.anonymize._mdav import Mdav
from halfmask.anonymize._mondrian import Mondrian
from halfmask.anonymize._partition import Partition
from halfmask.anonymize._plan import Plan
from halfmask.anonymize._population import PlacedPeople as PlacedPeople
from halfmask.anonymize._population import Population
from halfmask.anonymize._protection import Protection
from halfmask.anonymize._summary import MAX_ROWS as MAX_ROWS
from halfmask.anonymize._summary import PersonCodes as PersonCodes
from halfmask.anonymize._summary import Summary
from halfmask.anonymize.coding import Coding as Coding
from halfmask.anonymize.method import Method
from halfmask.anonymize.recodings import MAX_MEMBERS as MAX_MEMBERS
from halfmask.anonymize.recodings import (
    RECODINGS,
    Centroid,
    Level,
    Ranges,
    Recoding,
    Representative,
)

if TYPE_CHECKING:
    from halfmask.anonymize._anonymizer import Anonymizer

# Public names are in `__all__`; the others are for other rooms.
__all__ = [
    "METHODS",
    "RECODINGS",
    "Anonymizer",
    "Centroid",
    "FullDomain",
    "Guided",
    "LatticePartition",
    "Level",
    "Mdav",
    "Method",
    "Mondrian",
    "Partition",
    "Plan",
    "Population",
    "Protection",
    "Ranges",
    "Recoding",
    "Representative",
    "RoundsPartition",
    "SearchFacts",
    "Summary",
]

#: Every method by the name that a policy calls it.
METHODS: Final[Mapping[str, type[Method]]] = {
    kind.name: kind for kind in (Mondrian, Guided, Mdav, FullDomain)
}


def __getattr__(name: str) -> object:
    """Import the estimator when it is first asked for: a policy has no use for scikit-learn."""
    if name != "Anonymizer":
        raise AttributeError(f"module 'halfmask.anonymize' has no attribute {name!r}")
    from halfmask.anonymize._anonymizer import Anonymizer  # noqa: PLC0415 # as it says

    return Anonymizer


def __dir__() -> list[str]:
    return sorted(__all__)
