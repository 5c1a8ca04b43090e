"""Every objective by the name that a policy calls it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from halfmask.anonymize.lattice._area_objectives import Ambiguity, KLDivergence
from halfmask.anonymize.lattice._classification import ClassificationMetric
from halfmask.anonymize.lattice._entropy import NonUniformEntropy, PrecomputedEntropy
from halfmask.anonymize.lattice._levels_lost import Height, Precision
from halfmask.anonymize.lattice._loss import Loss
from halfmask.anonymize.lattice._payout import PublisherPayout
from halfmask.anonymize.lattice._size_objectives import AverageClassSize, Discernibility

if TYPE_CHECKING:
    from halfmask.anonymize.lattice._objective import Objective

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
