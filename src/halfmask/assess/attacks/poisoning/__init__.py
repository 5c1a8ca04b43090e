"""Poisoning: what hostile rows or clients do to a model that is trained on them.

Attack a :class:`~halfmask.assess.attacks.ModelTarget` by hostile training rows:

- :class:`RandomLabelFlips`: its accuracy;
- :class:`TargetedLabelFlips`, :class:`InsertedRows`: its predictions of all classes but one;
- :class:`BackdoorRows`: the same, of rows with a trigger.

Attack a :class:`~halfmask.assess.attacks.TrainerTarget` by the rows that one client sends:

- :class:`ClientLabelFlips`, :class:`ClientWorstCase`: its accuracy;
- :class:`ClientBackdoor`: its predictions of rows with a trigger.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.assess.attacks.poisoning._clients import (
    ClientBackdoor,
    ClientLabelFlips,
    ClientWorstCase,
)
from halfmask.assess.attacks.poisoning._training_rows import (
    BackdoorRows,
    InsertedRows,
    RandomLabelFlips,
    TargetedLabelFlips,
)

if TYPE_CHECKING:
    from halfmask.assess.attacks._attack import Attack

__all__ = [
    "ATTACKS",
    "BackdoorRows",
    "ClientBackdoor",
    "ClientLabelFlips",
    "ClientWorstCase",
    "InsertedRows",
    "RandomLabelFlips",
    "TargetedLabelFlips",
]

#: The attacks by hostile rows or clients.
ATTACKS: tuple[type[Attack], ...] = (
    RandomLabelFlips,
    TargetedLabelFlips,
    InsertedRows,
    BackdoorRows,
    ClientLabelFlips,
    ClientWorstCase,
    ClientBackdoor,
)
