"""``halfmask decode`` by a codec of series: forecasts of the steps after the fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask._errors import ColumnNotFoundError, DataError

if TYPE_CHECKING:
    import polars as pl

    from halfmask.encode import SeriesCodec


def decoded_forecasts(codec: SeriesCodec, forecasts: pl.DataFrame) -> pl.DataFrame:
    """Return forecasts of the steps after the fit, with times, in the units at home."""
    import polars as pl  # noqa: PLC0415 # half a second

    plan, names = codec.plan_, codec.column_names_
    wanted = [*names.values(), *([codec.entity_name_] if codec.entity_name_ else [])]
    absent = [name for name in wanted if name not in forecasts.columns]
    if absent:
        raise ColumnNotFoundError.of(absent, forecasts.columns, where="the forecasts")
    if codec.entity_name_ and not forecasts[codec.entity_name_].is_in(plan.codes).all():
        raise DataError("There are forecasts of a series that this codec doesn't have.")
    if not forecasts.height:
        raise DataError("There are no forecasts.")
    parts = []
    for at, (code, entity) in enumerate(zip(plan.codes, plan.entities, strict=True)):
        mine = forecasts
        if codec.entity_name_:
            mine = forecasts.filter(forecasts[codec.entity_name_] == code)
        if not mine.height:
            continue
        mine = _by_step(codec, mine, first=codec.state_.next[at] - plan.starts[at])
        parts.append(_part(codec, mine, entity))
    return pl.concat(parts)


def _by_step(codec: SeriesCodec, mine: pl.DataFrame, *, first: int) -> pl.DataFrame:
    """Return forecasts of one series by step, which have to be the next ones."""
    if codec.time_name_ not in mine.columns:
        return mine
    mine = mine.sort(codec.time_name_)
    if mine[codec.time_name_].to_list() != list(range(first, first + mine.height)):
        raise DataError(
            "The forecasts aren't of the steps that follow the fit.",
            hint=f"The first step of this series is {first}; leave none out.",
        )
    return mine


def _part(codec: SeriesCodec, mine: pl.DataFrame, entity: object) -> pl.DataFrame:
    """Return the decoded forecasts of one series, with its name and times."""
    import polars as pl  # noqa: PLC0415 # half a second

    settings = codec.plan_.settings
    columns: list[pl.Series] = []
    if settings.entity:
        dtype = codec.plan_.entities.dtype
        columns.append(pl.Series(settings.entity, [entity] * mine.height, dtype=dtype))
    columns.append(codec.horizon(mine.height, entity=entity).alias(settings.time))
    for name, token in codec.column_names_.items():
        numbers = codec.decode_forecasts(mine[token].to_numpy(), column=name, entity=entity)
        columns.append(pl.Series(name, numbers))
    return pl.DataFrame(columns)
