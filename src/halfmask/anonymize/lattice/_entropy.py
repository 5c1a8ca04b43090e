"""Non-uniform entropy: how many bits of each column's values a release leaves unsaid."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask.anonymize.lattice._objective import (
    ROUNDING,
    Factors,
    Objective,
    Scorer,
    bounds_of_sums,
    factors_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize.lattice._lattice import LatticeColumn, Levels
    from halfmask.anonymize.lattice._objective import NodeClasses


@dataclass(frozen=True, slots=True, kw_only=True)
class NonUniformEntropy(Objective):
    """The bits that say which value each row had, given what is written for it.

    A value that ``a`` rows have, and that is written as a node of ``b`` rows, loses
    ``log2(b / a)`` in each of them. Of the suppressed rows a reader knows nothing, not even the
    node: each loses ``log2(s / c)`` more, where ``s`` rows are suppressed and ``c`` of them have
    its node. The loss is the sum over rows and columns, a column's part times its weight.

    Parameters
    ----------
    gs_factor
        In [0, 1]. Below 0.5 what suppression adds counts ``2 * gs_factor``. Above 0.5 what the
        levels lose counts ``2 - 2 * gs_factor``.

    See Also
    --------
    PrecomputedEntropy : Ignores what suppression loses.

    Notes
    -----
    Sources: A. De Waal and L. Willenborg, "Information loss through global recoding and local
    suppression", Netherlands Official Statistics 14, 1999; A. Gionis and T. Tassa,
    "k-Anonymization with minimal loss of information", IEEE TKDE 2009. The loss of suppression is
    that of ARX's "Non-uniform entropy".
    """

    name: ClassVar[str] = "non-uniform-entropy"
    sentence: ClassVar[str] = "The bits of each row's values that the release leaves unsaid."
    weighs_columns: ClassVar[bool] = True

    gs_factor: float = field(default=0.5, metadata={"ge": 0, "le": 1})

    def __post_init__(self) -> None:
        factors_of(self.gs_factor, owner="NonUniformEntropy")

    def scorer(
        self,
        columns: Sequence[LatticeColumn],
        *,
        n_rows: int,  # noqa: ARG002 # the columns say it
        min_rows: int = 1,  # noqa: ARG002 # of no use for this bound
    ) -> Scorer:
        """Return the objective for one table."""
        return _EntropyScorer.of(columns, factors_of(self.gs_factor, owner="NonUniformEntropy"))


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecomputedEntropy(Objective):
    """The non-uniform entropy of the levels, whatever is suppressed.

    It depends on the node alone, so a search knows the loss of every node before it judges one.
    Suppression up to the limit costs nothing.

    Notes
    -----
    ARX's "Non-uniform entropy" in its monotone, precomputed variant.
    """

    name: ClassVar[str] = "precomputed-entropy"
    sentence: ClassVar[str] = "The bits that the levels leave unsaid; suppressed rows don't count."
    weighs_columns: ClassVar[bool] = True

    def scorer(
        self,
        columns: Sequence[LatticeColumn],
        *,
        n_rows: int,  # noqa: ARG002 # the columns say it
        min_rows: int = 1,  # noqa: ARG002 # of no use for this bound
    ) -> Scorer:
        """Return the objective for one table."""
        return _EntropyScorer.of(columns, Factors(generalization=1.0, suppression=0.0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _EntropyScorer(Scorer):
    columns: tuple[LatticeColumn, ...]
    bits: tuple[tuple[float, ...], ...]
    of_suppressed: float

    @classmethod
    def of(cls, columns: Sequence[LatticeColumn], factors: Factors) -> _EntropyScorer:
        """Return the scorer; the bits of levels are multiplied by their factor."""
        bits = tuple(
            tuple(factors.generalization * each for each in _bits_of_levels(column))
            for column in columns
        )
        return cls(columns=tuple(columns), bits=bits, of_suppressed=factors.suppression)

    def loss(self, classes: NodeClasses) -> float:
        total = self._of_levels(classes.levels)
        if self.of_suppressed and classes.suppressed:
            for place, column in enumerate(self.columns):
                bits = _bits_of_suppressed(classes, column, place)
                total += self.of_suppressed * column.weight * bits
        return total

    def bound(self, levels: Levels) -> float:
        return self._of_levels(levels) * (1 - ROUNDING)

    def bounds(self, nodes: NDArray[np.intp]) -> NDArray[np.float64]:
        lost = [
            [column.weight * each for each in bits]
            for column, bits in zip(self.columns, self.bits, strict=True)
        ]
        return bounds_of_sums(lost, nodes)

    def _of_levels(self, levels: Levels) -> float:
        return sum(
            column.weight * bits[level]
            for column, bits, level in zip(self.columns, self.bits, levels, strict=True)
        )


def _bits_of_levels(column: LatticeColumn) -> tuple[float, ...]:
    """Return what each level of a column leaves unsaid of all rows."""
    occurs = column.rows > 0
    rows = column.rows[occurs].astype(np.float64)
    bits, least = [], -inf
    for level, nodes in enumerate(column.nodes):
        of_node = column.rows_below(level)[nodes[occurs]]
        # Rounding must not make a level seem to lose less than the one below it.
        least = max(least, float(rows @ np.log2(of_node / rows)))
        bits.append(least)
    return tuple(bits)


def _bits_of_suppressed(classes: NodeClasses, column: LatticeColumn, place: int) -> float:
    released = np.bincount(classes.nodes[:, place], weights=classes.sizes).astype(np.int64)
    counts = column.rows_below(classes.levels[place])
    counts[: len(released)] -= released
    gone = counts[counts > 0].astype(np.float64)
    return float(gone @ np.log2(classes.suppressed / gone))
