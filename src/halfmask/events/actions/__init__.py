"""What rules do to values: each action with its weaknesses.

Start with `Token`, `Sequence`, `CoarsenTime` and `Round`. An action's options may be published;
keys come from the vault's secret, tables from the vault. What an action can't do with a value is
counted, and the value isn't written.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import Field

from halfmask.events.actions._action import Action, Resources
from halfmask.events.actions._coarsen_time import CoarsenTime, Shift
from halfmask.events.actions._generalize import Generalize, HierarchySection, Recode, RecodeMany
from halfmask.events.actions._mask import Erase, FreeText, Keep, Mask
from halfmask.events.actions._noise import Noise
from halfmask.events.actions._round import Round, Scale
from halfmask.events.actions._sequence import Sequence
from halfmask.events.actions._token import Hash, Token, reveal_token

# Public names are in `__all__`; the others are for other rooms.
__all__ = [
    "ACTIONS",
    "Action",
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
    Erase | Keep | Sequence | Token | Hash | CoarsenTime | Shift | Round | Noise | Scale | Recode
    | RecodeMany | Mask | Generalize | FreeText,
    Field(discriminator="do"),
]  # fmt: skip
