"""Full-domain generalization: every row of a column at one level of its hierarchy.

A *node* is one level for each column; the nodes, from all raw to all at the top, are a
:class:`Lattice`. A :class:`NodeJudge` groups the rows of one node, suppresses what misses a
guarantee, and gives it a :class:`NodeScore`; a search looks for the node with the least loss; an
:class:`Objective` says what loss is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from halfmask.anonymize.lattice._area_objectives import Ambiguity, KLDivergence
from halfmask.anonymize.lattice._classification import ClassificationMetric
from halfmask.anonymize.lattice._entropy import NonUniformEntropy, PrecomputedEntropy
from halfmask.anonymize.lattice._judge import (
    ChosenNode,
    NodePeople,
    TableJudge,
    released_classes,
)
from halfmask.anonymize.lattice._judged_nodes import Found, NodeJudge, NodeScore, SearchLimit
from halfmask.anonymize.lattice._lattice import (
    Lattice,
    LatticeColumn,
    Levels,
    lattice_column,
    root_label,
    spans_at_level,
)
from halfmask.anonymize.lattice._loss import Height, Loss, Precision
from halfmask.anonymize.lattice._objective import NodeClasses, Objective, Scorer
from halfmask.anonymize.lattice._payout import PublisherPayout
from halfmask.anonymize.lattice._search import LatticeSearch, SearchStrategy, search
from halfmask.anonymize.lattice._size_objectives import AverageClassSize, Discernibility
from halfmask.anonymize.lattice.grouped_rows import GroupedRows

__all__ = [
    "OBJECTIVES",
    "Ambiguity",
    "AverageClassSize",
    "ChosenNode",
    "ClassificationMetric",
    "Discernibility",
    "Found",
    "GroupedRows",
    "Height",
    "KLDivergence",
    "Lattice",
    "LatticeColumn",
    "LatticeSearch",
    "Levels",
    "Loss",
    "NodeClasses",
    "NodeJudge",
    "NodePeople",
    "NodeScore",
    "NonUniformEntropy",
    "Objective",
    "Precision",
    "PrecomputedEntropy",
    "PublisherPayout",
    "Scorer",
    "SearchLimit",
    "SearchStrategy",
    "TableJudge",
    "lattice_column",
    "released_classes",
    "root_label",
    "search",
    "spans_at_level",
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
