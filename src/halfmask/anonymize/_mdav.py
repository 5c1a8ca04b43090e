"""Mdav: classes are groups of k to 2k - 1 rows that are near each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from halfmask._validation import integer_at_least
from halfmask.anonymize._growth import GrowthPlan

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Mdav:
    """Group each k to 2k - 1 rows that are near each other (microaggregation).

    Parameters
    ----------
    block_rows
        More rows than this are halved first, at the median of the column that differs most, and
        again until no block has more. Each block is grouped by itself.

    Notes
    -----
    **Guarantees.** Every cell keeps every guarantee. Where k is the only one and there are at most
    `block_rows` rows, the cells are the groups of MDAV. For other guarantees neighbouring groups
    are joined until all hold.

    **Edge cases.** A new row goes to the nearest centroid; of equally near ones to the first. Equal
    rows can be in two cells, and a fitted row can be nearer to the centroid of another cell. So
    ``transform`` may write fitted rows differently from ``fit_transform``. The boxes of cells
    overlap. Hierarchies don't change distances. Weights of columns multiply squared differences;
    with Gower's distance they are refused.

    Domingo-Ferrer and Mateo-Sanz, "Practical data-oriented microaggregation for statistical
    disclosure control", IEEE TKDE 2002; in the generic form of Domingo-Ferrer and Torra, "Ordinal,
    continuous and heterogeneous k-anonymity through microaggregation", DMKD 2005. If all
    quasi-identifiers are numbers and dates, distances are squared differences of standardized
    values. Otherwise they are Gower's: the difference over the column's range for numbers, dates
    and ordinal columns, 0 or 1 for categories. A missing cell is as far as can be from all values
    with Gower's distance, and 3 standard deviations away otherwise. With a sample of a very large
    table, all rows are placed by the nearest centroid, counted, and joined where a cell misses a
    guarantee.

    See Also
    --------
    Centroid : Writes the mean of numbers and the most frequent category of each cell.
    halfmask.masks.Microaggregation : The same for columns that aren't quasi-identifiers.

    Examples
    --------
    >>> Mdav()
    Mdav(block_rows=100000)
    """

    name: ClassVar[str] = "mdav"
    sentence: ClassVar[str] = "Classes of k to 2k - 1 near rows, by MDAV."
    needs_guide: ClassVar[bool] = False
    judges_release: ClassVar[bool] = False

    block_rows: int = field(
        default=100_000,
        metadata={"ge": 1, "description": "Of more rows, blocks are made first."},
    )

    def __post_init__(self) -> None:
        integer_at_least(1, owner="Mdav", block_rows=self.block_rows)

    def plan_growth(self, guides: NDArray[np.float64] | None) -> GrowthPlan:  # noqa: ARG002 # it needs none
        """Return how classes are found.

        Parameters
        ----------
        guides
            Labels or predictions, (rows, outputs); ``None`` without any.
        """
        return GrowthPlan(search="nearest", block_rows=self.block_rows)
