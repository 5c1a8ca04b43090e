"""What the page Data shows of each column: its type, what doesn't fit it, and its distribution."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

#: Texts that often stand for a missing cell; those of a table are offered to be read as missing.
MARKERS: Final = (
    *("?", "NA", "N/A", "n/a", "#N/A", "NULL", "null", "None", "NaN", "nan", "-", "--", "."),
)
#: What counted cells are called, whatever their column is: one may be called "count".
_CELL: Final = "cell"
_TOP: Final = 4
_BARS: Final = 24
_LETTERS: Final = 60
#: Whole numbers of more digits than a year get separators.
_LONG: Final = 10_000
#: Rows that say whether a column of text is nearly one of numbers or dates, and the share of them.
_FIRST: Final = 2_000
_NEARLY: Final = 0.7
_TYPES: Final[dict[type[pl.DataType], str]] = {
    pl.String: "Text",
    pl.Boolean: "True or false",
    pl.Date: "Date",
    pl.Datetime: "Date and time",
    pl.Time: "Time of day",
    pl.List: "Set",
    pl.Categorical: "Category",
    pl.Enum: "Ordered category",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPanel:
    """One column in words and bars; the bars are heights from 0 to 1."""

    number: int
    name: str
    type: str
    distinct: int
    missing: int
    share_missing: float
    bars: tuple[float, ...] = ()
    ends: tuple[str, str] = ("", "")
    top: tuple[tuple[str, float], ...] = ()
    misfits: int = 0
    expected: str = ""
    shown_misfits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableProfile:
    """All columns, and the texts that may stand for missing cells, with how often they occur."""

    columns: tuple[ColumnPanel, ...]
    markers: tuple[tuple[str, int], ...]


def profile(rows: pl.DataFrame) -> TableProfile:
    """Describe all columns of a table: two passes of counting."""
    plain = _plain(rows)
    asked: dict[str, pl.Expr] = {}
    for at, (name, dtype) in enumerate(plain.schema.items()):
        asked |= {f"{kind} {at}": it for kind, it in _counts(pl.col(name), dtype)}
    found = plain.select(it.alias(name) for name, it in asked.items()).row(0, named=True)
    bars = _bars(plain, found)
    columns = tuple(
        _column(at, name, rows[name].dtype, rows.height, found, bars)
        for at, name in enumerate(rows.columns)
    )
    return TableProfile(columns=columns, markers=_markers(plain))


def _plain(rows: pl.DataFrame) -> pl.DataFrame:
    """Return a table whose columns can be counted alike: sets and categories as texts."""
    sets = [name for name, dtype in rows.schema.items() if dtype.is_nested()]
    classes = [name for name, dtype in rows.schema.items() if dtype in {pl.Categorical, pl.Enum}]
    return rows.with_columns(
        *(pl.col(name).list.join("|") for name in sets),
        *(pl.col(name).cast(pl.String) for name in classes),
    )


def _counts(column: pl.Expr, dtype: pl.DataType) -> Iterator[tuple[str, pl.Expr]]:
    """Yield what is counted of a column in the first pass."""
    cells = column.drop_nulls().alias(_CELL)
    yield "missing", column.null_count()
    yield "distinct", cells.n_unique()
    if _has_bars(dtype):
        held = cells.filter(cells.is_finite()) if dtype.is_float() else cells
        yield "low", held.min()
        yield "high", held.max()
        return
    yield "top", cells.value_counts(sort=True).head(_TOP).implode()
    if dtype == pl.String:
        first = cells.head(_FIRST)
        for kind, cast in _CASTS.items():
            yield kind, cast(first).is_not_null().mean()


def _has_bars(dtype: pl.DataType) -> bool:
    return dtype.is_numeric() or dtype.is_temporal()


_COMMA: Final = r"^[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?$"
#: What a column of text may nearly be.
_CASTS: Final[dict[str, Callable[[pl.Expr], pl.Expr]]] = {
    "numbers": lambda cells: cells.cast(pl.Float64, strict=False),
    "dates": lambda cells: cells.str.to_date("%Y-%m-%d", strict=False),
    "numbers with a comma": lambda cells: pl.when(cells.str.contains(_COMMA)).then(0.0),
    "dates such as 31.12.1999": lambda cells: cells.str.to_date("%d.%m.%Y", strict=False),
}


def _bars(plain: pl.DataFrame, found: dict[str, Any]) -> dict[str, Any]:
    """Return the second pass: counts of bins, and the texts that don't fit."""
    asked: dict[str, pl.Expr] = {}
    for at, (name, dtype) in enumerate(plain.schema.items()):
        cells = pl.col(name).drop_nulls().alias(_CELL)
        if _has_bars(dtype) and found[f"low {at}"] is not None:
            asked[f"bars {at}"] = _binned(cells, dtype, _bins(found, at), found, at)
        kind = nearly(found, at)
        if dtype == pl.String and kind:
            misfits = cells.filter(_CASTS[kind](cells).is_null())
            asked[f"misfits {at}"] = misfits.len()
            asked[f"shown {at}"] = misfits.value_counts(sort=True).head(3).implode()
    if not asked:
        return {}
    return plain.select(it.alias(name) for name, it in asked.items()).row(0, named=True)


