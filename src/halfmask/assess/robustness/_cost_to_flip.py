"""The cost of changing each row until the prediction flips: certified, exact and found."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
import polars as pl

from halfmask._errors import DataError, ParameterError
from halfmask._facts import Facts
from halfmask.assess._risk import listed, percent, row_text
from halfmask.assess.robustness._budget import are_within

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halfmask.assess._arrays import Bools, Floats
    from halfmask.assess.robustness._budget import AttackerBudget

#: The rounding of costs, relative to the greater one.
_SLACK = 1e-6
#: A sentence names so many columns.
_NAMED = 3


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CostToFlip(Facts):
    """What it costs to flip the prediction of each row.

    Parameters
    ----------
    certified
        No change that costs less flips the row; NaN where nothing is proven.
    found
        A change of this cost flips it, or any cost above it does; infinity where none was found.
    exact
        Whether both are the same by construction, row by row.
    changed
        Which columns the found change is of, shape (rows, columns).
    columns
        Their names.
    most
        What the attacker's budget is.
    flipped
        The rows with the found changes; rows without one are as they were.

    Raises
    ------
    DataError
        If a certified cost is above the found one: one of them is wrong.
    """

    certified: Floats = field(repr=False)
    found: Floats = field(repr=False)
    exact: Bools = field(repr=False)
    changed: Bools = field(repr=False)
    columns: tuple[str, ...]
    most: float
    flipped: pl.DataFrame = field(repr=False)
    facts: ClassVar[tuple[str, ...]] = (
        *("rows", "most", "share_flipped", "share_proven", "median", "certified_median"),
        *("exact_rows", "shares_changed"),
    )

    def __post_init__(self) -> None:
        n = len(self.found)
        shapes = {self.certified.shape, self.found.shape, self.exact.shape}
        if (
            shapes != {(n,)}
            or self.changed.shape != (n, len(self.columns))
            or n != self.flipped.height
        ):
            raise ParameterError("All costs of a CostToFlip must be of the same rows.")
        wrong = int((self.certified > self.found * (1 + _SLACK) + 1e-12).sum())
        if wrong:
            raise DataError(f"The certified cost is above the found one in {row_text(wrong)}.")

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.found)

    @property
    def share_flipped(self) -> float:
        """The share of rows that a found change within the budget flips."""
        return float(are_within(self.found, self.most).mean()) if self.rows else 0.0

    @property
    def share_proven(self) -> float:
        """The share of rows that provably no change within the budget flips."""
        return float(self.are_proven.mean()) if self.rows else 0.0

    @property
    def are_proven(self) -> Bools:
        """Which rows provably no change within the budget flips."""
        return ~np.isnan(self.certified) & ~are_within(self.certified, self.most)

    @property
    def median(self) -> float | None:
        """The median of the found costs; ``None`` where most rows have none."""
        return _median(self.found)

    @property
    def certified_median(self) -> float | None:
        """The median of the certified costs, 0 where nothing is proven."""
        return _median(np.nan_to_num(self.certified, nan=0.0))

    @property
    def exact_rows(self) -> int:
        """How many rows have an exact cost."""
        return int(self.exact.sum())

    @property
    def shares_changed(self) -> dict[str, float]:
        """Of the rows that flip within the budget, the share that changes each column."""
        within = self.changed[are_within(self.found, self.most)]
        shares = within.mean(axis=0) if len(within) else np.zeros(len(self.columns))
        order = np.argsort(-shares, kind="stable")
        return {self.columns[it]: float(shares[it]) for it in order}

    def of(self, rows: Bools) -> Self:
        """Return the costs of some rows, such as a group.

        Parameters
        ----------
        rows
            Whether each row is one of them.
        """
        names = ("certified", "found", "exact", "changed")
        return replace(
            self, flipped=self.flipped.filter(rows), **{it: getattr(self, it)[rows] for it in names}
        )

    @property
    def sentence(self) -> str:
        """What it costs, in two or three sentences."""
        median, least = self.median, self.certified_median or 0.0
        kept = self.exact_rows == self.rows
        said = "isn't known: no change was found for most rows"
        if median is not None:
            between = f"between {least:.3g} and {median:.3g}" if least else f"at most {median:.3g}"
            said = f"is {median:.3g}" if kept else f"is {between}"
        text = (
            f"A change that costs at most {self.most:.3g} flips {percent(self.share_flipped)} of "
            f"{row_text(self.rows)}. The median cost to flip {said}."
        )
        if proven := self.share_proven:
            text += f" {percent(proven)} provably don't flip within the budget."
        chief = [name for name, share in self.shares_changed.items() if share][:_NAMED]
        return text + (f" The changes are mostly of {listed(chief)}." if chief else "")


def costs_of(
    rows: pl.DataFrame, changed: pl.DataFrame, budget: AttackerBudget, flips: Bools,
    certified: Floats,
) -> CostToFlip:  # fmt: skip
    """Return the costs of changes as a budget counts them, where they flip; none is exact."""
    found = np.where(flips, budget.cost_of(rows, changed), np.inf)
    columns = [name for name, it in budget.columns.items() if it.change != "no"]
    moved = np.column_stack([changed[it].ne_missing(rows[it]).to_numpy() for it in columns])
    return CostToFlip(
        certified=certified, found=found, exact=np.zeros_like(flips),
        changed=moved & np.isfinite(found)[:, None], columns=tuple(columns), most=budget.most,
        flipped=either(np.isfinite(found), changed, rows),
    )  # fmt: skip


def with_cells(
    rows: pl.DataFrame, names: Sequence[str], texts: Mapping[str, pl.Series], own: Floats,
    new: Floats,
) -> pl.DataFrame:  # fmt: skip
    """Return rows with other numbers, and other texts by their place."""
    columns = []
    for name, before, cells in zip(names, own.T, new.T, strict=True):
        here = np.flatnonzero((before != cells) & ~np.isnan(cells))
        if len(here):
            made = pl.Series(cells[here])
            made = texts[name].gather(made.cast(pl.UInt32)) if name in texts else made
            columns.append(rows[name].scatter(here, made.cast(rows.schema[name])))
    return rows.with_columns(columns)


def either(chosen: Bools, first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    """Return the first table's row where it is chosen, otherwise the second one's."""
    choice = pl.when(pl.Series(chosen))
    return pl.select(choice.then(it).otherwise(second[it.name]).alias(it.name) for it in first)


def _median(costs: Floats) -> float | None:
    """Return the median, the lower one of two: half the rows cost at most that."""
    middle = np.sort(costs)[(len(costs) - 1) // 2] if len(costs) else np.inf
    return float(middle) if np.isfinite(middle) else None
