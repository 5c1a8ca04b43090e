"""Full-domain generalization: every row of a column at one level of its hierarchy.

A *node* is one level for each column; the nodes, from all raw to all at the top, are a
`Lattice`. A `NodeJudge` groups the rows of one node, suppresses what misses a
guarantee, and gives it a `NodeScore`; a search looks for the node with the least loss; an
:class:`Objective` says what loss is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from halfmask.anonymize.lattice._area_objectives import Ambiguity, KLDivergence
from halfmask.anonymize.lattice._classification import ClassificationMetric
from halfmask.anonymize.lattice._entropy import NonUniformEntropy, PrecomputedEntropy
from halfmask.anonymize.lattice._judge import ChosenNode as ChosenNode
from halfmask.anonymize.lattice._judge import NodePeople as NodePeople
from halfmask.anonymize.lattice._judge import TableJudge as TableJudge
from halfmask.anonymize.lattice._judge import released_classes as released_classes
from halfmask.anonymize.lattice._judged_nodes import NodeScore as NodeScore
from halfmask.anonymize.lattice._judged_nodes import SearchLimit as SearchLimit
from halfmask.anonymize.lattice._lattice import Lattice as Lattice
from halfmask.anonymize.lattice._lattice import LatticeColumn
from halfmask.anonymize.lattice._lattice import Levels as Levels
from halfmask.anonymize.lattice._lattice import lattice_column as lattice_column
from halfmask.anonymize.lattice._lattice import root_label as root_label
from halfmask.anonymize.lattice._lattice import spans_at_level as spans_at_level
from halfmask.anonymize.lattice._loss import Height, Loss, Precision
from halfmask.anonymize.lattice._objective import NodeClasses, Objective, Scorer
from halfmask.anonymize.lattice._payout import PublisherPayout
from halfmask.anonymize.lattice._search import LatticeSearch as LatticeSearch
from halfmask.anonymize.lattice._search import SearchStrategy
from halfmask.anonymize.lattice._search import search as search
from halfmask.anonymize.lattice._size_objectives import AverageClassSize, Discernibility
from halfmask.anonymize.lattice.grouped_rows import GroupedRows as GroupedRows

# Public names are in `__all__`; the others are for other rooms.
__all__ = [
    "OBJECTIVES",
    "Ambiguity",
    "AverageClassSize",
    "ClassificationMetric",
    "Discernibility",
    "Height",
    "KLDivergence",
    "LatticeColumn",
    "Loss",
    "NodeClasses",
    "NonUniformEntropy",
    "Objective",
    "Precision",
    "PrecomputedEntropy",
    "PublisherPayout",
    "Scorer",
    "SearchStrategy",
]

#: Every objective by the name that a policy calls it.
OBJECTIVES: Final[Mapping[str, type[Objective]]] = {
    kind.name: kind
    for kind in (
        Loss,
        NonUniformEntropy,
        PrecomputedEntropy,
        Precision,
        Height,
        Discernibility,
        AverageClassSize,
        Ambiguity,
        KLDivergence,
        ClassificationMetric,
        PublisherPayout,
    )
}
