"""Released tables: singling out, linkability, inference (WP29), and record linkage."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halfmask.assess.attacks._attack import Attack

__all__ = ["ATTACKS"]

ATTACKS: tuple[type[Attack], ...] = ()
