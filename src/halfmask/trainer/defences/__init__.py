"""Defences of a trainer that learns from several clients: clips, caps, canaries, and rollback.

Start with :class:`DefendedLearner`, which wraps a learner: ``learn(rows, client=...)``, or with
:class:`Defences`, the defences of a model on a service. Each part also
stands alone:

- :class:`NormClip`: how far one row may move a model;
- :class:`ClientCaps`: how much of a model may be one client's;
- :class:`Guard`: whether a model got worse on labelled rows that no client sends.

:mod:`halfmask.assess.attacks.hashing` measures their effect.
"""

from __future__ import annotations

from halfmask.trainer.defences._caps import ClientCaps, NormClip
from halfmask.trainer.defences._defences import Defences
from halfmask.trainer.defences._defended import DefendedLearner, Learned
from halfmask.trainer.defences._guard import Guard, Quality, Verdict
from halfmask.trainer.defences._tally import DefenceTally, RollbackNotice

__all__ = [
    "ClientCaps",
    "DefenceTally",
    "Defences",
    "DefendedLearner",
    "Guard",
    "Learned",
    "NormClip",
    "Quality",
    "RollbackNotice",
    "Verdict",
]
