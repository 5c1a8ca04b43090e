"""CategoryColumn: a column of codes, with the categories they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import ParameterError
from halfmask.assess.attacks._arms import SuccessCount
from halfmask.assess.attacks._outcome import Outcome
from halfmask.assess.attacks.encodings._cells import codes, some_rows, table_codes
from halfmask.assess.attacks.encodings._holding import category_holders

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from halfmask.assess.attacks._encoding_target import EncodingTarget


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CategoryColumn:
    """A column of categories, its codes, and how frequent its categories are in the population."""

    name: str
    holder: str
    code: NDArray[np.int64]
    n_codes: int
    truth: NDArray[np.int64]
    n_values: int
    sampled: NDArray[np.int64]

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many rows have each code."""
        return np.bincount(self.code, minlength=self.n_codes)

    @property
    def shares(self) -> NDArray[np.float64]:
        """How frequent each category is in the population, none quite absent."""
        counts = np.bincount(self.sampled, minlength=self.n_values) + 0.5
        return np.asarray(counts / counts.sum())

    @property
    def n_known(self) -> int:
        """How many categories the population has."""
        return len(np.unique(self.sampled))

    @property
    def guessed(self) -> SuccessCount:
        """Guessing the population's most frequent category for every row."""
        right = self.truth == int(np.argmax(self.shares))
        return SuccessCount(int(right.sum()), len(right))

    def by_rank(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the category of each code: the first for the most frequent one, and so on.

        Codes beyond the last category are taken for the last.
        """
        ranked = np.argsort(-self.shares, kind="stable")[: self.n_known]
        place = np.empty(len(counts), dtype=np.int64)
        place[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
        return np.asarray(ranked[np.minimum(place, len(ranked) - 1)])

    def by_tail(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the same for an attacker who knows that frequent categories are split.

        From the rarest on, a code is taken for the rarest category that is left while their
        frequencies agree to three standard errors; all other codes for the most frequent category.
        """
        meaning = np.full(len(counts), int(np.argmax(self.shares)), dtype=np.int64)
        expected = np.sort(self.shares)[-self.n_known :] * len(self.code)
        rarest = np.argsort(self.shares, kind="stable")[-self.n_known :]
        codes_up = np.argsort(counts, kind="stable")
        for code, value, wanted in zip(codes_up, rarest, expected, strict=False):
            if abs(counts[code] - wanted) > 3 * np.sqrt(2 * wanted + 1):
                break
            meaning[code] = value
        return meaning

    def by_frequency(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the category of each code by ranks, or by the tail where that names more rows."""
        both = (self.by_rank(counts), self.by_tail(counts))
        shares = [float((meaning[self.code] == self.truth).mean()) for meaning in both]
        return both[int(np.argmax(shares))]

    def named(self, groups: NDArray[np.int64]) -> SuccessCount:
        """Return how many rows are named if codes of one group are one code."""
        counts = np.bincount(groups[self.code], minlength=int(groups.max()) + 1)
        return self.right(self.by_rank(counts)[groups])

    def right(self, meaning: NDArray[np.int64]) -> SuccessCount:
        """Return how many rows are named rightly if each code means this category."""
        return SuccessCount(int((meaning[self.code] == self.truth).sum()), len(self.truth))


def category_columns(
    target: EncodingTarget, n_rows: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[CategoryColumn]]:
    """Return which rows are attacked, which of the population are known, and the columns."""
    if target.population is None:
        raise ParameterError("This attack needs a sample of the population.")
    rows = some_rows(target.original.height, n_rows, rng)
    others = some_rows(target.population.height, n_rows, rng)
    found = []
    for name, holder in category_holders(target).items():
        truth, sampled = table_codes(target.original[name], target.population[name])
        code, n_codes = codes(target.encoded[holder][rows])
        found.append(
            CategoryColumn(
                name=name,
                holder=holder,
                code=code,
                n_codes=n_codes,
                truth=truth[rows],
                n_values=int(max(truth.max(initial=0), sampled.max(initial=0))) + 1,
                sampled=sampled[others],
            )
        )
    return rows, others, found


def lacking_categories(target: EncodingTarget) -> str:
    """Return the missing inputs of an attack on frequencies."""
    if target.population is None or not target.population.height:
        return "a sample of the population"
    return "" if category_holders(target) else "columns of categories"


def named_outcome(
    attack: str, measure: str, columns: Iterable[CategoryColumn], named: Iterable[SuccessCount]
) -> Outcome:
    """Return how many cells of a column are named, the worst column for the owner."""
    pairs = list(zip(columns, named, strict=True))
    worst, success = max(pairs, key=lambda pair: pair[1].value - pair[0].guessed.value)
    details: dict[str, float] = {}
    for column, each in pairs:
        details[f"named of {column.name}"] = each.value
        details[f"most frequent of {column.name}"] = column.guessed.value
    return Outcome(
        attack=attack,
        measure=measure,
        success=success,
        control=worst.guessed,
        needed=100,
        needed_of="rows",
        details=details,
    )