def nearly(found: dict[str, Any], at: int) -> str:
    """Return what most of the first cells of a column of text are, if not text."""
    return next((kind for kind in _CASTS if (found.get(f"{kind} {at}") or 0) > _NEARLY), "")


def _bins(found: dict[str, Any], at: int) -> int:
    return max(1, min(_BARS, int(found[f"distinct {at}"])))


def _binned(
    cells: pl.Expr, dtype: pl.DataType, bins: int, found: dict[str, Any], at: int
) -> pl.Expr:
    """Return how many cells are in each of some bins of the same width."""
    ends = pl.Series([found[f"low {at}"], found[f"high {at}"]], dtype=dtype)
    numbers = cells if dtype.is_numeric() else cells.to_physical()
    low, high = (float(it) for it in (ends if dtype.is_numeric() else ends.to_physical()))
    width = (high - low) / bins or 1.0
    numbers = numbers.cast(pl.Float64)
    held = numbers.filter(numbers.is_finite())
    places = ((held - low) / width).floor().clip(0, bins - 1).cast(pl.Int32)
    return places.value_counts(name="count").implode()


def _column(
    at: int, name: str, dtype: pl.DataType, height: int, found: dict[str, Any], more: dict[str, Any]
) -> ColumnPanel:
    missing = found[f"missing {at}"]
    held = max(1, height - missing)
    top = tuple(
        (_short(each[_CELL]), each["count"] / held) for each in found.get(f"top {at}") or ()
    )
    low, high = found.get(f"low {at}"), found.get(f"high {at}")
    return ColumnPanel(
        number=at,
        name=name,
        type=_type_of(dtype),
        distinct=found[f"distinct {at}"],
        missing=missing,
        share_missing=missing / max(1, height),
        bars=_heights(more.get(f"bars {at}"), _bins(found, at)),
        ends=("", "") if low is None else (_short(low), _short(high)),
        top=top,
        misfits=more.get(f"misfits {at}") or 0,
        expected=nearly(found, at),
        shown_misfits=tuple(_short(each[_CELL]) for each in more.get(f"shown {at}") or ()),
    )


def _heights(counted: Sequence[dict[str, int]] | None, bins: int) -> tuple[float, ...]:
    if not counted:
        return ()
    heights = [0] * bins
    for each in counted:
        heights[each[_CELL]] += each["count"]
    return tuple(it / max(heights) for it in heights)


def _type_of(dtype: pl.DataType) -> str:
    if dtype.is_integer():
        return "Whole number"
    return "Number" if dtype.is_numeric() else _TYPES.get(dtype.base_type(), "Other")


def _short(value: object) -> str:
    """Return a cell as a text that isn't too long to be shown."""
    text = f"{value:,.10g}" if isinstance(value, float) else str(value)
    if isinstance(value, int) and abs(value) >= _LONG:
        text = f"{value:,}"
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}\N{HORIZONTAL ELLIPSIS}"


def _markers(plain: pl.DataFrame) -> tuple[tuple[str, int], ...]:
    """Return the texts of the table that often stand for missing cells, and how often they do."""
    texts = [name for name, dtype in plain.schema.items() if dtype == pl.String]
    if not texts:
        return ()
    held = pl.concat(
        [plain.lazy().select(pl.col(name).alias("text")) for name in texts], how="vertical"
    )
    found = held.filter(pl.col("text").is_in(MARKERS)).group_by("text").len().collect()
    counted = dict(found.iter_rows())
    return tuple((it, counted[it]) for it in MARKERS if it in counted)
