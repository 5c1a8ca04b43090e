"""Released tables: singling out, linkability, inference (WP29), and record linkage.

All read released cells without inside knowledge: ranges, sets, nodes of the published hierarchies
and suppressed cells stand for every value inside them. The first four need a control table.

- :class:`SinglingOutUnivariate`, :class:`SinglingOutMultivariate`, :class:`Linkability`,
  :class:`Inference`: the three risks of the Article 29 Working Party's opinion 05/2014;
- :class:`DistanceLinkage`, :class:`ProbabilisticLinkage`, :class:`RankLinkage`,
  :class:`AssignmentLinkage`: which row is whose, by quasi-identifiers and by any columns; a class
  of k counts as 1/k;
- :class:`Expected`: the arm of trials that succeed to some share.
"""

from __future__ import annotations

from halfmask.assess.attacks._arms import Expected
from halfmask.assess.attacks.tables._density_membership import DensityMembership
from halfmask.assess.attacks.tables._fellegi_sunter import ProbabilisticLinkage
from halfmask.assess.attacks.tables._nearest_rows import Inference, Linkability
from halfmask.assess.attacks.tables._record_linkage import (
    AssignmentLinkage,
    DistanceLinkage,
    RankLinkage,
)
from halfmask.assess.attacks.tables._singling_out import (
    SinglingOutMultivariate,
    SinglingOutUnivariate,
)

__all__ = [
    "ATTACKS",
    "AssignmentLinkage",
    "DensityMembership",
    "DistanceLinkage",
    "Expected",
    "Inference",
    "Linkability",
    "ProbabilisticLinkage",
    "RankLinkage",
    "SinglingOutMultivariate",
    "SinglingOutUnivariate",
]

#: The attacks on released tables.
ATTACKS = (
    SinglingOutUnivariate,
    SinglingOutMultivariate,
    Linkability,
    Inference,
    DensityMembership,
    DistanceLinkage,
    ProbabilisticLinkage,
    RankLinkage,
    AssignmentLinkage,
)
