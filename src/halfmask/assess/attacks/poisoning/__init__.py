"""Poisoning: what hostile rows or clients do to a model that is trained on them.

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

if TYPE_CHECKING:
    from halfmask.assess.attacks._attack import Attack

__all__ = ["ATTACKS", "ClientBackdoor", "ClientLabelFlips", "ClientWorstCase"]

#: The attacks by hostile rows or clients.
ATTACKS: tuple[type[Attack], ...] = (ClientLabelFlips, ClientWorstCase, ClientBackdoor)
