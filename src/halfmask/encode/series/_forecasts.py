"""Forecasts of what is sent, as numbers of the series at home."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError, SchemaError

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from halfmask.encode.series._plan import SeriesPlan
    from halfmask.encode.series._settings import SeriesState


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastQuery:
    """Forecasts of one series, and which one."""

    numbers: NDArray[np.float64]
    plan: SeriesPlan
    entity: int
    column: int

    @classmethod
    def of(cls, forecasts: object, plan: SeriesPlan, *, column: str | None, entity: object) -> Self:
        """Check what was given."""
        try:
            numbers = np.array(forecasts, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError("Forecasts must be an array of numbers.") from None
        if numbers.ndim not in {1, 2}:
            raise DataError(f"Forecasts must have one or two axes. Got {numbers.ndim}.")
        if column is None and len(plan.columns) > 1:
            raise ParameterError(
                f"The series has {len(plan.columns)} columns; of which are the forecasts?",
                hint="Name it: column=...",
            )
        if column is not None and column not in plan.columns:
            raise ColumnNotFoundError.of([column], plan.columns, where="the series")
        place = plan.columns.index(column) if column is not None else 0
        return cls(numbers=numbers, plan=plan, entity=entity_number(plan, entity), column=place)

    def ahead(self, state: SeriesState) -> NDArray[np.float64]:
        """Return the steps behind a state, each given the forecasts before it."""
        pipeline = self.plan.pipeline(self.entity, self.column)
        history = self.plan.history(state, self.entity, self.column)
        first = state.next[self.entity]
        positions = np.arange(first, first + len(self.numbers), dtype=np.int64)
        if self.numbers.ndim == 1:
            return pipeline.expect(self.numbers, positions, history)
        self._refuse_blinding("paths")
        found = np.empty(self.numbers.shape)
        for place, path in enumerate(self.numbers.T):
            found[:, place] = pipeline.expect(path, positions, history)
        return found

    def one_step(
        self, table: pl.DataFrame, state: SeriesState, *, levels: Sequence[float] | None
    ) -> NDArray[np.float64]:
        """Return each row's forecast, given the true rows before it."""
        if (self.numbers.ndim == 2) != (levels is not None):
            raise ParameterError("Forecasts of several columns, and those alone, need 'levels'.")
        if levels is not None:
            self._refuse_blinding("quantiles")
            _check_levels(levels, self.numbers.shape[1])
        pipeline = self.plan.pipeline(self.entity, self.column)
        rows = dict(self.plan.by_entity(table)).get(self.entity)
        if rows is None:
            raise DataError("The table has no row of the series.")
        grid = self.plan.grid(rows, state.next[self.entity])
        sent = grid.there if self.plan.settings.missing == "visible" else grid.rows > -2
        if len(self.numbers) != int(sent.sum()):
            raise DataError(
                f"There are {len(self.numbers)} forecasts for {int(sent.sum())} encoded rows.",
                hint="Forecast all encoded rows of the series; the first may be forecast by 0.",
            )
        history = self.plan.history(state, self.entity, self.column)
        cells = rows[self.plan.columns[self.column]]
        filtered = pipeline.send(cells, grid.rows, grid.positions, history).filtered
        asked = np.zeros((len(grid.rows), *self.numbers.shape[1:]))
        asked[sent] = self.numbers
        numbers = pipeline.judge(asked, grid.positions, filtered)[grid.there]
        # Where up was turned into down, the lowest quantile that is sent is the highest at home.
        return numbers[:, ::-1] if levels is not None and pipeline.channel.sign < 0 else numbers

    def _refuse_blinding(self, what: str) -> None:
        if self.plan.settings.blinding:
            raise ParameterError(
                f"Forecasts of {what} don't come home from blinded rows: part of their spread is "
                "keyed noise.",
                hint="Forecast points, or fit the codec with blinding=0.",
            )


def entity_number(plan: SeriesPlan, entity: object) -> int:
    """Return an entity's number; that of the only one where none is named."""
    entities = plan.entities.to_list()
    if entity is None and len(entities) == 1:
        return 0
    if entity is None or entity not in entities:
        raise SchemaError(
            f"There is no series of this entity among the {len(entities)} of the codec.",
            hint="Name one of the fit's: entity=...",
        )
    return entities.index(entity)


def _check_levels(levels: Sequence[float], n_columns: int) -> None:
    given = np.array(levels, dtype=np.float64)
    fits = len(given) == n_columns and (np.diff(given) > 0).all()
    if not fits or not np.allclose(given, 1 - given[::-1]) or not 0 < given[0] < 1:
        raise ParameterError(
            "The 'levels' parameter must name each column's quantile, ascending, and with each p "
            "also 1 - p.",
            hint="Such as levels=[0.1, 0.5, 0.9].",
        )
