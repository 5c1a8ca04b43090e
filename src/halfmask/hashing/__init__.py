"""Keyed feature hashing: rows become integers at home, and are learnt from elsewhere.

Start with `HashedRows`, which is what leaves: integers, maybe values, labels and weights, and
neither a name nor a key.
"""

from __future__ import annotations

from halfmask.hashing._rows import HashedRows

__all__ = ["HashedRows"]
