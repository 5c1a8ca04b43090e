"""A guarantee in the form that a compiled loop can test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from halfmask.data import Hierarchy

__all__ = ["Criterion"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """The kind of a guarantee as a number, and its parameters as numbers.

    Parameters
    ----------
    kind
        One of the constants of this class.
    column
        The sensitive column, or ``None``.
    threshold
        k, l or t.
    c
        The c of recursive (c,l)-diversity; else 0.
    hierarchy
        The tree of the hierarchical distance, or the order of the ordered one.
    """

    K: ClassVar[int] = 0
    DISTINCT_L: ClassVar[int] = 1
    ENTROPY_L: ClassVar[int] = 2
    RECURSIVE_CL: ClassVar[int] = 3
    T_EQUAL: ClassVar[int] = 4
    T_ORDERED: ClassVar[int] = 5
    T_HIERARCHICAL: ClassVar[int] = 6

    kind: int
    column: str | None
    threshold: float
    c: float = 0.0
    hierarchy: Hierarchy | None = None
