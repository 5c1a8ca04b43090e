"""What the page Data shows of each column: its type, what doesn't fit it, and its distribution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

#: Texts that often stand for a missing cell; those of a table are offered to be read as missing.
MARKERS: Final = (
    *("?", "NA", "N/A", "n/a", "#N/A", "NULL", "null", "None", "NaN", "nan", "-", "--", "."),
)
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
_COMMA: Final = r"^[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?$"
#: What a column of text may nearly be: cells that fit aren't missing afterwards.
_CASTS: Final[dict[str, Callable[[pl.Series], pl.Series]]] = {
    "numbers": lambda cells: cells.cast(pl.Float64, strict=False),
    "dates": lambda cells: cells.str.to_date("%Y-%m-%d", strict=False),
    "numbers with a comma": lambda cells: cells.str.extract(_COMMA),
    "dates such as 31.12.1999": lambda cells: cells.str.to_date("%d.%m.%Y", strict=False),
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
    bars: tuple[float, ...]
    ends: tuple[str, str]
    top: tuple[tuple[str, float], ...]
    expected: str
    misfits: int
    shown_misfits: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableProfile:
    """All columns, and the texts that may stand for missing cells, with how often they occur."""

    columns: tuple[ColumnPanel, ...]
    markers: tuple[tuple[str, int], ...]


def profile(rows: pl.DataFrame) -> TableProfile:
    """Describe all columns of a table."""
    columns = tuple(_panel(number, column) for number, column in enumerate(rows.iter_columns()))
    counted = Counter[str]()
    for column in rows.select(pl.col(pl.String)).iter_columns():
        counted.update(column.filter(column.is_in(MARKERS)).to_list())
    markers = tuple((it, counted[it]) for it in MARKERS if it in counted)
    return TableProfile(columns=columns, markers=markers)


def _panel(number: int, column: pl.Series) -> ColumnPanel:
    cells, dtype = column.drop_nulls().alias("cell"), column.dtype
    if dtype.is_nested():
        cells = cells.list.join("|")
    elif dtype in {pl.Categorical, pl.Enum}:
        cells = cells.cast(pl.String)
    has_bars = dtype.is_numeric() or dtype.is_temporal()
    distinct = cells.n_unique()
    bars, ends = _bars(cells, distinct) if has_bars else ((), ("", ""))
    top = [] if has_bars else _most_common(cells, _TOP)
    expected = _nearly(cells) if dtype == pl.String else ""
    misfits = cells.filter(_CASTS[expected](cells).is_null()) if expected else cells.clear()
    return ColumnPanel(
        number=number,
        name=column.name,
        type=_type_of(dtype),
        distinct=distinct,
        missing=column.null_count(),
        share_missing=column.null_count() / max(1, column.len()),
        bars=bars,
        ends=ends,
        top=tuple((_short(cell), count / cells.len()) for cell, count in top),
        expected=expected,
        misfits=misfits.len(),
        shown_misfits=tuple(_short(cell) for cell, _ in _most_common(misfits, 3)),
    )


def _bars(cells: pl.Series, most: int) -> tuple[tuple[float, ...], tuple[str, str]]:
    """Return how many cells are in each of some bins of one width, and the ends of them all."""
    held = cells.filter(cells.is_finite()) if cells.dtype.is_float() else cells
    if held.is_empty():
        return (), ("", "")
    numbers = held if held.dtype.is_numeric() else held.to_physical()
    heights, _ = np.histogram(numbers.cast(pl.Float64).to_numpy(), min(_BARS, most))
    return tuple((heights / heights.max()).tolist()), (_short(held.min()), _short(held.max()))


def _most_common(cells: pl.Series, most: int) -> list[tuple[object, int]]:
    return cells.value_counts(sort=True, name="count").head(most).rows()


def _nearly(cells: pl.Series) -> str:
    """Return what most of the first cells of a column of text are, if not text."""
    first = cells.head(_FIRST)
    fitting = {kind: first.len() - read(first).null_count() for kind, read in _CASTS.items()}
    return next((kind for kind, fit in fitting.items() if fit > _NEARLY * first.len()), "")


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
