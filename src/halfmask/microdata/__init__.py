"""Tables of people, end to end: a policy and a table in, a verified release with its report out.

Start with `Policy`, what the owner wants, and `protect`, which makes a release by it; `mask` makes
one of masks alone, `synthesize` one of synthetic rows. `explore` compares policies before one is
chosen. `halfmask.verify` counts again what a release claims.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halfmask.microdata._made_policy import MadePolicy, make_policy
    from halfmask.microdata._policy import Policy
    from halfmask.microdata._protect import mask, protect, protect_to, synthesize
    from halfmask.microdata.exploring import Exploration, explore
    from halfmask.microdata.opening import read_population
    from halfmask.release import Release

_HOMES = {
    "Exploration": "exploring",
    "MadePolicy": "_made_policy",
    "Policy": "_policy",
    "explore": "exploring",
    "make_policy": "_made_policy",
    "mask": "_protect",
    "protect": "_protect",
    "protect_to": "_protect",
    "read_population": "opening",
    "synthesize": "_protect",
}

__all__ = [
    "Exploration",
    "MadePolicy",
    "Policy",
    "Release",
    "explore",
    "make_policy",
    "mask",
    "protect",
    "protect_to",
    "read_population",
    "synthesize",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for: the schema must not load the rest."""
    if name == "Release":
        return importlib.import_module("halfmask.release").Release
    if name not in _HOMES:
        raise AttributeError(f"module 'halfmask.microdata' has no attribute {name!r}")
    found = getattr(importlib.import_module(f"halfmask.microdata.{_HOMES[name]}"), name)
    return globals().setdefault(name, found)  # the next time it is there
