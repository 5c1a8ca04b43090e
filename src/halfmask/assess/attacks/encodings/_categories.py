"""Columns of codes named by how frequent they are, alone and together with other columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from halfmask.assess.attacks._arms import SuccessCount
from halfmask.assess.attacks._attack import DeclaredAttack, Found, Outcome, required
from halfmask.assess.attacks._encoding_target import EncodingTarget
from halfmask.assess.attacks._rows import some_rows
from halfmask.assess.attacks.encodings._cells import (
    category_holders,
    codes,
    number_holders,
    numbers,
    table_codes,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halfmask.assess._arrays import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CategoryColumn:
    """A column of categories, its codes, and how frequent its categories are in the population."""

    name: str
    holder: str
    code: Ints
    n_codes: int
    truth: Ints
    n_values: int
    sampled: Ints

    @property
    def counts(self) -> Ints:
        """How many rows have each code."""
        return np.bincount(self.code, minlength=self.n_codes)

    @property
    def shares(self) -> Floats:
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

    def by_rank(self, counts: Ints) -> Ints:
        """Return the category of each code: the first for the most frequent one, and so on.

        Codes beyond the last category are taken for the last.
        """
        ranked = np.argsort(-self.shares, kind="stable")[: self.n_known]
        place = np.empty(len(counts), dtype=np.int64)
        place[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
        return np.asarray(ranked[np.minimum(place, len(ranked) - 1)])

    def by_tail(self, counts: Ints) -> Ints:
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

    def by_frequency(self, counts: Ints) -> Ints:
        """Return the category of each code by ranks, or by the tail where that names more rows."""
        both = (self.by_rank(counts), self.by_tail(counts))
        shares = [float((meaning[self.code] == self.truth).mean()) for meaning in both]
        return both[int(np.argmax(shares))]

    def named(self, groups: Ints) -> SuccessCount:
        """Return how many rows are named if codes of one group are one code."""
        counts = np.bincount(groups[self.code], minlength=int(groups.max()) + 1)
        return self.right(self.by_rank(counts)[groups])

    def right(self, meaning: Ints) -> SuccessCount:
        """Return how many rows are named rightly if each code means this category."""
        return SuccessCount(int((meaning[self.code] == self.truth).sum()), len(self.truth))


def category_columns(
    target: EncodingTarget, n_rows: int, rng: np.random.Generator
) -> tuple[Ints, Ints, list[CategoryColumn]]:
    """Return which rows are attacked, which of the population are known, and the columns."""
    population = required(target.population, "a sample of the population")
    rows = some_rows(target.original.height, n_rows, rng)
    others = some_rows(population.height, n_rows, rng)
    found = []
    for name, holder in category_holders(target).items():
        truth, sampled = table_codes(target.original[name], population[name])
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


_BINS = 10


#: Columns as far as they can be read: numbers of cells of encoded rows, and of the population's.
Context: TypeAlias = Sequence["tuple[Ints, Ints]"]


def binned_numbers(target: EncodingTarget, rows: Ints, others: Ints) -> list[tuple[Ints, Ints]]:
    """Return each ordered column as tenths of its own order: of encoded rows, of the population.

    An increasing map doesn't move a cell out of its tenth. The attacker
    is granted the direction of each column.
    """
    found = []
    for name, holder in number_holders(target).items():
        if target.population is None:
            continue
        encoded, known = numbers(target.encoded[holder])[rows], numbers(target.population[name])
        truth = numbers(target.original[name])[rows]
        both = np.isfinite(encoded) & np.isfinite(truth)
        if not both.any():
            continue
        order = np.argsort(np.argsort(truth[both]))
        rising = np.cov(np.argsort(np.argsort(encoded[both])), order)[0, 1] >= 0
        found.append((_tenths(encoded if rising else -encoded), _tenths(known)[others]))
    return found


def named_by_context(column: CategoryColumn, context: Context) -> Ints:
    """Return the most likely category of each code, given its context.

    Notes
    -----
    Log-likelihood of a code's rows under each category's, columns taken as independent: the joint
    attack of Bindschaedler, Grubbs, Cash, Ristenpart and Shmatikov, "The tao of inference in
    privacy-protected databases" (VLDB 2018). Where there are no more codes than categories each
    category is given once (Kuhn 1955).
    """
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 # scipy loads late

    counts = column.counts
    likely = counts[:, None] * np.log(column.shares)
    for encoded, known in context:
        n_cells = int(max(encoded.max(initial=0), known.max(initial=0))) + 1
        seen = _table(column.code, encoded, column.n_codes, n_cells)
        expected = _table(column.sampled, known, column.n_values, n_cells) + 0.5
        likely += seen @ np.log(expected / expected.sum(axis=1, keepdims=True)).T
    if column.n_codes > column.n_values:
        return np.asarray(likely.argmax(axis=1), dtype=np.int64)
    meaning = np.zeros(column.n_codes, dtype=np.int64)
    of_code, of_value = linear_sum_assignment(-likely)
    meaning[of_code] = of_value
    return meaning


def _table(first: Ints, second: Ints, n: int, m: int) -> Floats:
    return np.bincount(first * m + second, minlength=n * m).reshape(n, m).astype(np.float64)


def _tenths(values: Floats) -> Ints:
    """Return the tenth of a column in which each cell lies; a tenth more for missing ones."""
    from scipy.stats import rankdata  # noqa: PLC0415 # scipy loads late

    present = np.isfinite(values)
    found = np.full(len(values), _BINS, dtype=np.int64)
    if present.any():
        place = (rankdata(values[present]) - 0.5) / present.sum()
        found[present] = np.minimum((place * _BINS).astype(np.int64), _BINS - 1)
    return found


def named_again(
    columns: Sequence[CategoryColumn],
    meaning: list[Ints],
    context: Context,
    *,
    n_iter: int,
    others: bool = True,
) -> list[Ints]:
    """Return the category of each code of each column, named by the names of the turn before."""
    for _ in range(n_iter):
        read = [(m[c.code], c.sampled) for m, c in zip(meaning, columns, strict=True)]
        meaning = [
            named_by_context(
                column, [*context, *(read[:place] + read[place + 1 :] if others else ())]
            )
            for place, column in enumerate(columns)
        ]
    return meaning


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

    def _measure(self, target: EncodingTarget, random_state: int) -> Found:
        *_, columns = category_columns(target, self.n_rows, np.random.default_rng(random_state))
        named = [column.right(column.by_frequency(column.counts)) for column in columns]
        return named_outcome(self.name, "cells of a column named by rank", columns, named)


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

    def _measure(self, target: EncodingTarget, random_state: int) -> Found:
        rng = np.random.default_rng(random_state)
        rows, others, columns = category_columns(target, self.n_rows, rng)
        ordered = binned_numbers(target, rows, others)
        named = self._named(columns, ordered, others=True)
        for context, with_others in (([], True), (ordered, False)):
            again = self._named(columns, context, others=with_others)
            pairs = zip(named, again, strict=True)
            named = [max(pair, key=lambda arm: arm.value) for pair in pairs]
        return named_outcome(self.name, "cells of a column named by co-occurrence", columns, named)

    def _named(
        self, columns: list[CategoryColumn], ordered: Context, *, others: bool
    ) -> list[SuccessCount]:
        """Return how many cells of each column are named, by numbers and by the other columns."""
        meaning = [column.by_frequency(column.counts) for column in columns]
        n_iter = self.n_iter if others else 1
        meaning = named_again(columns, meaning, ordered, n_iter=n_iter, others=others)
        return [column.right(each) for column, each in zip(columns, meaning, strict=True)]
