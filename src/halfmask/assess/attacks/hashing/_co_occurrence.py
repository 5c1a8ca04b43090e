"""Co-occurrence: buckets are named by the other columns of their rows, iteratively."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks._attack import DeclaredAttack
from halfmask.assess.attacks._hashing_target import HashingTarget
from halfmask.assess.attacks.encodings._category_column import named_outcome
from halfmask.assess.attacks.encodings._context import named_by_context
from halfmask.assess.attacks.hashing._bucket_column import bucket_columns, lacking_population

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.attacks._outcome import Outcome
    from halfmask.assess.attacks.hashing._bucket_column import BucketColumn


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

    def run(self, target: HashingTarget, *, random_state: int) -> tuple[Outcome, ...]:
        """Name buckets iteratively, and return how many cells are named."""
        rng = np.random.default_rng(random_state)
        rows, others, columns = bucket_columns(
            target, n_rows=self.n_rows, max_values=self.max_values, rng=rng
        )
        if not columns:
            return ()
        context: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        if target.labels is not None and target.population_labels is not None:
            seen = np.unique(np.concatenate([target.labels, target.population_labels]))
            labels, known = target.labels[rows], target.population_labels[others]
            context.append((np.searchsorted(seen, labels), np.searchsorted(seen, known)))
        meaning = self._meaning(columns, context)
        named = [column.right(each) for column, each in zip(columns, meaning, strict=True)]
        return (
            named_outcome(self.name, "cells of a column named by co-occurrence", columns, named),
        )

    def _meaning(
        self,
        columns: list[BucketColumn],
        context: list[tuple[NDArray[np.int64], NDArray[np.int64]]],
    ) -> list[NDArray[np.int64]]:
        """Return the value of each bucket of each column, as it is read in the last turn."""
        meaning = [column.by_rank(column.counts) for column in columns]
        for _ in range(self.n_iter):
            read = [(m[c.code], c.sampled) for m, c in zip(meaning, columns, strict=True)]
            meaning = [
                named_by_context(column, [*context, *read[:place], *read[place + 1 :]])
                for place, column in enumerate(columns)
            ]
        return meaning
