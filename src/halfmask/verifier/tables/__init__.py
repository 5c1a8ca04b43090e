"""Tables of people, counted again: classes, and what each claim bounds in them.

Start with `verify`.

Notation: a class is the rows that share all quasi-identifier cells; p is the distribution of a
sensitive column in a class and q that in the whole released table; r_1 >= r_2 >= ... are the counts
of its values in a class.
"""

from __future__ import annotations

from halfmask.verifier.tables._findings import ClaimCheck
from halfmask.verifier.tables._model_checks import register_check
from halfmask.verifier.tables._rules import (
    LevelRule,
    ModelCheck,
    PeopleRule,
    TableRule,
    Unjudgeable,
)
from halfmask.verifier.tables._verify import verify

__all__ = [
    "ClaimCheck",
    "LevelRule",
    "ModelCheck",
    "PeopleRule",
    "TableRule",
    "Unjudgeable",
    "register_check",
    "verify",
]
