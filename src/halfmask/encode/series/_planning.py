"""From the rows of a fit and a secret to the plan of a codec of series."""

from __future__ import annotations

import hashlib
import io
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import ColumnNotFoundError, DataError, SchemaError
from halfmask.encode._mix import KeyedStream, token
from halfmask.encode.series._clock import SeriesClock
from halfmask.encode.series._column_pipeline import ColumnPipeline
from halfmask.encode.series._fitting import Fitting
from halfmask.encode.series._least_squares import autocorrelations
from halfmask.encode.series._noise import Keystream
from halfmask.encode.series._plan import SeriesPlan, StepGrid
from halfmask.encode.series._quantizer import Quantizer
from halfmask.encode.series._seasons import Seasons

if TYPE_CHECKING:
    from halfmask.encode.series._channel import Channel
    from halfmask.encode.series._seasons import Period
    from halfmask.encode.series._settings import SeriesSettings
    from halfmask.vault import Secret


# Halves of fewer values say nothing; longer series are judged by their last rows.
_FEWEST = 80
_MAX_ROWS = 20_000


def find_later_memory(
    fitting: Fitting, periods: tuple[Period, ...] | None
) -> tuple[tuple[int, float], ...]:
    """Return autocorrelations, by lag, of the second half's residuals under a fit to the first."""
    from halfmask.kernels.encoding.series import SEND  # noqa: PLC0415 # loads the compiler

    rows = slice(max(0, len(fitting.steps) - _MAX_ROWS), None)
    positions, steps = fitting.positions[rows], fitting.steps[rows]
    present = fitting.present[rows]
    n = len(steps) // 2
    if min(present[:n].sum(), present[n:].sum()) < _FEWEST:
        return ()
    clock, lengths = fitting.clock, fitting.seasons.lengths
    first, last = int(positions[0]), int(positions[n - 1])
    channel = replace(
        fitting,
        seasons=Seasons.of(clock, periods, first=first, last=last),
        positions=positions[:n],
        steps=steps[:n],
        present=present[:n],
        noise=fitting.noise[rows][:n],
    ).channel()
    filtered = channel.walk(
        SEND, values=steps, sent=np.zeros(len(steps)),
        lost=~present | np.isin(positions, channel.sealed),
        around=channel.around(clock, positions, np.zeros(len(steps))), history=channel.before,
    )  # fmt: skip
    left = np.where(present, filtered.sent, np.nan)[n:]
    lags = tuple(sorted({1, *(lag for lag in lengths if lag < len(left) // 2)}))
    found = autocorrelations(left, lags[-1])
    return tuple((lag, float(found[lag - 1])) for lag in lags) if len(found) else ()


def plan_of(table: pl.DataFrame, *, settings: SeriesSettings, secret: Secret) -> SeriesPlan:
    """Fit a model to each column of each entity, and give each a key."""
    columns = _columns(table, settings)
    if not table.height:
        raise DataError("There are no rows to fit a codec to.")
    clock = SeriesClock.of(_first_times(table, settings), every=settings.every)
    clock = _counted_from(clock, table[settings.time])
    entities = _entities(table, settings)
    fingerprint = _fingerprint(table, columns, settings)

    def key(what: str, column: str = "") -> bytes:
        return secret.key(f"{settings.purpose(what)}/{fingerprint}", column=column)

    names = key("names")
    channels, noises, starts = [], [], []
    for number, value in enumerate(entities):
        rows = table
        if settings.entity:
            rows = table.filter(pl.col(settings.entity) == pl.lit(value, dtype=entities.dtype))
        grid = StepGrid.of(rows[settings.time], clock, settings=settings, start=None)
        starts.append(int(grid.positions[0]))
        for column in columns:
            noise = Keystream(key=key("noise", f"{number}/{column}"))
            sign = 1.0 if key("sign", f"{number}/{column}")[0] % 2 else -1.0
            channels.append(_channel(rows[column], grid, clock, settings, noise, sign))
            noises.append(noise)
    codes = KeyedStream(key("entities")).order(len(entities))
    plan = SeriesPlan(
        settings=settings,
        id=fingerprint,
        clock=clock,
        entities=entities,
        codes=tuple(int(code) for code in codes),
        columns=columns,
        time_token=token(names, "time"),
        entity_token=token(names, "entity") if settings.entity else "",
        tokens=tuple(token(names, f"column:{column}") for column in columns),
        channels=tuple(channels),
        noises=tuple(noises),
        starts=tuple(starts),
        state=None,
    )
    wanted = [settings.time, *filter(None, [settings.entity]), *columns]
    return replace(plan, state=plan.after(table.select(wanted), plan.start))


def _columns(table: pl.DataFrame, settings: SeriesSettings) -> tuple[str, ...]:
    named = [settings.time, *filter(None, [settings.entity]), *settings.columns]
    missing = [name for name in named if name not in table.columns]
    if missing:
        raise ColumnNotFoundError.of(missing, table.columns, where="the table")
    keys = {settings.time, settings.entity}
    columns = settings.columns or tuple(name for name in table.columns if name not in keys)
    if not columns:
        raise SchemaError("The table has no column but its time.")
    more = [name for name in table.columns if name not in {*keys, *columns}]
    if more:
        raise SchemaError(
            f"These columns are no part of the series: {', '.join(map(repr, more))}.",
            hint="Leave them out of the table.",
        )
    return columns


def _entities(table: pl.DataFrame, settings: SeriesSettings) -> pl.Series:
    if not settings.entity:
        return pl.Series([None], dtype=pl.Int64)
    column = table[settings.entity]
    if column.null_count():
        raise SchemaError(
            f"Entity column {settings.entity!r} has {column.null_count()} missing cells.",
            hint="Leave their rows out, or give them a value.",
        )
    return column.unique(maintain_order=True)


def _first_times(table: pl.DataFrame, settings: SeriesSettings) -> pl.Series:
    """Return the times of the entity with most rows, which shows the step."""
    if not settings.entity:
        return table[settings.time]
    counts = table[settings.entity].value_counts(sort=True)
    largest = counts[settings.entity][0] if counts.height else None
    dtype = table.schema[settings.entity]
    return table.filter(pl.col(settings.entity) == pl.lit(largest, dtype=dtype))[settings.time]


def _counted_from(clock: SeriesClock, times: pl.Series) -> SeriesClock:
    """Return the clock with the earliest of all times as its origin."""
    if times.null_count():
        return clock
    first = pl.Series(clock.name, [times.min()], dtype=times.dtype)
    ahead = min(0, int(clock.positions(first)[0]))
    return replace(clock, origin=clock.origin + ahead * (clock.months or clock.step))


def _channel(
    column: pl.Series,
    grid: StepGrid,
    clock: SeriesClock,
    settings: SeriesSettings,
    noise: Keystream,
    sign: float,
) -> Channel:
    grain = Quantizer.of(column)
    steps, _, filled = grain.split(column)
    present = grid.there & filled[grid.rows]
    first, n = int(grid.positions[0]), len(grid.positions)
    dither = grain.spacing * (noise.uniform("dither", first, n) - 0.5)
    seasons = Seasons.of(clock, settings.periods, first=first, last=int(grid.positions[-1]))
    events = np.array([event.bounds() for event in settings.events], np.int64).reshape(-1, 2)
    fitting = Fitting(
        clock=clock,
        seasons=seasons,
        grain=grain,
        positions=grid.positions,
        steps=np.where(present, steps[grid.rows], grain.center) + dither,
        present=present & ~ColumnPipeline.events_at(clock, events, grid.positions),
        far=settings.seal_beyond or np.inf,
        noise=noise.normal("veil", first, n),
    )
    later = find_later_memory(fitting, settings.periods)
    return replace(fitting.channel(), sign=sign, later=later)


def _fingerprint(table: pl.DataFrame, columns: tuple[str, ...], settings: SeriesSettings) -> str:
    """Return the SHA-256 of what is fitted: other rows have other keys."""
    digest = hashlib.sha256(repr(settings).encode())
    for name in [settings.time, *filter(None, [settings.entity]), *columns]:
        buffer = io.BytesIO()
        pl.DataFrame([table[name].rechunk()]).write_ipc(buffer)
        for part in (name.encode(), buffer.getvalue()):
            digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()
