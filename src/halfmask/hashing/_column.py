"""A column that a hasher knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import DataError
from halfmask._validation import one_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.hashing._settings import Role

_ROLES = ("category", "number", "text", "set")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HashedColumn:
    """A column's name, what it holds, and how it is hashed."""

    name: str
    kind: str
    role: Role
    edges: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        one_of(_ROLES, owner="a hasher's column", role=self.role)
        edges = self.edges
        if edges is not None and not (np.isfinite(edges).all() and (np.diff(edges) > 0).all()):
            raise DataError("The edges of a column's bins must be finite and ascend.")
