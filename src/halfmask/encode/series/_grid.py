"""The rows of one entity on consecutive steps of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import SchemaError

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from halfmask.encode.series._clock import SeriesClock
    from halfmask.encode.series._settings import SeriesSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class StepGrid:
    """Steps, and which of them have a row."""

    positions: NDArray[np.int64]
    rows: NDArray[np.int64]

    @classmethod
    def of(
        cls, times: pl.Series, clock: SeriesClock, *, settings: SeriesSettings, start: int | None
    ) -> StepGrid:
        """Lay the rows of one entity on steps from ``start``, or the first row, to the last."""
        at = clock.positions(times)
        order = np.arange(len(at))
        if settings.order == "sort":
            order = np.argsort(at, kind="stable")
        ahead = np.diff(at[order])
        if (ahead == 0).any():
            raise SchemaError(
                f"Time column {clock.name!r} has {int((ahead == 0).sum())} times twice for the "
                "same series.",
                hint="Name the entity column, or give the time its zone where clocks are set back.",
            )
        if (ahead < 0).any():
            raise SchemaError(
                f"Time column {clock.name!r} goes back {int((ahead < 0).sum())} times.",
                hint='Sort the rows, or make the codec with order="sort".',
            )
        first = int(at[order[0]])
        begin = first if start is None else start
        if first < begin:
            raise SchemaError(
                f"The rows begin {begin - first} steps before their state.",
                hint="Pass the state that stands behind the rows before these.",
            )
        gap = max(int(ahead.max(initial=1)) - 1, first - begin)
        if gap > settings.longest_gap:
            raise SchemaError(
                f"Time column {clock.name!r} has a gap of {gap} steps.",
                hint="Pass the state behind the rows before these, a coarser 'every', or a larger "
                "'longest_gap'.",
            )
        positions = np.arange(begin, int(at[order[-1]]) + 1, dtype=np.int64)
        rows = np.full(len(positions), -1, dtype=np.int64)
        rows[at[order] - begin] = order
        return cls(positions=positions, rows=rows)

    @property
    def there(self) -> NDArray[np.bool_]:
        """Which steps have a row."""
        return self.rows >= 0
