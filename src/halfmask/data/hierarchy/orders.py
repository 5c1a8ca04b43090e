"""The order of a column's categories: what its type says, or what its labels say."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from halfmask._errors import SchemaError
from halfmask.data.frames import library_of

_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+|[km](?![^\W\d_]))?")
_TIMES = {"k": 1e3, "m": 1e6}
#: Separators of thousands. Between brackets, as in R's ``(100,200]``, a comma is none.
_THOUSANDS = re.compile(r"(?<=\d)[,'\u2019\u00a0\u202f](?=\d{3}(?!\d))")
_ORDINALS = re.compile(r"\d+(?:st|nd|rd|th|e[-+]?\d+)?\b")
_WORDS = r"under|below|less than|or less|up to|at most|over|above|more than|or more|at least"
#: Words of ranges, which stand before or behind a number.
_RANGE_WORDS = re.compile(rf"\b(?:{_WORDS}|older|younger|less|more|to|and|or|than)\b")
#: A label with one number that reaches below it: it comes before the range that starts there.
_BELOW = re.compile(
    r"\s*(?:<|\u2264|under|below|less|up to|at most)"
    r"|.*\b(?:or|and) (?:less|under|below|younger)\s*$"
)


def orders_of(table: object) -> dict[str, tuple[str, ...]]:
    """Return the categories, in order, of each column whose type has an order.

    Examples
    --------
    >>> orders_of(pl.DataFrame({"size": ["L", "S"]}, schema={"size": pl.Enum(["S", "M", "L"])}))
    {'size': ('S', 'M', 'L')}
    """
    if isinstance(table, pl.DataFrame | pl.LazyFrame):
        schema = table.collect_schema()
        return {
            name: tuple(dtype.categories.to_list())
            for name, dtype in schema.items()
            if isinstance(dtype, pl.Enum)
        }
    library = library_of(table)
    if library == "pandas" and hasattr(table, "dtypes"):
        found = {str(name): dtype for name, dtype in zip(table.columns, table.dtypes, strict=True)}  # type: ignore[attr-defined] # pandas isn't imported here
        orders = {
            name: _order_of(name, tuple(dtype.categories))
            for name, dtype in found.items()
            if getattr(dtype, "ordered", False)
        }
        return {name: order for name, order in orders.items() if order}
    return _orders_of_arrow(table) if library == "pyarrow" else {}


def with_orders(frame: pl.DataFrame, orders: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """Return a frame whose columns of ordered categories are of such a type again."""
    casts = []
    for name, order in orders.items():
        if name in frame.columns:
            there = set(frame[name].unique())
            casts.append(pl.col(name).cast(pl.Enum([each for each in order if each in there])))
    return frame.with_columns(casts)


def _orders_of_arrow(table: Any) -> dict[str, tuple[str, ...]]:  # noqa: ANN401 - no types
    import pyarrow as pa  # noqa: PLC0415 - heavy, and frames of polars don't need it

    orders = {}
    for field in table.schema:
        if not (pa.types.is_dictionary(field.type) and field.type.ordered):
            continue
        column = table.column(field.name)
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        written = {tuple(chunk.dictionary.to_pylist()) for chunk in chunks}
        # Parts that number their categories differently say nothing of a common order.
        if len(written) == 1 and (order := _order_of(field.name, next(iter(written)))):
            orders[field.name] = order
    return orders


def _order_of(name: str, categories: tuple[Any, ...]) -> tuple[str, ...]:
    """Return categories that are texts; others are read as numbers or dates, in their order."""
    if all(isinstance(it, str) for it in categories):
        return categories
    try:
        is_natural = list(categories) == sorted(categories)
    except TypeError:  # of several types, which no column has
        return ()
    if not is_natural:
        raise SchemaError(
            f"Column {name!r} has ordered categories that are no texts, in another order than "
            "their own.",
            hint="Make the categories texts: column.cat.rename_categories(str) in pandas.",
        )
    return ()


def has_order(values: pl.Series) -> bool:
    """Return whether most texts are labels of ranges: ``5-9``, ``100+``.

    Four fifths of them must hold a number, and nothing else but signs, words such as ``under``,
    and a unit that is the same in all.
    """
    texts = values.drop_nulls().to_list()
    units = Counter(_unit(text.lower()) for text in texts if _NUMBER.search(text))
    return bool(units) and units.most_common(1)[0][1] >= 0.8 * len(texts)


def natural_order(values: pl.Series) -> pl.Series:
    """Return texts in order: ranges by their numbers, others alphabetically.

    Labels without a number come last.

    Examples
    --------
    >>> natural_order(pl.Series(["5-9", "1,000+", "10-999", "<5"])).to_list()
    ['<5', '5-9', '10-999', '1,000+']
    """
    if not has_order(values):
        return values.sort()
    return pl.Series(values.name, sorted(values.to_list(), key=_rank), dtype=values.dtype)


def _unit(text: str) -> frozenset[str]:
    """Return the letters of a label that are no part of its numbers, signs and words of ranges."""
    rest = _RANGE_WORDS.sub(" ", _ORDINALS.sub(" ", text))
    return frozenset(character for character in rest if character.isalpha())


def _rank(text: str) -> tuple[bool, list[float], str]:
    numbers = _numbers(text.lower())
    if not numbers:
        return True, [], text
    if re.match(r"\s*[\[(]?\s*-\s*\d", text):
        numbers[0] = -numbers[0]
    if len(numbers) == 1 and _BELOW.match(text.lower()):
        numbers = [-math.inf, *numbers]
    return False, numbers, text


def _numbers(text: str) -> list[float]:
    """Return a label's numbers: ``1,000`` is one, and so is ``10k``."""
    whole = text if text.lstrip().startswith(("[", "(")) else _THOUSANDS.sub("", text)
    return [
        float(found.rstrip("km")) * _TIMES.get(found[-1], 1.0) for found in _NUMBER.findall(whole)
    ]
