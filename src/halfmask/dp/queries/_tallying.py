"""Tallying: exact sums of each group, in one pass over the rows that count of each person."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from halfmask.dp.queries._measures import DistinctValues, QuantileChoice, present

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from halfmask.data import Source
    from halfmask.dp.ledger import BudgetTerms
    from halfmask.dp.queries._measures import Measure
    from halfmask.dp.queries._question import Question

_RANK: Final = "\0rank"
_SEEN: Final = "\0seen"
_ORDER: Final = "\0order"


def bounded_rows(
    batches: Iterable[pl.DataFrame], groups: Sequence[str], terms: BudgetTerms
) -> pl.DataFrame | None:
    """Return the rows that count: a sample of each person's, which no other person changes.

    A row is sampled by a hash of the person, of its number among the person's rows in its group,
    and of the ledger's key. Groups of a person are sampled by a hash of the person and the group.

    Guarantees
    ----------
    Adding or removing all rows of a person changes no other person's sample. At most the sampled
    rows and one batch are in memory.
    """
    unit = terms.unit
    person = str(unit.person)
    seeds = [int(terms.key[at : at + 16], 16) for at in (0, 16, 32)]
    by = [person, *groups]
    kept: pl.DataFrame | None = None
    seen: pl.DataFrame | None = None
    for batch in batches:
        ranked = _ranked(batch, by, seen)
        counts = ranked.group_by(by).agg((pl.col(_RANK).max() + 1).alias(_SEEN))
        seen = _merged(seen, counts, by)
        drawn = pl.col(person).hash(seeds[0]) ^ pl.col(_RANK).hash(seeds[1])
        ranked = ranked.with_columns(drawn.alias(_ORDER))
        together = ranked if kept is None else pl.concat([kept, ranked])
        kept = _first_of(together, by, unit.max_rows)
    if kept is None:
        return None
    if groups:
        chosen = kept.select(by).unique(maintain_order=True)
        drawn = pl.col(person).hash(seeds[0])
        for column in groups:
            # Rotated, so that the same value in two columns doesn't cancel out.
            drawn = drawn * 3 ^ pl.col(column).hash(seeds[2])
        chosen = _first_of(chosen.with_columns(drawn.alias(_ORDER)), [person], unit.max_groups)
        kept = kept.join(chosen.select(by), on=by, how="semi", nulls_equal=True)
    return kept.drop(_RANK, _ORDER)


def _ranked(batch: pl.DataFrame, by: list[str], seen: pl.DataFrame | None) -> pl.DataFrame:
    """Return the rows with their number among those of the same person and group, from 0."""
    rank = pl.int_range(pl.len(), dtype=pl.UInt64).over(by)
    if seen is None:
        return batch.with_columns(rank.alias(_RANK))
    before = pl.col(_SEEN).fill_null(0)
    return (
        batch.join(seen, on=by, how="left", nulls_equal=True, maintain_order="left")
        .with_columns((rank + before).alias(_RANK))
        .drop(_SEEN)
    )


def _merged(seen: pl.DataFrame | None, counts: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    if seen is None:
        return counts
    return pl.concat([seen, counts]).group_by(by).agg(pl.col(_SEEN).max())


def _first_of(rows: pl.DataFrame, by: list[str], most: int) -> pl.DataFrame:
    """Return the first rows of each group in the drawn order; equal ones in their own order."""
    return rows.filter(pl.col(_ORDER).rank("ordinal").over(by) <= most)


#: The number of persons, or of rows, of each group, by which keys are selected.
PERSONS: Final = "\0persons"
_GROUP: Final = "\0group"
_VALUE: Final = "\0value"
_ROWS: Final = "\0rows"


@dataclass(frozen=True)
class GroupHistograms:
    """Rows of groups at each value of a grid; a value without rows takes no room.

    With selected keys, the number of groups is one of the data: a table of all groups and values
    could take any amount of memory.
    """

    groups: NDArray[np.int64]
    at: NDArray[np.int64] = field(repr=False)
    rows: NDArray[np.int64] = field(repr=False)
    size: int

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        for begin, end in self.groups:
            counted = np.zeros(self.size, dtype=np.int64)
            counted[self.at[begin:end]] = self.rows[begin:end]
            yield counted

    def of_groups(self, chosen: NDArray[np.generic]) -> GroupHistograms:
        """Return the histograms of some groups."""
        return replace(self, groups=self.groups[chosen])


@dataclass(frozen=True)
class ExactSums:
    """Exact results of a question, before noise: they never leave this room."""

    n_groups: int
    groups: pl.DataFrame
    sums: dict[Measure, NDArray[np.int64]] = field(repr=False)
    histograms: dict[QuantileChoice, GroupHistograms] = field(repr=False)
    persons: NDArray[np.int64] | None = field(repr=False)


def tally(
    source: Source, question: Question, measures: tuple[Measure, ...], terms: BudgetTerms
) -> ExactSums:
    """Add up all measures of a question."""
    return _Tallying(question, measures, terms).result(source)


class _Tallying:
    """The pass over the rows of one question."""

    def __init__(
        self, question: Question, measures: tuple[Measure, ...], terms: BudgetTerms
    ) -> None:
        self._question = question
        self._terms = terms
        # Under names of their own: a column may be binned for groups, and averaged in them.
        self._names = {f"\0by {name}": name for name in question.grouping.columns}
        self._by = list(self._names)
        self._keys: pl.DataFrame | None = None
        if self._by and not question.grouping.is_private:
            keys = question.grouping.frame(question.dtypes)
            self._keys = keys.rename({name: by for by, name in self._names.items()})
        self._sums = [
            each for each in measures if not isinstance(each, DistinctValues | QuantileChoice)
        ]
        self._distinct = [each for each in measures if isinstance(each, DistinctValues)]
        # The ends of an interval are chosen by the same rows.
        self._quantiles = [
            each for each in measures if isinstance(each, QuantileChoice) and not each.end
        ]

    def result(self, source: Source) -> ExactSums:
        parts: list[pl.DataFrame] = []
        values: dict[DistinctValues, list[pl.DataFrame]] = {each: [] for each in self._distinct}
        counts: dict[QuantileChoice, list[pl.DataFrame]] = {each: [] for each in self._quantiles}
        for rows in self._batches(source):
            parts = _added(parts, self._added_up(rows), self._by)
            for each, found in values.items():
                value = present(each.column, self._question.dtypes[each.column]).alias(_VALUE)
                new = rows.select(*self._by, value).drop_nulls(_VALUE).unique()
                values[each] = [pl.concat([*found, new]).unique()]
            for choice, found in counts.items():
                new = self._at_values(rows, choice)
                counts[choice] = _added(found, new, [*self._by, _VALUE])
        groups = self._groups(parts)
        joined = self._aligned(groups, parts)
        sums: dict[Measure, NDArray[np.int64]] = {
            each: _numbers(joined, str(at)) for at, each in enumerate(self._sums)
        }
        for each, found in values.items():
            sums[each] = self._distinct_in(groups, found)
        histograms = {it: self._histogram(groups, it, found) for it, found in counts.items()}
        persons = _numbers(joined, PERSONS) if self._question.grouping.is_private else None
        named = groups.drop(_GROUP).rename(
            dict(zip(self._by, self._question.grouping.labels, strict=True))
        )
        return ExactSums(groups.height, named, sums, histograms, persons)

    def _batches(self, source: Source) -> Iterator[pl.DataFrame]:
        """Yield the rows that count, with their groups."""
        rows = self._filtered(source)
        if self._terms.unit.person is None:
            yield from rows
            return
        bounded = bounded_rows(rows, self._by, self._terms)
        if bounded is not None:
            yield bounded

    def _filtered(self, source: Source) -> Iterator[pl.DataFrame]:
        question, person = self._question, self._terms.unit.person
        columns = question.columns
        if person is not None and person not in columns:
            columns = [*columns, person]
        columns = columns or [source.columns[0]]
        keep = [each.expression(question.dtypes) for each in question.conditions]
        groups = [
            made.alias(by)
            for made, by in zip(
                question.grouping.expressions(question.dtypes), self._by, strict=True
            )
        ]
        for batch in source.batches(columns=columns):
            rows = batch
            for table in question.joins:
                rows = table.joined(rows)
            if keep:
                rows = rows.filter(*keep)
            rows = rows.with_columns(groups) if groups else rows
            if self._keys is not None and self._terms.unit.person is not None:
                rows = rows.join(
                    self._keys, on=self._by, how="semi", nulls_equal=True, maintain_order="left"
                )
            yield rows

    def _added_up(self, rows: pl.DataFrame) -> pl.DataFrame:
        # What rows add is computed before they are grouped: in groups, polars takes six times as
        # long for it.
        added = [
            each.of_row(self._question.dtypes).alias(str(at)) for at, each in enumerate(self._sums)
        ]
        sums = [pl.col(str(at)).sum() for at in range(len(added))]
        person = self._terms.unit.person
        if self._question.grouping.is_private:
            added.append((pl.lit(1) if person is None else pl.col(person)).alias(PERSONS))
            counted = pl.len() if person is None else pl.col(PERSONS).n_unique()
            sums.append(counted.cast(pl.Int64).alias(PERSONS))
        if not sums:
            return rows.select(self._by).unique() if self._by else pl.DataFrame()
        each_row = (
            rows.lazy()
            .with_columns(added)
            .select(*self._by, *(it.meta.output_name() for it in added))
        )
        return (
            each_row.group_by(self._by).agg(sums) if self._by else each_row.select(sums)
        ).collect()

    def _at_values(self, rows: pl.DataFrame, each: QuantileChoice) -> pl.DataFrame:
        units = each.of_row(self._question.dtypes)
        at = rows.select(*self._by, (units - each.grid.low).alias(_VALUE)).drop_nulls(_VALUE)
        return at.group_by([*self._by, _VALUE]).agg(pl.len().cast(pl.Int64).alias(_ROWS))

    def _groups(self, parts: list[pl.DataFrame]) -> pl.DataFrame:
        if not self._by:
            return pl.DataFrame({_GROUP: [0]}, schema={_GROUP: pl.UInt32})
        if self._keys is not None:
            return self._keys.with_row_index(_GROUP)
        found = parts[0].select(self._by) if parts else None
        if found is None:
            dtypes = {by: self._question.dtypes[name] for by, name in self._names.items()}
            found = pl.DataFrame(schema=dtypes)
        return found.sort(self._by, nulls_last=True).with_row_index(_GROUP)

    def _aligned(self, groups: pl.DataFrame, parts: list[pl.DataFrame]) -> pl.DataFrame:
        """Return the sums, a row for each group; 0 for a group without rows."""
        if not parts:
            return groups
        if not self._by:
            return pl.concat([groups, parts[0]], how="horizontal")
        return groups.join(
            parts[0], on=self._by, how="left", nulls_equal=True, maintain_order="left"
        )

    def _distinct_in(self, groups: pl.DataFrame, found: list[pl.DataFrame]) -> NDArray[np.int64]:
        if not found:
            return np.zeros(groups.height, dtype=np.int64)
        if not self._by:
            return np.array([found[0].height], dtype=np.int64)
        counted = found[0].group_by(self._by).agg(pl.len().cast(pl.Int64).alias(_ROWS))
        return _numbers(self._aligned(groups, [counted]), _ROWS)

    def _histogram(
        self, groups: pl.DataFrame, each: QuantileChoice, found: list[pl.DataFrame]
    ) -> GroupHistograms:
        size = each.grid.high - each.grid.low + 1
        if not found:
            none = np.zeros(0, dtype=np.int64)
            return GroupHistograms(np.zeros((groups.height, 2), dtype=np.int64), none, none, size)
        cells = found[0].with_columns(pl.lit(0, pl.UInt32).alias(_GROUP))
        if self._by:
            cells = found[0].join(groups, on=self._by, how="inner", nulls_equal=True)
        cells = cells.select(_GROUP, _VALUE, _ROWS).sort(_GROUP)
        ends = np.searchsorted(cells[_GROUP].to_numpy(), np.arange(groups.height + 1))
        return GroupHistograms(
            np.stack([ends[:-1], ends[1:]], axis=1).astype(np.int64),
            cells[_VALUE].to_numpy(),
            cells[_ROWS].to_numpy(),
            size,
        )


def _added(parts: list[pl.DataFrame], new: pl.DataFrame, by: list[str]) -> list[pl.DataFrame]:
    """Return the sums of what was there and what is new, as a list of one."""
    if not new.width:
        return parts
    if not parts:
        return [new]
    together = pl.concat([*parts, new])
    sums = pl.exclude(by).sum() if by else pl.all().sum()
    return [together.group_by(by).agg(sums) if by else together.select(sums)]


def _numbers(frame: pl.DataFrame, column: str) -> NDArray[np.int64]:
    if column not in frame.columns:
        return np.zeros(frame.height, dtype=np.int64)
    return frame[column].fill_null(0).to_numpy().astype(np.int64)
