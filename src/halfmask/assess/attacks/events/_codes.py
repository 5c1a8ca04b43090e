"""Codes: numbers that are alike where cells are."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask.data import leaf_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def merged_codes(
    frames: Sequence[tuple[pl.DataFrame, Sequence[str]]],
) -> list[NDArray[np.int64]]:
    """Return a code for each row of some frames: alike where all of the named cells are, as text.

    Texts are those of leaves of hierarchies: 7 and 7.0 are the same number.

    Examples
    --------
    >>> rows = pl.DataFrame({"a": ["x", "y", "x"], "b": [1, 1, 1]})
    >>> merged_codes([(rows, ["a", "b"]), (rows[:1], ["a", "b"])])
    [array([0, 1, 0]), array([0])]
    """
    ends = np.cumsum([0] + [frame.height for frame, _ in frames])
    merged = np.zeros(ends[-1], dtype=np.int64)
    for columns in zip(*(names for _, names in frames), strict=True):
        cells = [frame[name] for (frame, _), name in zip(frames, columns, strict=True)]
        text = pl.concat([leaf_text(column).alias("") for column in cells])
        ranks = text.fill_null("").rank("dense").to_numpy().astype(np.int64)
        merged = merged * (int(ranks.max(initial=0)) + 1) + ranks
        merged = np.unique(merged, return_inverse=True)[1].ravel()
    return [merged[start:stop] for start, stop in itertools.pairwise(ends)]
