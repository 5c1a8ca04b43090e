"""What cells need, what others know of them, and which are hidden: values that rooms pass on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from halfmask.crosstabs._arrays import Bools, Floats, Ints
    from halfmask.crosstabs._cells import CellSystem


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """Which cells are sensitive, by which rules, and the interval that each needs."""

    #: For each cell the names of the rules that it breaks; empty: it isn't sensitive.
    reasons: tuple[tuple[str, ...], ...]
    #: below, above: how far below and above its value an attacker must not exclude; 0 where it
    #: isn't sensitive; shape (n,).
    below: Floats
    above: Floats

    @property
    def is_sensitive(self) -> Bools:
        """Whether each cell is sensitive."""
        return np.array([bool(each) for each in self.reasons], dtype=bool)


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """Intervals that must stay possible: one entry for each cell and attacker."""

    #: The cell; shape (r,).
    cell: Ints
    #: below, above: the attacker's interval must reach ``value - below`` and ``value + above``;
    #: shape (r,).
    below: Floats
    above: Floats
    #: The hidden cells that this attacker knows, since they are the only one in them; empty for
    #: somebody from outside.
    known: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """What everybody knows of each cell before a table is published."""

    #: lower, upper: bounds of each cell, such as 0 and infinity; shape (n,).
    lower: Floats
    upper: Floats
    #: must_stay, must_hide: cells whose state is given: published before or by the policy, or
    #: hidden; shape (n,).
    must_stay: Bools
    must_hide: Bools
    #: How many cells were published before with another value: they aren't the same cells.
    unlinked: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenPattern:
    """Which cells are hidden, and how that was found."""

    #: Whether each cell is hidden; shape (n,).
    hidden: Bools
    #: ``"linear"``, ``"optimal"`` or ``"elimination"``.
    search: str
    #: The cost of all hidden cells.
    cost: float
    #: Proven: no pattern that meets the requirements costs less. ``None`` without a proof.
    bound: float | None = None
    #: Whether the search was stopped before its end; the pattern meets the requirements anyway.
    stopped: bool = False

    @property
    def gap(self) -> float | None:
        """By how much the cost may exceed the least one, as a share of the cost."""
        if self.bound is None:
            return None
        return 0.0 if self.cost <= 0 else max(0.0, (self.cost - self.bound) / self.cost)


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What can be computed of hidden cells from those that are published."""

    #: lower, upper: the least and the greatest value of each hidden cell that fits all that is
    #: published; the value itself twice where a cell is published; shape (n,).
    lower: Floats
    upper: Floats
    #: Positions in `Requirements` that aren't met.
    unmet: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedCells:
    """The protected cells of one measure, as they are published."""

    #: The cells with their true values.
    cells: CellSystem
    #: What is published; NaN where hidden; shape (n,).
    value: Floats
    #: Whether each cell is hidden; shape (n,).
    hidden: Bools
    #: Which cells are sensitive, where rules were applied.
    sensitivity: Sensitivity | None = None
    #: pattern, audit: how hidden cells were found, and what can be computed of them; ``None`` if
    #: none are hidden by the protection.
    pattern: HiddenPattern | None = None
    audit: Audit | None = None
    #: How many cells an earlier release published with another value.
    unlinked: int = 0
