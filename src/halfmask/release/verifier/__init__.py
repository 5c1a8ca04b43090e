"""The verifier: it reads a release as a stranger would, and counts again what it claims.

It shares no code with what made the release (no kernels, guarantees, anonymizer or engine), so
that one mistake can't hide another. Start with `verify`.

Notation: a class is the rows that share all quasi-identifier cells; p is the distribution of a
sensitive column in a class and q that in the whole released table; r_1 >= r_2 >= ... are the counts
of its values in a class.
"""

from __future__ import annotations

from halfmask.release.verifier._verification import ClaimCheck, FileCheck, Verification
from halfmask.release.verifier._verify import verify

__all__ = ["ClaimCheck", "FileCheck", "Verification", "verify"]
