"""Attacks on k-anonymity itself: what equivalence classes tell beside their size."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halfmask.assess.attacks._attack import Attack

__all__ = ["ATTACKS"]

ATTACKS: tuple[type[Attack], ...] = ()
