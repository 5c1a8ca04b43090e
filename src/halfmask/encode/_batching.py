"""Where a file is cut into batches, and by which number each batch is ordered."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halfmask.encode._plan import CodecPlan

# Both belong to the format of a plan: the same cuts encode and decode a file.
# A change of one raises PLAN_VERSION.
_CELLS = 1 << 24
_MAX_ROWS = 1 << 18
# Batches of one file, far more than any file has; the rest of 64 bits numbers the files.
_BATCHES = 1 << 32


def batch_rows(plan: CodecPlan) -> int:
    """Return how many rows a batch of a file has: 262,144, fewer beyond 64 encoded columns.

    It follows from the plan alone, so an encoded file needs no second file.
    """
    return fit_rows(len(plan.tokens))


def fit_rows(n_columns: int) -> int:
    """Return how many rows of a table are looked at together."""
    return max(1, min(_MAX_ROWS, _CELLS // n_columns))


def batch_number(file: int, place: int) -> int:
    """Return the number by which a batch of a file is ordered: no two files share any."""
    return file * _BATCHES + place
