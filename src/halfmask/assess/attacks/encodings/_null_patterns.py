"""Null patterns: rows are identified by which cells are missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask.assess.attacks._arms import Certain
from halfmask.assess.attacks._attack import DeclaredAttack
from halfmask.assess.attacks._encoding_target import EncodingTarget
from halfmask.assess.attacks._outcome import Outcome
from halfmask.assess.attacks.encodings._cells import is_number, numbers
from halfmask.assess.attacks.tables import Expected

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class NullPatterns(DeclaredAttack, name="encodings/null-patterns", target=EncodingTarget):
    """Link a person's row to the encoded rows that have the same cells missing.

    Notes
    -----
    The attacker knows which answers a person didn't give. Missing cells are seen where they are
    missing in the encoded table, too, or as a column of two values; which of them stands
    for which column is granted. A link to a pattern that r rows share counts as 1/r. Control:
    guessing one of the rows.
    """

    def missing_inputs(self, target: EncodingTarget) -> str:
        """Return what is missing: missing cells."""
        return (
            ""
            if any(target.original[n].null_count() for n in target.original.columns)
            else ("missing cells")
        )

    def run(self, target: EncodingTarget, *, random_state: int) -> tuple[Outcome, ...]:  # noqa: ARG002 # exact
        """Link by patterns, and return how many links are right."""
        truth = np.column_stack(
            [
                column.is_null().to_numpy()
                for column in target.original.iter_columns()
                if column.null_count()
            ]
        )
        masks = _masks(target.encoded)
        seen = np.zeros_like(truth)
        for place, mask in enumerate(truth.T):
            agreeing = [_phi(each, mask) for each in masks]
            if max(agreeing, default=0.0) > 0:
                seen[:, place] = masks[int(np.argmax(agreeing))]
        weights = 1 << np.arange(min(truth.shape[1], 62), dtype=np.int64)
        mine, theirs = (table[:, : len(weights)] @ weights for table in (truth, seen))
        patterns, counts = np.unique(theirs, return_counts=True)
        n_alike = counts[np.minimum(np.searchsorted(patterns, mine), len(patterns) - 1)]
        right = np.where(mine == theirs, 1 / n_alike, 0.0)
        n = len(right)
        return (
            Outcome(
                attack=self.name,
                measure="rows linked by missing cells",
                success=Expected(float(right.sum()), n),
                control=Certain(1 / n),
                needed=100,
                needed_of="rows",
                details={
                    "patterns": float(len(patterns)),
                    "missing_cells_seen": float((seen & truth).sum() / max(1, truth.sum())),
                },
            ),
        )


def _masks(encoded: pl.DataFrame) -> list[NDArray[np.bool_]]:
    """Return the indicators of missing cells: missing cells themselves, and columns of 0 and 1."""
    found = []
    for column in encoded.iter_columns():
        if column.null_count():
            found.append(column.is_null().to_numpy())
        if is_number(column.dtype) or column.dtype == pl.Boolean:
            values = numbers(column.cast(pl.Int8) if column.dtype == pl.Boolean else column)
            if set(np.unique(values[np.isfinite(values)]).tolist()) == {0.0, 1.0}:
                found.append(values == 1.0)
    return found


def _phi(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> float:
    """Return how far two masks agree: their correlation."""
    spread = float(first.std() * second.std())
    both = float((first & second).mean())
    return (both - float(first.mean() * second.mean())) / spread if spread else 0.0
