"""Cells as arrays, which encoded column holds which original one, and how much came back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask.assess.attacks._arms import Resampled

if TYPE_CHECKING:
    from halfmask.assess._arrays import Floats, Ints
    from halfmask.assess.attacks._encoding_target import EncodingTarget


# A column of fewer values isn't taken for one of numbers that were mixed.
_FEWEST_VALUES = 8
# Types whose order is a matter of the file, and those that polars doesn't rank.
_WORDS = (pl.Categorical, pl.Enum, pl.Boolean)


def is_number(dtype: pl.DataType) -> bool:
    """Return whether cells have an order and a distance: numbers, dates, times."""
    return dtype.is_numeric() or dtype.is_temporal()


def numbers(column: pl.Series) -> Floats:
    """Return an ordered column as floats, NaN where a cell is missing or infinite."""
    ticks = column.to_physical() if column.dtype.is_temporal() else column
    values = ticks.cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64)
    return np.where(np.isfinite(values), values, np.nan)


def number_columns(frame: pl.DataFrame) -> list[str]:
    """Return the ordered columns that vary, in the table's order."""
    found = []
    for name, dtype in frame.schema.items():
        if is_number(dtype):
            present = numbers(frame[name])
            present = present[np.isfinite(present)]
            if len(present) and present.min() < present.max():
                found.append(name)
    return found


def mixed_columns(frame: pl.DataFrame) -> list[str]:
    """Return the columns that may be coordinates of mixed numbers.

    Those that aren't whole numbers; where there are none, numbers of many different values.
    """
    ordered = number_columns(frame)
    broken = [name for name in ordered if not _whole(numbers(frame[name]))]
    return broken or [name for name in ordered if frame[name].n_unique() >= _FEWEST_VALUES]


def _whole(values: Floats) -> bool:
    present = values[np.isfinite(values)]
    return bool((present == np.rint(present)).all())


def fill_numbers(frame: pl.DataFrame, names: list[str]) -> Floats:
    """Return ordered columns as a matrix, the mean in place of what is missing; 0 without any."""
    matrix = np.column_stack([numbers(frame[name]) for name in names])
    present = np.isfinite(matrix)
    means = np.where(present, matrix, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
    return np.where(present, matrix, means)


def codes(column: pl.Series) -> tuple[Ints, int]:
    """Return a number for each different cell, missing ones alike, and how many there are."""
    plain = column.cast(pl.String) if isinstance(column.dtype, _WORDS) else column
    ranked = plain.rank("dense").fill_null(0).cast(pl.Int64).to_numpy()
    _, dense = np.unique(ranked, return_inverse=True)
    dense = dense.ravel().astype(np.int64)
    return dense, int(dense.max()) + 1 if len(dense) else 0


def table_codes(first: pl.Series, second: pl.Series) -> tuple[Ints, ...]:
    """Return numbers of the cells of two columns, equal where the cells are equal."""
    if first.dtype != second.dtype:
        first, second = first.cast(pl.String), second.cast(pl.String)
    both, _ = codes(pl.concat([first, second.alias(first.name)]))
    return both[: len(first)], both[len(first) :]


# A column of more codes than rows by so much isn't one of categories.
_ROWS_A_CODE = 10


def number_holders(target: EncodingTarget) -> dict[str, str]:
    """Return for each ordered original column the encoded column of the most similar order.

    Judged by the rank correlation with the truth, so that it is better than what an attacker can
    do: which column is which costs them nothing.
    """
    ordered = number_columns(target.encoded)
    ranked = {name: _ranks(numbers(target.encoded[name])) for name in ordered}
    found = {}
    for name in number_columns(target.original):
        named = target.holders.get(name)
        if named in ranked:
            found[name] = named
        elif ranked:
            truth = _ranks(numbers(target.original[name]))
            scores = {each: abs(float(truth @ ranks)) for each, ranks in ranked.items()}
            found[name] = max(scores, key=lambda each: scores[each])
    return found


def category_holders(target: EncodingTarget) -> dict[str, str]:
    """Return for each categorical original column the encoded column that predicts it best.

    Measured by the share of odd rows whose category is that of the code in the even rows.
    """
    few = {}
    for name in target.encoded.columns:
        of_row, n = codes(target.encoded[name])
        if 1 < n <= max(2, target.encoded.height // _ROWS_A_CODE):
            few[name] = (of_row, n)
    found = {}
    for name, dtype in target.original.schema.items():
        if is_number(dtype):
            continue
        truth, n_values = codes(target.original[name])
        if n_values < 2:
            continue
        named = target.holders.get(name)
        if named in few:
            found[name] = named
        elif few and named is None:
            scores = {
                each: (_accuracy_of_codes(truth, n_values, *of), -of[1]) for each, of in few.items()
            }
            found[name] = max(scores, key=lambda each: scores[each])
    return found


def _accuracy_of_codes(truth: Ints, n_values: int, of_row: Ints, n: int) -> float:
    counts = np.zeros((n, n_values))
    np.add.at(counts, (of_row[::2], truth[::2]), 1)
    odd = counts.argmax(axis=1)[of_row[1::2]] == truth[1::2]
    return float(odd.mean()) if len(odd) else 0.0


def _ranks(values: Floats) -> Floats:
    """Return centred ranks of length 1, zero where a cell is missing."""
    from scipy.stats import rankdata  # noqa: PLC0415 # scipy loads late

    present = np.isfinite(values)
    ranks = np.zeros(len(values))
    if present.any():
        raw = rankdata(values[present])
        ranks[present] = raw - raw.mean()
    length = float(np.linalg.norm(ranks))
    return ranks / length if length else ranks


_REPLICATES = 200


def variance_recovered(truth: Floats, guess: Floats) -> float:
    """Return the mean over columns of the variance that a guess explains, none below 0.

    A guess of the mean explains 0, the truth 1. What is missing at home isn't judged.
    """
    return float(_shares(np.ones((1, len(truth))), truth, guess)[0])


def recovered(truth: Floats, guess: Floats, rng: np.random.Generator) -> Resampled:
    """Return the same as an arm, its rows resampled."""
    n = len(truth)
    weights = rng.multinomial(n, np.full(n, 1 / n), _REPLICATES).astype(np.float64)
    return Resampled.of(variance_recovered(truth, guess), _shares(weights, truth, guess), n)


def _shares(weights: Floats, truth: Floats, guess: Floats) -> Floats:
    present = np.isfinite(truth)
    cells = np.where(present, truth, 0.0)
    wrong = np.where(present, (cells - guess) ** 2, 0.0)
    total = np.maximum(weights @ present, 1e-300)
    means = weights @ cells / total
    spread = weights @ cells**2 / total - means**2
    # Of a column that doesn't vary nothing can come back, and nothing is counted.
    varies = spread > 1e-12 * (1 + means**2)
    left = weights @ wrong / total / np.where(varies, spread, 1.0)
    share = np.where(varies, np.clip(1 - left, 0.0, 1.0), 0.0)
    return np.asarray(share.sum(axis=1) / np.maximum(varies.sum(axis=1), 1))
