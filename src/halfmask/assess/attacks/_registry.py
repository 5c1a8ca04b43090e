"""Which attacks there are, by name."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from halfmask._errors import ParameterError
from halfmask.assess.attacks import (
    attributes,
    classes,
    encodings,
    events,
    hashing,
    membership,
    structure,
    tables,
)

if TYPE_CHECKING:
    from halfmask.assess.attacks._attack import Attack

__all__ = ["ATTACKS", "named"]

#: Every attack by its name, in the order in which a battery runs them.
ATTACKS: dict[str, type[Attack]] = {
    attack.name: attack
    for family in (membership, attributes, structure, tables, classes, encodings, hashing, events)
    for attack in family.ATTACKS
}


def named(attack: Attack | str) -> Attack:
    """Return an attack with its usual settings by its name, or the attack itself.

    Raises
    ------
    ParameterError
        If no attack has the name.
    """
    if not isinstance(attack, str):
        return attack
    if attack not in ATTACKS:
        close = difflib.get_close_matches(attack, ATTACKS, n=1)
        raise ParameterError(
            f"There is no attack {attack!r}.",
            hint=f"Did you mean {close[0]!r}?" if close else f"There are {sorted(ATTACKS)}.",
        )
    return ATTACKS[attack]()
