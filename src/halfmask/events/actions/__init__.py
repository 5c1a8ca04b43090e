"""What rules do to values: one action a file, each with its weaknesses.

Start with `Token`, `Sequence`, `CoarsenTime` and `Round`. An action's options may be published;
keys come from the vault's secret, tables from the vault. What an action can't do with a value is
counted, and the value isn't written.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import Field

from halfmask.events.actions._action import Action, Resources
from halfmask.events.actions._coarsen_time import CoarsenTime
from halfmask.events.actions._erase import Erase
from halfmask.events.actions._free_text import FreeText
from halfmask.events.actions._generalize import Generalize, HierarchySection
from halfmask.events.actions._hash import Hash
from halfmask.events.actions._keep import Keep
from halfmask.events.actions._mask import Mask
from halfmask.events.actions._noise import Noise
from halfmask.events.actions._recode import Recode
from halfmask.events.actions._recode_many import RecodeMany
from halfmask.events.actions._round import Round
from halfmask.events.actions._scale import Scale
from halfmask.events.actions._sequence import Sequence
from halfmask.events.actions._shift import Shift
from halfmask.events.actions._token import Token, reveal_token

__all__ = [
    "ACTIONS",
    "Action",
    "AnyAction",
    "CoarsenTime",
    "Erase",
    "FreeText",
    "Generalize",
    "Hash",
    "HierarchySection",
    "Keep",
    "Mask",
    "Noise",
    "Recode",
    "RecodeMany",
    "Resources",
    "Round",
    "Scale",
    "Sequence",
    "Shift",
    "Token",
    "reveal_token",
]

#: All actions, in the order of the reference.
ACTIONS: tuple[type[Action], ...] = (
    Erase, Keep, Sequence, Token, Hash, CoarsenTime, Shift, Round, Noise, Scale, Recode, RecodeMany,
    Mask, Generalize, FreeText,
)  # fmt: skip

#: Any action, as pydantic reads it from the key ``do`` of a rule.
AnyAction: TypeAlias = Annotated[
    Erase
    | Keep
    | Sequence
    | Token
    | Hash
    | CoarsenTime
    | Shift
    | Round
    | Noise
    | Scale
    | Recode
    | RecodeMany
    | Mask
    | Generalize
    | FreeText,
    Field(discriminator="do"),
]
