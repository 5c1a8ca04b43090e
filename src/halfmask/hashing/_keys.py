"""The keys of a hasher: one for each column and purpose."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.vault import Secret

#: The first and the last eight bytes of a SipHash key, as little-endian numbers.
Key: TypeAlias = tuple[np.uint64, np.uint64]
_KEY_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class HasherKeys:
    """The keys that follow from a secret and a hasher's name."""

    secret: Secret
    name: str

    def of(self, purpose: str, *columns: str) -> Key:
        """Return the key of a purpose and a column, or several."""
        # One column is its name; several are a JSON list of names. Their purposes differ.
        column = columns[0] if len(columns) == 1 else _listed(columns)
        material = self.secret.key(f"hash/{self.name}/{purpose}", column=column, length=_KEY_BYTES)
        first, last = np.frombuffer(material, "<u8").astype(np.uint64)
        return first, last


def _listed(columns: Sequence[str]) -> str:
    return json.dumps(list(columns), ensure_ascii=False, separators=(",", ":")) if columns else ""
