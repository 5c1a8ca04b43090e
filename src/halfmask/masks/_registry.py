"""The masks by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from halfmask.masks._noise import RandomNoise
from halfmask.masks._pram import Pram
from halfmask.masks._round import Rounding
from halfmask.masks._tails import TailCoding
from halfmask.masks._token import KeyedTokens

if TYPE_CHECKING:
    from halfmask.masks._mask import Mask

__all__ = ["MASKS"]

#: Each mask by its name; a new one is a file next to ``_round.py`` and a line here.
MASKS: Final[dict[str, type[Mask]]] = {
    each.name: each for each in (RandomNoise, Pram, Rounding, TailCoding, KeyedTokens)
}
