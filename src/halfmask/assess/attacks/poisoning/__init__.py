"""Poisoning: what hostile rows or clients do to a model that is trained on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halfmask.assess.attacks._attack import Attack

__all__ = ["ATTACKS"]

#: The attacks by hostile rows or clients.
ATTACKS: tuple[type[Attack], ...] = ()
