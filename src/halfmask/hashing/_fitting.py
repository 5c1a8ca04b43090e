"""Fitting a hasher: the kinds of the columns, and where the bins of their numbers begin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from halfmask._errors import DataError, SchemaError
from halfmask._optional import need
from halfmask.data.text_forms import TextWatch
from halfmask.hashing._cells import kind_of, numbers_of, same_kind
from halfmask.hashing._columns import HashedColumn
from halfmask.hashing._plan import HashPlan
from halfmask.hashing._tables import (
    arrow_of,
    columns_of,
    is_empty,
    texts_of_table,
    with_column,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from numpy.typing import NDArray

    from halfmask.hashing._settings import HasherSettings
    from halfmask.vault import Secret

#: Rows that bins are made of: a bin's share is then within half a percent of what it should be.
_SAMPLE = 1 << 16


def plan_of_schema(schema: Any, *, settings: HasherSettings, secret: Secret) -> HashPlan:  # noqa: ANN401 # no types
    """Return the plan of columns whose numbers need no look at them."""
    columns = []
    for name, dtype in zip(schema.names, schema.types, strict=True):
        kind = kind_of(dtype, name)
        columns.append(HashedColumn(name=name, kind=kind, role=settings.role_of(name, kind)))
    return HashPlan(settings=settings, columns=tuple(columns), secret=secret)


def fitted(
    frames: Iterable[object],
    *,
    settings: HasherSettings,
    secret: Secret,
    known: Collection[str] = (),
) -> HashPlan:
    """Return the plan of the columns of frames that follow one another.

    Numbers are binned by the quantiles of at most 65,536 rows: those whose numbers, counted from
    the first, have the smallest values of a fixed function, so that any batches of the same rows
    give the same bins.
    """
    need("numba")
    declared = {*known, *settings.categorical, *settings.text, *settings.sets}
    watch = TextWatch(owner="A hasher", known=declared)
    kinds: dict[str, str] = {}
    sample = _Sample()
    rows = 0
    for frame in frames:
        table = arrow_of(frame)
        watch.see(texts_of_table(table))
        table, found = _alike(table, kinds)
        _agree(kinds, found)
        kinds = {
            name: found[name] if kinds.get(name, "empty") == "empty" else kinds[name]
            for name in found
        }
        if settings.numbers == "quantiles":
            numeric = [n for n, kind in found.items() if settings.role_of(n, kind) == "number"]
            sample.add(columns_of(table), numeric, first=rows, n_rows=table.num_rows)
        rows += table.num_rows
    watch.warn()
    if not rows:
        raise DataError("A hasher can't be fitted to a table without rows.")
    columns = [
        HashedColumn(
            name=name,
            kind=kind,
            role=(role := settings.role_of(name, kind)),
            edges=_edges(sample.of(name), settings.bins)
            if role == "number" and settings.numbers == "quantiles"
            else None,
        )
        for name, kind in kinds.items()
    ]
    return HashPlan(settings=settings, columns=tuple(columns), secret=secret)


def _alike(table: Any, kinds: dict[str, str]) -> tuple[Any, dict[str, str]]:  # noqa: ANN401 # no types
    """Return a table and the kinds of its columns; one without a value is of any kind."""
    found = {n: kind_of(t, n) for n, t in zip(table.schema.names, table.schema.types, strict=True)}
    for name, kind in found.items():
        if not same_kind(kinds.get(name, kind), kind) and is_empty(table.column(name)):
            table = with_column(table, name, pa.nulls(table.num_rows))
            found[name] = "empty"
    return table, found


def _agree(kinds: dict[str, str], found: dict[str, str]) -> None:
    if not kinds:
        return
    if set(kinds) != set(found):
        raise SchemaError("A batch has other columns than the one before.")
    for name, kind in found.items():
        if not same_kind(kinds[name], kind):
            raise SchemaError(
                f"Column {name!r} is of kind {kind} in one batch, {kinds[name]} before."
            )


class _Sample:
    """The numbers of some rows, chosen by the rows' numbers alone."""

    def __init__(self) -> None:
        self._columns: dict[str, list[NDArray[np.float64]]] = {}
        self._ranks: list[NDArray[np.uint64]] = []
        self._held = 0
        self._bound = np.uint64(0xFFFFFFFFFFFFFFFF)

    def add(self, columns: dict[str, Any], names: list[str], *, first: int, n_rows: int) -> None:
        """Look at a batch whose first row has a number."""
        ranks = _mixed(np.arange(first, first + n_rows, dtype=np.uint64))
        chosen = np.flatnonzero(ranks <= self._bound)
        for name in names:
            if name not in self._columns:  # without a value until now
                gone = [np.full(len(each), np.nan) for each in self._ranks]
                self._columns[name] = gone
        for name, held in self._columns.items():
            held.append(numbers_of(columns[name])[chosen])
        self._ranks.append(ranks[chosen])
        self._held += len(chosen)
        if self._held > 2 * _SAMPLE:
            self._prune()

    def of(self, name: str) -> NDArray[np.float64]:
        """Return a column's numbers, ascending, without those that are missing."""
        self._prune()
        numbers = np.concatenate(self._columns.get(name, [np.zeros(0)]))
        return np.sort(numbers[~np.isnan(numbers)])

    def _prune(self) -> None:
        ranks = np.concatenate(self._ranks)
        if len(ranks) > _SAMPLE:
            self._bound = np.partition(ranks, _SAMPLE - 1)[_SAMPLE - 1]
        kept = ranks <= self._bound
        self._ranks = [ranks[kept]]
        self._held = int(kept.sum())
        for name, held in self._columns.items():
            self._columns[name] = [np.concatenate(held)[kept]]


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers mixed one to one: the finalizer of SplitMix64 (Steele, Lea, Flood 2014)."""
    mixed = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def _edges(numbers: NDArray[np.float64], bins: int) -> NDArray[np.float64]:
    """Return where at most so many bins of about equal numbers begin, without the first."""
    if not len(numbers):
        return np.zeros(0)
    places = np.arange(1, bins) * len(numbers) // bins
    edges = np.unique(numbers[places])
    return np.asarray(edges[(edges > numbers[0]) & np.isfinite(edges)])
