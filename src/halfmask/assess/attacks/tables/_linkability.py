"""Linkability: whether a release links two parts of one person's row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import ColumnNotFoundError, ParameterError
from halfmask.assess.attacks._arms import SuccessCount
from halfmask.assess.attacks._attack import DeclaredAttack
from halfmask.assess.attacks._outcome import Outcome
from halfmask.assess.attacks._several import several
from halfmask.assess.attacks._targets import TableTarget
from halfmask.assess.attacks.tables._distances import Comparison, nearest_few
from halfmask.assess.attacks.tables._excess import residual_details
from halfmask.assess.attacks.tables._knowledge import (
    known_people,
    lacking_control,
    matched_columns,
    quasi_identifiers_of,
    sample,
    shared_columns,
)

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from halfmask.assess.attacks.tables._distances import Known


@dataclass(frozen=True, slots=True, kw_only=True)
class Linkability(DeclaredAttack, name="tables/linkability", target=TableTarget):
    """Link two parts of a person's row through the nearest released rows.

    Parameters
    ----------
    n_attacks
        How many people are attacked at most, of the original and of the control each.
    n_neighbours
        How many nearest released rows of each part are looked at: the attack succeeds if the two
        parts share one. Ties are broken at random, for each part separately.
    parts
        The columns of the two parts, disjoint; ``None``: quasi-identifiers and the other columns
        are dealt to both in turn.

    Notes
    -----
    The second of the three risks of the Article 29 Working Party, as Giomi et al., "A unified
    framework for quantifying privacy risk in synthetic data" (PoPETs 2023), section 4.2, measure
    it; distances are Gower's. The baseline is two random draws that meet.
    """

    n_attacks: int = field(default=2000, metadata={"ge": 1})
    n_neighbours: int = field(default=10, metadata={"ge": 1})
    parts: tuple[tuple[str, ...], tuple[str, ...]] | None = None

    def __post_init__(self) -> None:
        DeclaredAttack.__post_init__(self)
        owner = "Linkability"
        if self.parts is None:
            return
        parts = tuple(
            several(part, parameter="parts", owner=owner, of="columns")
            for part in several(self.parts, parameter="parts", owner=owner, of="two lists")
        )
        if len(parts) != 2 or set(parts[0]).intersection(parts[1]):
            raise ParameterError(
                "The 'parts' parameter of Linkability must be two disjoint sets of columns."
            )
        object.__setattr__(self, "parts", parts)

    def missing_inputs(self, target: TableTarget) -> str:
        """Return what is missing: a control table, or columns."""
        if len(shared_columns(target)) < 2:
            return "two columns that the original and the released table share"
        return lacking_control(target)

    def run(self, target: TableTarget, *, random_state: int) -> tuple[Outcome, ...]:
        """Link, and count people whose two parts share a released row."""
        if target.control is None:
            raise ParameterError("Linkability needs a control table.")
        names = self._parts(target)
        sides = [Comparison(columns=matched_columns(target, part)) for part in names]
        rng = np.random.default_rng(random_state)
        arms = []
        for people in (target.original, target.control):
            chosen = people[sample(rng, people.height, self.n_attacks)]
            linked = self._linked(sides, chosen, rng)
            arms.append(SuccessCount(int(linked.sum()), len(linked)))
        success, control = arms
        return (
            Outcome(
                attack=self.name,
                measure=f"share linked among {self.n_neighbours} nearest",
                success=success,
                control=control,
                needed=100,
                needed_of="people",
                details={
                    "by_chance": _by_chance(self.n_neighbours, target.released.height),
                    **residual_details(success, control),
                },
            ),
        )

    def _parts(self, target: TableTarget) -> tuple[tuple[str, ...], tuple[str, ...]]:
        shared = shared_columns(target)
        if self.parts is not None:
            absent = set(self.parts[0] + self.parts[1]).difference(shared)
            if absent:
                raise ColumnNotFoundError.of(sorted(absent), shared, where="the released table")
            return self.parts
        known = quasi_identifiers_of(target)
        in_turn = (*known, *(name for name in shared if name not in known))
        return in_turn[::2], in_turn[1::2]

    def _linked(
        self, sides: list[Comparison], people: pl.DataFrame, rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        """Return for each person whether the two parts share a released row."""
        found = np.zeros(people.height, dtype=np.bool_)
        known: list[Known] = [known_people(side.columns, people) for side in sides]
        both = zip(sides[0].blocks(known[0]), sides[1].blocks(known[1]), strict=True)
        for (some, first), (_, second) in both:
            ours = nearest_few(first, self.n_neighbours, rng)
            theirs = nearest_few(second, self.n_neighbours, rng)
            found[some] = (ours[:, :, None] == theirs[:, None, :]).any(axis=(1, 2))
        return found


def _by_chance(n: int, n_rows: int) -> float:
    """Return the probability that two random draws of n of the rows share one."""
    from scipy.stats import hypergeom  # noqa: PLC0415 # scipy loads late

    n = min(n, n_rows)
    return float(1 - hypergeom(n_rows, n, n).pmf(0)) if n else 0.0
