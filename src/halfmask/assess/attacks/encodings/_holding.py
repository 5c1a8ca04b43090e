"""The encoded column that holds an original one; the attacker is granted the right guess."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks.encodings._cells import codes, is_number, number_columns, numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.attacks._encoding_target import EncodingTarget

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


def _accuracy_of_codes(
    truth: NDArray[np.int64], n_values: int, of_row: NDArray[np.int64], n: int
) -> float:
    counts = np.zeros((n, n_values))
    np.add.at(counts, (of_row[::2], truth[::2]), 1)
    odd = counts.argmax(axis=1)[of_row[1::2]] == truth[1::2]
    return float(odd.mean()) if len(odd) else 0.0


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return centred ranks of length 1, zero where a cell is missing."""
    from scipy.stats import rankdata  # noqa: PLC0415 # scipy loads late

    present = np.isfinite(values)
    ranks = np.zeros(len(values))
    if present.any():
        raw = rankdata(values[present])
        ranks[present] = raw - raw.mean()
    length = float(np.linalg.norm(ranks))
    return ranks / length if length else ranks
