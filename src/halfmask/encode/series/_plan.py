"""A fitted codec of series, a model for each column of each entity, with its keys and its bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import ColumnNotFoundError, KeyMismatchError, SchemaError
from halfmask.encode._codes import whole_codes
from halfmask.encode._mix import token
from halfmask.encode._plan_bytes import Archive
from halfmask.encode.series._channel import Channel, Filter, ScoreMap
from halfmask.encode.series._clock import SeriesClock
from halfmask.encode.series._column_pipeline import ColumnPipeline
from halfmask.encode.series._noise import Keystream, Veil
from halfmask.encode.series._quantizer import Quantizer
from halfmask.encode.series._seasons import Seasons, Term
from halfmask.encode.series._settings import Event, SeriesSettings, SeriesState

if TYPE_CHECKING:
    from numpy.typing import NDArray


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeriesPlan:
    """How series are encoded, and everything that decodes them.

    Guarantees
    ----------
    It holds values and keys: it belongs in a vault, never in a release, and its repr shows neither.
    """

    settings: SeriesSettings
    id: str
    clock: SeriesClock
    entities: pl.Series
    codes: tuple[int, ...]
    columns: tuple[str, ...]
    time_token: str
    entity_token: str
    tokens: tuple[str, ...]
    channels: tuple[Channel, ...]
    noises: tuple[Keystream, ...]
    starts: tuple[int, ...]
    state: SeriesState | None

    def __repr__(self) -> str:
        return f"SeriesPlan({len(self.entities)} entities, {len(self.columns)} columns)"

    @property
    def publishable(self) -> bool:
        """Whether the plan may be published: never, it is the key."""
        return False

    @property
    def start(self) -> SeriesState:
        """Where the first fitted row of each entity stands."""
        history = tuple(channel.before for channel in self.channels)
        return SeriesState(codec=self.id, next=self.starts, history=history)

    def pipeline(self, entity: int, column: int) -> ColumnPipeline:
        """Return how a column of an entity is sent and taken back."""
        place = entity * len(self.columns) + column
        bounds = [event.bounds() for event in self.settings.events]
        return ColumnPipeline(
            channel=self.channels[place],
            noise=self.noises[place],
            clock=self.clock,
            events=np.array(bounds, dtype=np.int64).reshape(-1, 2),
            hidden=self.settings.missing == "hidden",
            blinding=self.settings.blinding,
        )

    def rest_tokens(self, column: int) -> tuple[str, str]:
        """Return what the two columns are called that hold a column's rests."""
        key = self.noises[column].key
        return token(key, "rest/low"), token(key, "rest/high")

    def apply(self, batch: pl.DataFrame, state: SeriesState) -> pl.DataFrame:
        """Return the encoded rows of a batch that begins at a state."""
        parts, rested = [], self._carried()
        for entity, rows in self.by_entity(batch):
            grid = self.grid(rows, state.next[entity])
            first = int(grid.positions[0])
            part = {self.time_token: pl.Series(grid.positions - self.starts[entity])}
            for column, name in enumerate(self.columns):
                pipeline, history = (
                    self.pipeline(entity, column),
                    self.history(state, entity, column),
                )
                sent = pipeline.send(rows[name], grid.rows, grid.positions, history)
                part[self.tokens[column]] = pl.Series(sent.values, nan_to_null=True)
                halves = pipeline.noise.halves(sent.rest, first)
                part |= dict(zip(self.rest_tokens(column), map(pl.Series, halves), strict=True))
                rested |= {column} if sent.rest.any() else set()
            frame = pl.DataFrame(part)
            if self.entity_token:
                code = pl.lit(self.codes[entity], dtype=pl.Int64).alias(self.entity_token)
                frame = frame.with_columns(code)
            parts.append(frame if self.settings.missing == "hidden" else frame[_filled(grid)])
        # Tokens are keyed, and so is their order.
        schema = dict(sorted(self._schema(*rested).items()))
        encoded = pl.concat(parts) if parts else pl.DataFrame(schema=schema)
        keys = [self.entity_token, self.time_token] if self.entity_token else [self.time_token]
        return encoded.sort(keys).select(list(schema))

    def undo(self, encoded: pl.DataFrame, state: SeriesState) -> pl.DataFrame:
        """Return the rows that encoded rows stand for, by entity and time."""
        self._check_encoded(encoded)
        parts = []
        codes = encoded[self.entity_token] if self.entity_token else None
        if codes is not None and not codes.is_in(self.codes).all():
            raise SchemaError("There are encoded rows of an entity that this codec doesn't have.")
        for entity, value in enumerate(self.entities):
            mine = encoded if codes is None else encoded.filter(codes == self.codes[entity])
            if mine.height:
                part = self._undone(mine.sort(self.time_token), entity, state)
                if self.settings.entity:
                    known = pl.lit(value, dtype=self.entities.dtype)
                    part = part.with_columns(known.alias(self.settings.entity))
                parts.append(part)
        names = [name for name in (self.settings.entity, self.settings.time) if name]
        if not parts:
            return self._nothing().select([*names, *self.columns])
        return pl.concat(parts).select([*names, *self.columns])

    def after(self, batch: pl.DataFrame, state: SeriesState) -> SeriesState:
        """Return the state behind a batch that begins at a state."""
        ahead, history = list(state.next), list(state.history)
        for entity, rows in self.by_entity(batch):
            grid = self.grid(rows, state.next[entity])
            ahead[entity] = int(grid.positions[-1]) + 1
            for column, name in enumerate(self.columns):
                known = self.history(state, entity, column)
                sent = self.pipeline(entity, column).send(
                    rows[name], grid.rows, grid.positions, known
                )
                history[entity * len(self.columns) + column] = sent.filtered.history
        return SeriesState(codec=self.id, next=tuple(ahead), history=tuple(history))

    def by_entity(self, batch: pl.DataFrame) -> Iterator[tuple[int, pl.DataFrame]]:
        """Yield each entity that has rows, by its number, with them."""
        self._check(batch)
        if not batch.height:
            return
        name = self.settings.entity
        if not name:
            yield 0, batch
            return
        known = batch[name].is_in(self.entities.implode())
        if not known.fill_null(value=False).all():
            strange = batch.filter(~known.fill_null(value=False))[name].n_unique()
            raise SchemaError(
                f"Entity column {name!r} has {strange} entities that were not there at the fit.",
                hint="Fit a codec to their rows, too: a series is known by its own past alone.",
            )
        for number, value in enumerate(self.entities):
            rows = batch.filter(pl.col(name) == pl.lit(value, dtype=self.entities.dtype))
            if rows.height:
                yield number, rows

    def grid(self, rows: pl.DataFrame, start: int | None) -> StepGrid:
        """Lay the rows of one entity on steps."""
        times = rows[self.settings.time]
        return StepGrid.of(times, self.clock, settings=self.settings, start=start)

    def history(self, state: SeriesState, entity: int, column: int) -> NDArray[np.float64]:
        """Return what a column of an entity looks back at."""
        return state.history[entity * len(self.columns) + column]

    def _undone(self, encoded: pl.DataFrame, entity: int, state: SeriesState) -> pl.DataFrame:
        index, _ = whole_codes(encoded[self.time_token], name=self.settings.time, hidden=True)
        index = index + self.starts[entity]
        begin, end = state.next[entity], int(index[-1]) + 1
        hidden = self.settings.missing == "hidden"
        ahead = np.diff(index, prepend=begin - 1)
        longest = 1 if hidden else 1 + self.settings.longest_gap
        if (ahead < 1).any() or (ahead > longest).any():
            raise SchemaError(
                "The encoded rows of a series aren't whole from their state on.",
                hint="Decode all rows of a batch, from the state at which encode began.",
            )
        positions = np.arange(begin, end, dtype=np.int64)
        there = np.zeros(len(positions), dtype=np.bool_)
        found = {}
        for column, name in enumerate(self.columns):
            sent = np.full(len(positions), np.nan)
            cells = encoded[self.tokens[column]].cast(pl.Float64).to_numpy()
            self._check_cells(cells, hidden=hidden)
            sent[index - begin] = cells
            history = self.history(state, entity, column)
            pipeline = self.pipeline(entity, column)
            steps, present, rows, _ = pipeline.take(sent, positions, history)
            there |= rows
            rest = self._rest(encoded, column, index - begin, pipeline, positions)
            found[name] = pipeline.channel.grain.joined(steps, rest, present)
        if not hidden:
            there[:] = False
            there[index - begin] = True
        times = {self.settings.time: self.clock.times(positions)}
        return pl.DataFrame({**times, **found}).filter(pl.Series(there))

    def _rest(
        self,
        encoded: pl.DataFrame,
        column: int,
        places: NDArray[np.int64],
        pipeline: ColumnPipeline,
        positions: NDArray[np.int64],
    ) -> NDArray[np.int64] | None:
        """Return the rests of a column's cells, None where the rows came without them."""
        names = [name for name in self.rest_tokens(column) if name in encoded.columns]
        if not names:
            return None
        if len(names) == 1:
            raise self._lacking(1, 2)
        halves = np.zeros((2, len(positions)))
        for half, name in zip(halves, names, strict=True):
            cells = encoded[name].cast(pl.Float64).to_numpy()
            self._check_cells(cells, hidden=True)
            half[places] = cells
        return pipeline.noise.whole(halves[0], halves[1], int(positions[0]))

    def _check_cells(self, cells: NDArray[np.float64], *, hidden: bool) -> None:
        if np.isinf(cells).any() or (hidden and np.isnan(cells).any()):
            raise SchemaError(
                "There are encoded cells that are missing or infinite, which encode gave none of.",
                hint="Decode the encoded rows unchanged.",
            )

    def _check(self, batch: pl.DataFrame) -> None:
        wanted = [self.settings.time, *filter(None, [self.settings.entity]), *self.columns]
        missing = [name for name in wanted if name not in batch.columns]
        if missing:
            raise ColumnNotFoundError.of(missing, batch.columns, where="the table")
        more = [name for name in batch.columns if name not in wanted]
        if more:
            raise SchemaError(
                f"The codec was not fitted to these columns: {', '.join(map(repr, more))}.",
                hint="Leave them out, or fit a codec to them.",
            )
        dtypes = {it.grain.name: it.grain.dtype for it in self.channels}
        if self.settings.entity:
            dtypes[self.settings.entity] = self.entities.dtype
        for name, dtype in dtypes.items():
            if batch.schema[name] != dtype:
                raise SchemaError(
                    f"Column {name!r} held {dtype} at the fit and holds {batch.schema[name]} now.",
                    hint="Read it with the type that it had.",
                )

    def _check_encoded(self, encoded: pl.DataFrame) -> None:
        absent = [name for name in self._schema() if name not in encoded.columns]
        if len(absent) == len(self._schema()):
            raise KeyMismatchError(
                f"None of the {len(absent)} encoded columns of this codec is in the table.",
                hint="It was made by another codec, or by a fit with another secret or other rows.",
            )
        if absent:
            raise self._lacking(len(absent), len(self._schema()))

    def _lacking(self, absent: int, wanted: int) -> SchemaError:
        return SchemaError(
            f"{absent} of {wanted} encoded columns are not in the table.",
            hint="Decode all columns that encode gave.",
        )

    def _carried(self) -> set[int]:
        """Return the columns whose rests are sent with every batch."""
        width = len(self.columns)
        return {at % width for at, it in enumerate(self.channels) if it.grain.carries}

    def _schema(self, *rested: int) -> dict[str, pl.DataType]:
        names = [self.time_token, *filter(None, [self.entity_token])]
        schema: dict[str, pl.DataType] = dict.fromkeys(names, pl.Int64())
        floats = [*self.tokens, *(name for at in rested for name in self.rest_tokens(at))]
        return schema | dict.fromkeys(floats, pl.Float64())

    def _nothing(self) -> pl.DataFrame:
        dtypes = {self.settings.time: self.clock.dtype}
        if self.settings.entity:
            dtypes[self.settings.entity] = self.entities.dtype
        return pl.DataFrame(schema=dtypes | {it.grain.name: it.grain.dtype for it in self.channels})


def _filled(grid: StepGrid) -> pl.Series:
    return pl.Series(np.flatnonzero(grid.there))


PLAN_ARCHIVE = Archive(
    label="halfmask series plan",
    version=1,
    kinds={
        "Channel": Channel,
        "Clock": SeriesClock,
        "Event": Event,
        "Filter": Filter,
        "Grain": Quantizer,
        "Noise": Keystream,
        "Scores": ScoreMap,
        "Seasons": Seasons,
        "SeriesPlan": SeriesPlan,
        "SeriesSettings": SeriesSettings,
        "SeriesState": SeriesState,
        "Term": Term,
        "Veil": Veil,
    },
    what="plan of a codec of series",
)
