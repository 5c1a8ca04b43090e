"""Explore policies before one is chosen: risk against utility, and what each guarantee costs.

Start with :func:`explore`: it varies a policy over methods, parameters, recodings and limits of
suppression, measures each on one table, and returns an :class:`Exploration`. Its points are
:class:`ExploredPoint`, each with its :class:`PointMeasures`; a :class:`GridPolicy` that can't be
met is listed with the reason. A :class:`GuaranteeTrial` says what a release keeps without one of
the guarantees. :func:`compare_policies` measures several given policies, of classes, masks and
synthetic rows, as a :class:`PolicyComparison`.

The table is read and summarized once, and cells are grown once for all policies that differ only
in what comes afterwards. What is found describes the raw table: it is for its owner.
"""

from __future__ import annotations

from halfmask.microdata.exploring._exploration import Exploration
from halfmask.microdata.exploring._explore import explore
from halfmask.microdata.exploring._grid import GridPolicy
from halfmask.microdata.exploring._guarantee_trials import GuaranteeTrial, trial_sentences
from halfmask.microdata.exploring._points import NOTE as NOTE
from halfmask.microdata.exploring._points import RISKS, UTILITIES, ExploredPoint, PointMeasures
from halfmask.microdata.exploring._policy_comparison import PolicyComparison, compare_policies
from halfmask.microdata.exploring._policy_comparison import naming_policy as naming_policy

# Public names are in `__all__`; the others are for other rooms.
__all__ = [
    "RISKS",
    "UTILITIES",
    "Exploration",
    "ExploredPoint",
    "GridPolicy",
    "GuaranteeTrial",
    "PointMeasures",
    "PolicyComparison",
    "compare_policies",
    "explore",
    "trial_sentences",
]
