"""Context of a code: the other columns of its rows, as far as an attacker can read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from halfmask.assess.attacks.encodings._cells import numbers
from halfmask.assess.attacks.encodings._holding import number_holders

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.attacks._encoding_target import EncodingTarget
    from halfmask.assess.attacks.encodings._category_column import CategoryColumn

_BINS = 10


#: Columns as far as they can be read: numbers of cells of encoded rows, and of the population's.
Context: TypeAlias = Sequence["tuple[NDArray[np.int64], NDArray[np.int64]]"]


def binned_numbers(
    target: EncodingTarget, rows: NDArray[np.int64], others: NDArray[np.int64]
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
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


def named_by_context(
    column: CategoryColumn,
    context: Context,
) -> NDArray[np.int64]:
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


def _table(
    first: NDArray[np.int64], second: NDArray[np.int64], n: int, m: int
) -> NDArray[np.float64]:
    return np.bincount(first * m + second, minlength=n * m).reshape(n, m).astype(np.float64)


def _tenths(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the tenth of a column in which each cell lies; a tenth more for missing ones."""
    from scipy.stats import rankdata  # noqa: PLC0415 # scipy loads late

    present = np.isfinite(values)
    found = np.full(len(values), _BINS, dtype=np.int64)
    if present.any():
        place = (rankdata(values[present]) - 0.5) / present.sum()
        found[present] = np.minimum((place * _BINS).astype(np.int64), _BINS - 1)
    return found
