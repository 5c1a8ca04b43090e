"""Record linkage by ranks: which released row has a person's places in the order of numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask._validation import integer_at_least
from halfmask.assess.attacks._targets import TableTarget
from halfmask.assess.attacks.tables._expected import Expected
from halfmask.assess.attacks.tables._knowledge import lacking_links, shared_columns
from halfmask.assess.attacks.tables._links import (
    LOOK_ALIKE,
    Linkable,
    expected_right,
    link_outcome,
    most_similar,
)
from halfmask.assess.attacks.tables._record_linkage import worst_links

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from halfmask.assess.attacks._outcome import Outcome
    from halfmask.assess.attacks.tables._distances import Comparison
    from halfmask.assess.attacks.tables._matching import Matched

#: How far two ranks are apart on average, as a share of the rows.
AVERAGE_GAP = 1 / 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RankLinkage:
    """Link each person to the released row whose ranks are nearest.

    Parameters
    ----------
    n_attacks
        How many people are attacked at most.

    Notes
    -----
    Muralidhar and Domingo-Ferrer, "Rank-based record linkage for re-identification risk
    assessment" (Privacy in Statistical Databases 2016): the attacker has the original file, and
    ranks its numbers and those of the release, each column in its own table. A scale that masking
    changed doesn't disturb ranks. Ranks are shares of the rows, those of equal numbers their mean;
    categories agree or don't. The worst is reported of absolute and of squared differences, over
    the columns of `DistanceLinkage`. Ties, control and guess are as there.

    Examples
    --------
    >>> import polars as pl
    >>> original = pl.DataFrame({"income": [10.0, 20.0, 30.0, 40.0]})
    >>> target = TableTarget(released=original * 7 + 1000, original=original)
    >>> RankLinkage().run(target, random_state=0)[0].success.value
    1.0
    """

    name: ClassVar[str] = "tables/record-linkage-rank"
    attacks: ClassVar[type] = TableTarget

    n_attacks: int = 2000

    def __post_init__(self) -> None:
        integer_at_least(1, owner="RankLinkage", n_attacks=self.n_attacks)

    def missing_inputs(self, target: TableTarget) -> str:
        """Return what is missing: rows, or a column of numbers."""
        types = [target.original.schema[name] for name in shared_columns(target)]
        if not any(dtype.is_numeric() or dtype.is_temporal() for dtype in types):
            return "a column of numbers that the original and the released table share"
        return lacking_links(target)

    def run(self, target: TableTarget, *, random_state: int) -> tuple[Outcome, ...]:
        """Link by quasi-identifiers and by any columns."""
        rng = np.random.default_rng(random_state)
        linkable = Linkable.of(target, self.n_attacks, rng)
        worst, rates = worst_links(_ranked(linkable, target), rng)
        return tuple(
            link_outcome(
                self.name,
                measure,
                Expected(float(right.sum()), len(right)),
                target,
                n_rows=target.released.height,
                details={**rates, **_look_alike(best, linkable, target)},
            )
            for measure, (right, best) in worst.items()
        )


def _ranked(linkable: Linkable, target: TableTarget) -> Linkable:
    """Return the same people and rows with ranks in place of numbers."""
    columns = {column.name: _ranks_of_cells(column) for column in linkable.columns}
    known = {
        column.name: _ranks_of_people(column, linkable.known[column.name], target)
        for column in linkable.columns
    }
    return replace(
        linkable,
        columns=tuple(columns.values()),
        quasi_identifiers=tuple(columns[each.name] for each in linkable.quasi_identifiers),
        known=known,
    )


def _ranks_of_cells(column: Matched) -> Matched:
    """Return a column of numbers with the ranks of its released cells."""
    if not column.is_number:
        return column
    cells = column.cells
    middle = cells.middle
    ranks = _shares(middle, among=middle)
    return replace(
        column,
        cells=replace(
            cells,
            low=np.where(cells.silent, -np.inf, ranks),
            high=np.where(cells.silent, np.inf, ranks),
        ),
        spread=1.0,
        deviation=1.0,
        average_gap=AVERAGE_GAP,
    )


def _ranks_of_people(
    column: Matched, values: NDArray[np.float64], target: TableTarget
) -> NDArray[np.float64]:
    """Return the ranks that people's numbers have in the original."""
    if not column.is_number:
        return values
    return _shares(values, among=column.known(target.original[column.name]))


def _shares(values: NDArray[np.float64], *, among: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return which share of some numbers is below each value, equal ones by half; NaN stays."""
    ordered = np.sort(among[~np.isnan(among)])
    first, last = (np.searchsorted(ordered, values, side=side) for side in ("left", "right"))
    return np.where(np.isnan(values), np.nan, (first + last) / (2 * max(1, len(ordered))))


def _look_alike(
    comparison: Comparison, linkable: Linkable, target: TableTarget
) -> dict[str, float]:
    """Return how often another person's values hit the row of the attacked."""
    names = {column.name for column in comparison.columns}
    plain = tuple(column for column in linkable.columns if column.name in names)
    alike: pl.DataFrame | None = most_similar(replace(comparison, columns=plain), linkable, target)
    if alike is None:
        return {}
    known = {
        column.name: _ranks_of_people(column, column.known(alike[column.name]), target)
        for column in plain
    }
    right = expected_right(comparison.blocks(known), linkable.people, linkable.owners)
    return {LOOK_ALIKE: float(right.mean())}
