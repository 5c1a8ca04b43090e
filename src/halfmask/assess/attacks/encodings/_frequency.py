"""Frequencies: the most frequent code is the most frequent category, and so on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks._attack import DeclaredAttack
from halfmask.assess.attacks._encoding_target import EncodingTarget
from halfmask.assess.attacks.encodings._category_column import (
    category_columns,
    lacking_categories,
    named_outcome,
)

if TYPE_CHECKING:
    from halfmask.assess.attacks._outcome import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class FrequencyMatching(
    DeclaredAttack,
    name="encodings/frequency-matching",
    target=EncodingTarget,
    needs=(lacking_categories,),
):
    """Name codes by the rank of their frequency.

    Parameters
    ----------
    n_rows
        How many rows, of either table, are counted at most.

    Notes
    -----
    Frequency analysis, as Naveed, Kamara and Wright (CCS 2015), section 3, use it. For counts alone
    the assignment of highest likelihood is that of ranks (Lacharité and Paterson, "A note on the
    optimality of frequency analysis vs. lp-optimization", 2015), so that no Hungarian algorithm
    does better. Where there are more codes than categories, codes beyond the last category are
    taken for the last; or, by an attacker who knows of splitting, rare codes for rare categories
    and all others for the most frequent one. The better of the two is reported for each column.
    The outcome is the column with the highest excess over guessing its most frequent category; all
    columns are among the details.
    """

    n_rows: int = field(default=50_000, metadata={"ge": 1})

    def run(self, target: EncodingTarget, *, random_state: int) -> tuple[Outcome, ...]:
        """Match ranks, and return how many cells are named."""
        *_, columns = category_columns(target, self.n_rows, np.random.default_rng(random_state))
        named = [column.right(column.by_frequency(column.counts)) for column in columns]
        return (named_outcome(self.name, "cells of a column named by rank", columns, named),)
