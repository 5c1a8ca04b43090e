"""A guarantee in the form that a compiled loop can test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halfmask.data import Hierarchy


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """The rule of the engine that tests a guarantee, and its parameters as numbers.

    Parameters
    ----------
    rule
        The name of the rule; see ``RULES`` in ``halfmask.kernels.partition.criteria``.
    column
        The sensitive column that it counts.
    thresholds
        The parameters, in the order that the rule takes them.
    hierarchy
        The tree of a distance, or the order of its values.
    """

    rule: str
    column: str
    thresholds: tuple[float, ...]
    hierarchy: Hierarchy | None = None
