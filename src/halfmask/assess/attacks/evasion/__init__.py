"""Evasion: which changes of a row flip what a model predicts of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halfmask.assess.attacks._attack import Attack

__all__ = ["ATTACKS"]

#: The attacks by changed rows.
ATTACKS: tuple[type[Attack], ...] = ()
