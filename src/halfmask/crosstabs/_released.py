"""One table as it is released: its cells as a frame, with statistics that are derived of them.

Such a statistic is missing wherever a cell that it is made of is hidden.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.crosstabs._arrays import Bools, Floats, Ints
    from halfmask.crosstabs._pattern import PublishedCells
    from halfmask.crosstabs._policy import TablesPolicy

PUBLISHED: Final = "published"
HIDDEN: Final = "hidden"
#: Sums of decimals have noise behind this digit: 0.1 + 0.2 is written as 0.3.
_DIGITS: Final = 15


@dataclass(frozen=True, kw_only=True, repr=False)  # it has true values
class ReleasedTable:
    """A table of one measure, protected, under the name and dimensions of the policy."""

    name: str
    dimensions: tuple[str, ...]
    #: Whether contributions may be negative.
    negative: bool
    derived: tuple[str, ...]
    #: The protected cells of its measure.
    published: PublishedCells
    #: The table with the counts that means are made of.
    counts: ReleasedTable | None = None

    @property
    def measure(self) -> str | None:
        """The column that is summed; ``None``: rows are counted."""
        return self.published.cells.measure

    @cached_property
    def cells(self) -> Ints:
        """The positions of its cells."""
        return self.published.cells.tables[self.name]

    @cached_property
    def hidden(self) -> Bools:
        """Whether each of its cells is hidden."""
        return self.published.hidden[self.cells]

    @cached_property
    def labels(self) -> pl.DataFrame:
        """The codes of its cells."""
        return self.published.cells.labels(self.cells, self.dimensions)

    @cached_property
    def values(self) -> pl.Series:
        """What is published: whole numbers where the cells are whole counts; missing if hidden."""
        value = pl.Series("value", shortest(self.published.value[self.cells]))
        value = value.set(pl.Series(self.hidden), None)
        if self.measure is None and (value.drop_nulls() % 1 == 0).all():
            return value.cast(pl.Int64)
        return value

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The long table: a row for each cell, with its codes, value and state."""
        state = np.where(self.hidden, HIDDEN, PUBLISHED)
        frame = pl.DataFrame([*self.labels, self.values])
        for name in self.derived:
            frame = frame.with_columns(_DERIVED[name](self).alias(name))
        return frame.with_columns(pl.Series("state", state, dtype=pl.String))

    @cached_property
    def total(self) -> float | None:
        """The published total of the table; ``None`` where it is hidden."""
        cells = self.published.cells
        known = {each.name: at for at, each in enumerate(cells.dimensions)}
        is_total = np.ones(len(self.cells), dtype=bool)
        for name in self.dimensions:
            each = cells.dimensions[known[name]]
            is_total &= cells.codes[self.cells, known[name]] == each.position[each.total]
        found = self.values.filter(pl.Series(is_total))
        return None if found.is_empty() or found[0] is None else float(found[0])


def _mean(table: ReleasedTable) -> pl.Series:
    """Return the sum of each cell over its count; missing where one of them is hidden or 0."""
    if table.counts is None:
        raise ValueError("a mean without its counts")  # the policy adds them
    names = list(table.dimensions)
    own = "".join(("n", *names))  # longer than each of the others
    counts = table.counts.labels.with_columns(table.counts.values.cast(pl.Float64).alias(own))
    if names:
        counts = table.labels.join(counts, on=names, how="left", maintain_order="left")
    return _ratio(table.values, counts[own])


def _share(table: ReleasedTable) -> pl.Series:
    """Return each cell as a share of the total; missing where one of them is hidden."""
    total = pl.Series([table.total], dtype=pl.Float64)
    return _ratio(table.values, total.new_from_index(0, len(table.values)))


_DERIVED: Final = {"mean": _mean, "share": _share}


def _ratio(value: pl.Series, by: pl.Series) -> pl.Series:
    by = by.set(by == 0, None)
    ratio = value.cast(pl.Float64) / by
    return pl.Series(shortest(ratio.to_numpy()), nan_to_null=True)


def shortest(numbers: Floats) -> Floats:
    """Return numbers without the noise that sums of decimals have behind their last digit."""
    short = np.array([float(f"{each:.{_DIGITS}g}") for each in numbers.tolist()])
    return np.where(numbers == np.rint(numbers), numbers, short) + 0.0  # no -0.0


def released_tables(
    published: Sequence[PublishedCells], policy: TablesPolicy
) -> tuple[ReleasedTable, ...]:
    """Return every table of the policy, or each ready table, in its order."""
    of_table = {name: each for each in published for name in each.cells.tables}
    sections = {each.name: each for each in policy.with_counts().tables}
    made: dict[str, ReleasedTable] = {}
    for name in sections or of_table:
        section = sections.get(name)
        each = of_table[name]
        made[name] = ReleasedTable(
            name=name,
            dimensions=each.cells.crossed(name) if section is None else section.dimensions,
            negative=section is not None and section.negative,
            derived=() if section is None else section.derived,
            published=each,
        )
    counted = {frozenset(it.dimensions): it for it in made.values() if it.measure is None}
    return tuple(
        replace(it, counts=counted[frozenset(it.dimensions)]) if "mean" in it.derived else it
        for it in made.values()
    )
