"""Buckets named by their frequency, alone and together with the other columns of their rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks._arms import SuccessCount
from halfmask.assess.attacks._attack import DeclaredAttack, Found, required
from halfmask.assess.attacks._hashing_target import HashingTarget
from halfmask.assess.attacks._rows import some_rows
from halfmask.assess.attacks.encodings._categories import CategoryColumn, named_again, named_outcome
from halfmask.assess.attacks.encodings._cells import table_codes

if TYPE_CHECKING:
    from halfmask.assess._arrays import Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BucketColumn(CategoryColumn):
    """A column whose rare values are lumped together: the last one is none, and names no cell."""

    @property
    def guessed(self) -> SuccessCount:
        """Guessing the population's most frequent value for every row."""
        right = self.truth == int(np.argmax(self.shares[: self.n_values - 1]))
        return SuccessCount(int(right.sum()), len(right))


def bucket_columns(
    target: HashingTarget, *, n_rows: int, max_values: int, rng: np.random.Generator
) -> tuple[Ints, Ints, list[BucketColumn]]:
    """Return which rows are attacked, which of the population are known, and the columns.

    The `max_values` most frequent buckets and values of each column are distinguished. Columns of
    one value are left out.
    """
    population = required(target.population, "a sample of the population")
    rows = some_rows(target.original.height, n_rows, rng)
    others = some_rows(population.height, n_rows, rng)
    found = []
    for place, name in enumerate(target.original.columns):
        truth, sampled = table_codes(target.original[name], population[name])
        truth, sampled = truth[rows], sampled[others]
        code, n_codes = _most_frequent(target.buckets[rows, place].astype(np.int64), max_values)
        number, n_values = _places(sampled, max_values)
        if n_codes < 2 or n_values < 2:
            continue
        n_values += 1
        # A true value that isn't frequent in the population's table can't be named.
        true = np.array([number.get(int(v), -1) for v in truth], dtype=np.int64)
        known = np.array([number.get(int(v), n_values - 1) for v in sampled], dtype=np.int64)
        found.append(
            BucketColumn(
                name=name, holder=name, code=code, n_codes=n_codes,
                truth=true, n_values=n_values, sampled=known,
            )
        )  # fmt: skip
    return rows, others, found


def lacking_cells(target: HashingTarget) -> str:
    """Return that there are no cells, if so."""
    return "" if target.buckets.size else "cells"


def lacking_population(target: HashingTarget) -> str:
    """Return the missing inputs of an attack on frequencies."""
    if target.population is None or not target.population.height:
        return "a sample of the population"
    several = any(column.n_unique() > 1 for column in target.original.iter_columns())
    return "" if several else "columns of several values"


def _most_frequent(codes: Ints, max_values: int) -> tuple[Ints, int]:
    """Return numbers of codes, the most frequent one 0; the rare ones share the last."""
    number, n = _places(codes, max_values)
    found = np.array([number.get(int(code), n) for code in codes], dtype=np.int64)
    return found, int(found.max(initial=-1)) + 1


def _places(codes: Ints, max_values: int) -> tuple[dict[int, int], int]:
    """Return the rank of each of the most frequent codes, and how many those are."""
    seen, counts = np.unique(codes, return_counts=True)
    ranked = seen[np.argsort(-counts, kind="stable")][:max_values]
    return {int(code): place for place, code in enumerate(ranked)}, len(ranked)


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketFrequencies(
    DeclaredAttack,
    name="hashing/frequency-matching",
    target=HashingTarget,
    needs=(lacking_population,),
):
    """Name buckets by the rank of their frequency.

    Parameters
    ----------
    n_rows
        How many rows, of either table, are counted at most.
    max_values
        How many of the most frequent buckets of a column are named; all others stay unnamed.

    Notes
    -----
    Naveed, Kamara and Wright (CCS 2015), section 3, on buckets: a key changes which bucket a value
    has, and not how often it comes. The column with the highest excess over guessing its most
    frequent value is reported; all of them are among the details.
    """

    n_rows: int = field(default=50_000, metadata={"ge": 1})
    max_values: int = field(default=1000, metadata={"ge": 2})

    def _measure(self, target: HashingTarget, random_state: int) -> Found:
        rng = np.random.default_rng(random_state)
        *_, columns = bucket_columns(
            target, n_rows=self.n_rows, max_values=self.max_values, rng=rng
        )
        if not columns:
            return ()
        named = [column.right(column.by_rank(column.counts)) for column in columns]
        return named_outcome(self.name, "cells of a column named by rank", columns, named)


@dataclass(frozen=True, slots=True, kw_only=True)
class CoOccurrence(
    DeclaredAttack, name="hashing/co-occurrence", target=HashingTarget, needs=(lacking_population,)
):
    """Name buckets by their frequency together with other columns and the label.

    Parameters
    ----------
    n_rows
        How many rows, of either table, are counted at most.
    max_values
        How many of the most frequent buckets of a column are named; all others stay unnamed. The
        time grows with its third power.
    n_iter
        How often buckets are named again, by the names of the iteration before.

    Notes
    -----
    Starts from ranks of frequencies. The likelihood of a bucket's rows decides, columns taken as
    independent (Bindschaedler et al., VLDB 2018), each value given once where there are enough
    (Kuhn 1955). Where the population's labels are known, the label is one more column.
    """

    n_rows: int = field(default=20_000, metadata={"ge": 1})
    max_values: int = field(default=300, metadata={"ge": 2})
    n_iter: int = field(default=3, metadata={"ge": 1})

    def _measure(self, target: HashingTarget, random_state: int) -> Found:
        rng = np.random.default_rng(random_state)
        rows, others, columns = bucket_columns(
            target, n_rows=self.n_rows, max_values=self.max_values, rng=rng
        )
        if not columns:
            return ()
        context: list[tuple[Ints, Ints]] = []
        if target.labels is not None and target.population_labels is not None:
            seen = np.unique(np.concatenate([target.labels, target.population_labels]))
            labels, known = target.labels[rows], target.population_labels[others]
            context.append((np.searchsorted(seen, labels), np.searchsorted(seen, known)))
        ranked = [column.by_rank(column.counts) for column in columns]
        meaning = named_again(columns, ranked, context, n_iter=self.n_iter)
        named = [column.right(each) for column, each in zip(columns, meaning, strict=True)]
        return named_outcome(self.name, "cells of a column named by co-occurrence", columns, named)
