"""Weights of columns: what matters to the owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.anonymize._relative_weights import relative_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.anonymize.lattice._lattice import LatticeColumn


def shares_of(columns: Sequence[LatticeColumn]) -> tuple[float, ...]:
    """Return the weight of each column, scaled so that they add up to 1."""
    relative = relative_weights(column.weight for column in columns)
    return tuple(float(each) / len(columns) for each in relative)
