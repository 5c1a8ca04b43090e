"""Frequencies of buckets: the most frequent bucket is the most frequent value, and so on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks._attack import DeclaredAttack
from halfmask.assess.attacks._hashing_target import HashingTarget
from halfmask.assess.attacks.encodings._category_column import named_outcome
from halfmask.assess.attacks.hashing._bucket_column import bucket_columns, lacking_population

if TYPE_CHECKING:
    from halfmask.assess.attacks._outcome import Outcome


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

    def run(self, target: HashingTarget, *, random_state: int) -> tuple[Outcome, ...]:
        """Match ranks, and return how many cells are named."""
        rng = np.random.default_rng(random_state)
        *_, columns = bucket_columns(
            target, n_rows=self.n_rows, max_values=self.max_values, rng=rng
        )
        if not columns:
            return ()
        named = [column.right(column.by_rank(column.counts)) for column in columns]
        return (named_outcome(self.name, "cells of a column named by rank", columns, named),)
