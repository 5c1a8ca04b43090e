"""The verifier: it reads a release as a recipient would, and counts again what it claims.

It shares no code that counts with what made the release, so that one mistake can't cover another.
Start with `verify`; `halfmask.verifier.tables` and `halfmask.verifier.events` do the counting, and
`add_check` is for every other kind of release.

The room isn't called ``verify``: ``halfmask.verify`` is the function, and a room of that name would
take its place once it is imported.
"""

from __future__ import annotations

from halfmask.verifier._result import CheckedClaim, CheckedRelease, FileCheck
from halfmask.verifier._verify import verify
from halfmask.verifier._verify import verify_with as verify_with
from halfmask.verifier.checks import CHECKS, ClaimCount, VerifyInputs, add_check

# Public names are in `__all__`; the others are for other rooms.
__all__ = [
    "CHECKS",
    "CheckedClaim",
    "CheckedRelease",
    "ClaimCount",
    "FileCheck",
    "VerifyInputs",
    "add_check",
    "verify",
]
