"""The verifier: it reads a release as a stranger would, and counts again what it claims.

It shares no code that counts with what made the release, so that one mistake can't hide another.
Start with `verify`; `halfmask.verifier.tables` and `halfmask.verifier.events` do the counting.

The room isn't called ``verify``: ``halfmask.verify`` is the function, and a room of that name would
take its place as soon as it is imported.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halfmask.verifier.tables import ClaimCheck, Verification, verify

_HOMES = {"ClaimCheck": "tables", "Verification": "tables", "verify": "tables"}

__all__ = ["ClaimCheck", "Verification", "verify"]


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for: events are verified without polars."""
    if name not in _HOMES:
        raise AttributeError(f"module 'halfmask.verifier' has no attribute {name!r}")
    return getattr(importlib.import_module(f"halfmask.verifier.{_HOMES[name]}"), name)
