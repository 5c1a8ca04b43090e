"""Synthetic rows: drawn from models of a table's columns.

Start with :class:`Synthesizer`: ``fit(table)``, then ``sample(n)`` for new rows, or ``redraw`` for
some columns of given rows. Then:

- :class:`AtMost`, :class:`SumOf`, :class:`FixedCombinations`: rules that every row keeps;
- :class:`LinkedSynthesizer`: two tables, such as people and their orders;
- :func:`blend_rows`, :func:`rotate_groups`: hybrid rows, between original and synthetic ones;
- :func:`combine_estimates`: what analysts estimate on several tables, combined.

Synthetic rows reveal something about the rows that they were learnt from. How much is measured by
:mod:`halfmask.assess.attacks`, never assumed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halfmask.synth._blending import blend_rows
    from halfmask.synth._combining import CombinedEstimate, combine_estimates
    from halfmask.synth._group_rotation import GroupHybrid, rotate_groups
    from halfmask.synth._linked_synthesizer import LinkedSynthesizer
    from halfmask.synth._rules import RULES, AtMost, FixedCombinations, RowRule, SumOf
    from halfmask.synth._synthesizer import Synthesizer

_HOMES = {
    "RULES": "_rules",
    "AtMost": "_rules",
    "CombinedEstimate": "_combining",
    "FixedCombinations": "_rules",
    "GroupHybrid": "_group_rotation",
    "LinkedSynthesizer": "_linked_synthesizer",
    "RowRule": "_rules",
    "SumOf": "_rules",
    "Synthesizer": "_synthesizer",
    "blend_rows": "_blending",
    "combine_estimates": "_combining",
    "rotate_groups": "_group_rotation",
}

__all__ = [
    "RULES",
    "AtMost",
    "CombinedEstimate",
    "FixedCombinations",
    "GroupHybrid",
    "LinkedSynthesizer",
    "RowRule",
    "SumOf",
    "Synthesizer",
    "blend_rows",
    "combine_estimates",
    "rotate_groups",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for: a policy must not load scikit-learn."""
    if name not in _HOMES:
        raise AttributeError(f"module 'halfmask.synth' has no attribute {name!r}")
    return getattr(importlib.import_module(f"halfmask.synth.{_HOMES[name]}"), name)
