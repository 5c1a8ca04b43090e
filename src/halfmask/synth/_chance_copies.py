"""Drawn rows that equal original rows, thinned to as many as other people's rows do by chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Rows that more original rows equal are nobody's: they aren't thinned.
MOST_EQUAL = 5
#: Where more drawn rows had to go, the model copies, or there are too few rows to tell: all stay,
#: and the verifier counts them. Leaves of five give back up to a seventh of the rows of surveys,
#: forests a fourth, and a half where each combination occurs once: no table lies at this border by
#: the luck of a draw.
MOST_DROPPED = 0.75


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChanceCopies:
    """How often drawn rows may equal rows that were learnt from.

    A row of somebody else equals a row that r people have with the probability (r + 1) N(r + 1) / n
    where N(r) is how many different rows r people have. Good, "The population frequencies of
    species and the estimation of population parameters" (1953).
    """

    learnt: pl.DataFrame
    kept: NDArray[np.float64]

    def __repr__(self) -> str:
        return f"ChanceCopies({self.learnt.height} rows)"

    @classmethod
    def of(cls, learnt: pl.DataFrame, drawn: pl.DataFrame) -> Self:
        """Compare drawn rows with chance."""
        bins, equal = MOST_EQUAL + 2, np.arange(1, MOST_EQUAL + 1)
        # Rows that r + 1 people have are (r + 1) N(r + 1).
        people = np.bincount(np.minimum(count_equal(learnt, learnt), bins), minlength=bins + 1)
        chance = people[equal + 1] / learnt.height
        made = cls(learnt=learnt, kept=np.ones(MOST_EQUAL + 1))
        found = np.bincount(made._people(drawn), minlength=bins)[equal] / drawn.height
        above = found > chance
        stay = (1 - found[above].sum()) / max(1 - chance[above].sum(), 1e-9)
        if 1 - stay <= MOST_DROPPED:
            made.kept[equal[above]] = chance[above] * stay / found[above]
        return made

    def thinned(self, drawn: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
        """Return the drawn rows that stay."""
        people = np.minimum(self._people(drawn), MOST_EQUAL + 1)
        stays = np.append(self.kept, 1.0)[people]
        return drawn.filter(pl.Series(rng.random(drawn.height) < stays))

    def _people(self, drawn: pl.DataFrame) -> NDArray[np.int64]:
        """Return how many people have each row; more than five are six."""
        return np.minimum(count_equal(drawn, self.learnt), MOST_EQUAL + 1)


def count_equal(rows: pl.DataFrame, known: pl.DataFrame) -> NDArray[np.int64]:
    """Return for each row how many known rows equal it."""
    names = [f"c{i}" for i in range(known.width)]
    some, all_known = (it.rename(dict(zip(it.columns, names, strict=True))) for it in (rows, known))
    counts = all_known.group_by(names).agg(pl.len().alias("n"))
    found = some.join(counts, on=names, how="left", nulls_equal=True, maintain_order="left")
    return found["n"].fill_null(0).to_numpy().astype(np.int64)
