"""The verifier: it reads a release as a recipient would, and counts again what it claims.

It shares no code that counts with what made the release, so that one mistake can't cover another.
Start with `verify`; `halfmask.verifier.tables` and `halfmask.verifier.events` do the counting, and
`add_check` is for every other kind of release.

The room isn't called ``verify``: ``halfmask.verify`` is the function, and a room of that name would
take its place once it is imported.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from halfmask.verifier._checks import CHECKS, ClaimCount, add_check
from halfmask.verifier._released import CheckedClaim, CheckedRelease
from halfmask.verifier._verify import verify

if TYPE_CHECKING:
    from halfmask.verifier.tables import ClaimCheck, Verification

_TABLES = ("ClaimCheck", "Verification")

__all__ = [
    "CHECKS",
    "CheckedClaim",
    "CheckedRelease",
    "ClaimCheck",
    "ClaimCount",
    "Verification",
    "add_check",
    "verify",
]


def __getattr__(name: str) -> object:
    """Import what is about tables when it is first asked for: the rest does without polars."""
    if name not in _TABLES:
        raise AttributeError(f"module 'halfmask.verifier' has no attribute {name!r}")
    return getattr(importlib.import_module("halfmask.verifier.tables"), name)
