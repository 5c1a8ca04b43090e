"""Secrets at rest: a folder that must not leave, and the keys that are derived from it.

Start with `Secret`: 32 bytes from which a key is derived for every purpose and column.
"""

from __future__ import annotations

from halfmask.vault._secret import Secret

__all__ = ["Secret"]
