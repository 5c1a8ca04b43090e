"""Re-merging: the codes of a split category are found again, and named."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks._arms import Certain, Resampled
from halfmask.assess.attacks._attack import DeclaredAttack
from halfmask.assess.attacks._encoding_target import EncodingTarget
from halfmask.assess.attacks._outcome import Outcome
from halfmask.assess.attacks.encodings._category_column import (
    category_columns,
    lacking_categories,
    named_outcome,
)
from halfmask.assess.attacks.encodings._features import Features
from halfmask.assess.attacks.encodings._merging import (
    agreement,
    agreement_of,
    by_chains,
    by_context,
    by_counts,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.attacks.encodings._category_column import CategoryColumn

_REPLICATES = 200
# An attacker sees that a column is split, and how many categories there are, in the population.
_WAYS = {"context": by_context, "chains": by_chains, "counts": by_counts}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReMerge(
    DeclaredAttack, name="encodings/re-merge", target=EncodingTarget, needs=(lacking_categories,)
):
    """Merge codes that seem to be one category, and name it by its frequency.

    Parameters
    ----------
    n_rows
        How many rows, of either table, are used at most.

    Notes
    -----
    Three ways, and the best for the attacker is reported:

    - ``context``: codes whose rows have similar other columns (Ward 1963). It finds the siblings of
      a split that was drawn at random;
    - ``chains``: codes that are neighbouring slices along one direction, which is found first. It
      is made for the split of :class:`halfmask.encode.Codec`;
    - ``counts``: codes of about as many rows, as equal parts of a category have.

    The attacker knows from the population how many categories there are. Agreement is the adjusted
    Rand index of merged codes and true categories, over rows; over codes, each one counting alike,
    it is among the details as ``context, codes of`` and ``chains, codes of`` a column. Then what
    was merged is named by rank. The worst column is reported for both.

    **Edge cases.** Where nothing is split there is nothing to merge, and each code is a category.
    """

    n_rows: int = field(default=20_000, metadata={"ge": 1})

    def run(self, target: EncodingTarget, *, random_state: int) -> tuple[Outcome, ...]:
        """Merge and name, and return the agreement and how many cells are named."""
        rng = np.random.default_rng(random_state)
        rows, _, columns = category_columns(target, self.n_rows, rng)
        whole = Features.of(target.encoded[rows])
        details: dict[str, float] = {}
        merged = []
        for column in columns:
            features = whole.without(target.encoded.columns.index(column.holder))
            ways = {
                way: merge(column.code, column.n_codes, features, column.n_known)
                for way, merge in _WAYS.items()
            }
            owner = _owners(column)
            reached = {way: agreement(g[column.code], column.truth) for way, g in ways.items()}
            for way, groups in ways.items():
                details[f"{way}, rows of {column.name}"] = reached[way]
                details[f"{way}, codes of {column.name}"] = agreement(groups, owner)
            merged.append(ways[max(reached, key=lambda way: reached[way])])
        arms = [_arm(c, groups, rng) for c, groups in zip(columns, merged, strict=True)]
        named = [column.named(groups) for column, groups in zip(columns, merged, strict=True)]
        agreeing = Outcome(
            attack=self.name,
            measure="agreement of merged codes of a column (ARI)",
            success=max(arms, key=lambda arm: arm.value),
            control=Certain(0.0),
            needed=100,
            needed_of="rows",
            details=details,
        )
        naming = named_outcome(self.name, "cells of a column named after merging", columns, named)
        return agreeing, naming


def _owners(column: CategoryColumn) -> NDArray[np.int64]:
    """Return the category that most rows of each code have."""
    counts = np.zeros((column.n_codes, column.n_values))
    np.add.at(counts, (column.code, column.truth), 1)
    return np.asarray(counts.argmax(axis=1), dtype=np.int64)


def _arm(column: CategoryColumn, groups: NDArray[np.int64], rng: np.random.Generator) -> Resampled:
    table = np.zeros((int(groups.max()) + 1, column.n_values))
    np.add.at(table, (groups[column.code], column.truth), 1)
    n = len(column.truth)
    drawn = rng.multinomial(n, table.ravel() / n, _REPLICATES).reshape(-1, *table.shape)
    replicates = [max(0.0, agreement_of(each.astype(np.float64))) for each in drawn]
    return Resampled.of(max(0.0, agreement_of(table)), replicates, n)
