"""Structure of tree models: what can be read off a model without attacking anybody."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halfmask.assess.attacks._attack import Attack

__all__ = ["ATTACKS"]

ATTACKS: tuple[type[Attack], ...] = ()
