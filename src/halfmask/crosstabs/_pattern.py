"""What cells need, what others know of them, and which are hidden: values that rooms pass on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.crosstabs._cells import Cells


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """Which cells are sensitive, by which rules, and the interval that each needs.

    Attributes
    ----------
    reasons
        For each cell the names of the rules that it breaks; empty: it isn't sensitive.
    below, above
        How far below and above its value an attacker must not exclude; 0 where it isn't sensitive;
        shape (n,).
    """

    reasons: tuple[tuple[str, ...], ...]
    below: NDArray[np.float64]
    above: NDArray[np.float64]

    @property
    def is_sensitive(self) -> NDArray[np.bool_]:
        """Whether each cell is sensitive."""
        return np.array([bool(each) for each in self.reasons], dtype=bool)


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """Intervals that must stay possible: one entry for each cell and attacker.

    Attributes
    ----------
    cell
        The cell; shape (r,).
    below, above
        The attacker's interval must reach ``value - below`` and ``value + above``; shape (r,).
    known
        The hidden cells that this attacker knows, since they are the only one in them; empty for
        somebody from outside.
    """

    cell: NDArray[np.int64]
    below: NDArray[np.float64]
    above: NDArray[np.float64]
    known: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """What everybody knows of each cell before a table is published.

    Attributes
    ----------
    lower, upper
        Bounds of each cell, such as 0 and infinity; shape (n,).
    must_stay, must_hide
        Cells whose state is given: published before or by the policy, or hidden; shape (n,).
    unlinked
        How many cells were published before with another value: they aren't the same cells.
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    must_stay: NDArray[np.bool_]
    must_hide: NDArray[np.bool_]
    unlinked: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """Which cells are hidden, and how that was found.

    Attributes
    ----------
    hidden
        Whether each cell is hidden; shape (n,).
    search
        ``"linear"``, ``"optimal"`` or ``"elimination"``.
    cost
        The cost of all hidden cells.
    bound
        Proven: no pattern that meets the requirements costs less. ``None`` without a proof.
    stopped
        Whether the search was stopped before its end; the pattern meets the requirements anyway.
    """

    hidden: NDArray[np.bool_]
    search: str
    cost: float
    bound: float | None = None
    stopped: bool = False

    @property
    def gap(self) -> float | None:
        """By how much the cost may exceed the least one, as a share of the cost."""
        if self.bound is None:
            return None
        return 0.0 if self.cost <= 0 else max(0.0, (self.cost - self.bound) / self.cost)


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What can be computed of hidden cells from those that are published.

    Attributes
    ----------
    lower, upper
        The least and the greatest value of each hidden cell that fits all that is published; the
        value itself twice where a cell is published; shape (n,).
    unmet
        Positions in `Requirements` that aren't met.
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    unmet: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """The protected cells of one measure, as they are published.

    Attributes
    ----------
    cells
        The cells with their true values.
    value
        What is published; NaN where hidden; shape (n,).
    hidden
        Whether each cell is hidden; shape (n,).
    sensitivity
        Which cells are sensitive, where rules were applied.
    pattern, audit
        How hidden cells were found, and what can be computed of them; ``None`` if none are hidden
        by the protection.
    requirements
        How many intervals of hidden cells were required of the audit.
    unlinked
        How many cells an earlier release published with another value.
    """

    cells: Cells
    value: NDArray[np.float64]
    hidden: NDArray[np.bool_]
    sensitivity: Sensitivity | None = None
    pattern: Pattern | None = None
    audit: Audit | None = None
    requirements: int = 0
    unlinked: int = 0
