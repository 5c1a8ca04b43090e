"""BucketColumn: a column's buckets, with the cells that they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import ParameterError
from halfmask.assess.attacks._arms import SuccessCount
from halfmask.assess.attacks.encodings._category_column import CategoryColumn
from halfmask.assess.attacks.encodings._cells import some_rows, table_codes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.attacks._hashing_target import HashingTarget


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
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[BucketColumn]]:
    """Return which rows are attacked, which of the population are known, and the columns.

    The `max_values` most frequent buckets and values of each column are distinguished. Columns of
    one value are left out.
    """
    if target.population is None:
        raise ParameterError("This attack needs a sample of the population.")
    rows = some_rows(target.original.height, n_rows, rng)
    others = some_rows(target.population.height, n_rows, rng)
    found = []
    for place, name in enumerate(target.original.columns):
        truth, sampled = table_codes(target.original[name], target.population[name])
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


def lacking_population(target: HashingTarget) -> str:
    """Return the missing inputs of an attack on frequencies."""
    if target.population is None or not target.population.height:
        return "a sample of the population"
    several = any(column.n_unique() > 1 for column in target.original.iter_columns())
    return "" if several else "columns of several values"


def _most_frequent(codes: NDArray[np.int64], max_values: int) -> tuple[NDArray[np.int64], int]:
    """Return numbers of codes, the most frequent one 0; the rare ones share the last."""
    number, n = _places(codes, max_values)
    found = np.array([number.get(int(code), n) for code in codes], dtype=np.int64)
    return found, int(found.max(initial=-1)) + 1


def _places(codes: NDArray[np.int64], max_values: int) -> tuple[dict[int, int], int]:
    """Return the rank of each of the most frequent codes, and how many those are."""
    seen, counts = np.unique(codes, return_counts=True)
    ranked = seen[np.argsort(-counts, kind="stable")][:max_values]
    return {int(code): place for place, code in enumerate(ranked)}, len(ranked)
