"""Attribute inference: what a model tells of a column of somebody whose other columns are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halfmask.assess.attacks._attack import Attack

__all__ = ["ATTACKS"]

ATTACKS: tuple[type[Attack], ...] = ()
