"""Which attacks there are, by name."""

from __future__ import annotations

import difflib

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
from halfmask.assess.attacks._attack import Attack

#: Every attack by its name, in the order in which a battery runs them.
ATTACKS: dict[str, type[Attack]] = {
    attack.name: attack
    for family in (membership, attributes, structure, tables, classes, encodings, hashing, events)
    for attack in family.ATTACKS
}


def named(attack: Attack | str) -> Attack:
    """Return an attack with its usual settings by its name, or the attack itself."""
    if isinstance(attack, type) and isinstance(attack, Attack):  # a class has all that it makes has
        raise ParameterError(
            f"{attack.__name__} is a class of attacks, not one of them.",
            hint=f"Write {attack.__name__}(), with its settings in the brackets.",
        )
    if isinstance(attack, Attack):
        return attack
    if not isinstance(attack, str):
        raise ParameterError(
            "Each of the attacks must be an attack or the name of one. "
            f"Got a value of type {type(attack).__name__}.",
            hint="Write Gap() or 'membership/gap'.",
        )
    if attack not in ATTACKS:
        close = difflib.get_close_matches(attack, ATTACKS, n=1)
        raise ParameterError(
            f"There is no attack {attack!r}.",
            hint=f"Did you mean {close[0]!r}?" if close else f"There are {sorted(ATTACKS)}.",
        )
    return ATTACKS[attack]()
