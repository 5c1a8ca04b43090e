"""Joint frequencies: codes are named by their co-occurrence with other columns."""

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
from halfmask.assess.attacks.encodings._context import binned_numbers, named_by_context

if TYPE_CHECKING:
    from halfmask.assess.attacks._arms import SuccessCount
    from halfmask.assess.attacks._outcome import Outcome
    from halfmask.assess.attacks.encodings._category_column import CategoryColumn
    from halfmask.assess.attacks.encodings._context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class JointFrequencyMatching(
    DeclaredAttack,
    name="encodings/joint-frequency-matching",
    target=EncodingTarget,
    needs=(lacking_categories,),
):
    """Name codes by their frequency together with every other column.

    Parameters
    ----------
    n_rows
        How many rows, of either table, are counted at most.
    n_iter
        How often codes are named again, by the names of the iteration before.

    Notes
    -----
    Starts from frequencies, and tenths of ordered columns; with both, and with either alone, since
    coordinates of a matrix are no ordered columns: the best of the three is reported by column.
    The likelihood of a code's rows decides, after the multinomial attack of Bindschaedler et al.
    (VLDB 2018). It needs no code to be frequent, and reaches split categories too.
    """

    n_rows: int = field(default=20_000, metadata={"ge": 1})
    n_iter: int = field(default=3, metadata={"ge": 1})

    def run(self, target: EncodingTarget, *, random_state: int) -> tuple[Outcome, ...]:
        """Name codes iteratively, and return how many cells are named."""
        rng = np.random.default_rng(random_state)
        rows, others, columns = category_columns(target, self.n_rows, rng)
        ordered = binned_numbers(target, rows, others)
        named = self._named(columns, ordered, others=True)
        for context, with_others in (([], True), (ordered, False)):
            again = self._named(columns, context, others=with_others)
            pairs = zip(named, again, strict=True)
            named = [max(pair, key=lambda arm: arm.value) for pair in pairs]
        return (
            named_outcome(self.name, "cells of a column named by co-occurrence", columns, named),
        )

    def _named(
        self, columns: list[CategoryColumn], ordered: Context, *, others: bool
    ) -> list[SuccessCount]:
        """Return how many cells of each column are named, by numbers and by the other columns."""
        meaning = [column.by_frequency(column.counts) for column in columns]
        for _ in range(self.n_iter if others else 1):
            read = [(m[c.code], c.sampled) for m, c in zip(meaning, columns, strict=True)]
            meaning = [
                named_by_context(
                    column, [*ordered, *(read[:place] + read[place + 1 :] if others else ())]
                )
                for place, column in enumerate(columns)
            ]
        return [column.right(each) for column, each in zip(columns, meaning, strict=True)]
