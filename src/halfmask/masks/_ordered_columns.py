"""Columns of ordered categories as masks see them: with their order, whatever a table says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask._validation import mapping_of
from halfmask.data import ReaderAround
from halfmask.masks._mask import traits_of

if TYPE_CHECKING:
    from collections.abc import Container

    from halfmask.data import Reader, Source
    from halfmask.masks._table_mask import TableMask

#: Formats whose categories are labels of codes.
_LABELLED: Final = frozenset({"spss", "stata", "sas"})


def in_order(cells: pl.Series, order: Sequence[str] | None) -> pl.Series:
    """Return a column of texts as ordered categories; without an order, the column itself.

    Examples
    --------
    >>> in_order(pl.Series(["low", "high"]), ["low", "high"]).max()
    'high'
    """
    if order is None or cells.dtype not in (pl.String, pl.Categorical):
        return cells
    found = cells.cast(pl.String).cast(pl.Enum(order), strict=False)
    unknown = found.null_count() - cells.null_count()
    if unknown:
        raise DataError(
            f"Column {cells.name!r} has {unknown} cells that its order doesn't list.",
            hint="List all values of the column in the 'orders' of its mask.",
        )
    return found


def check_orders(orders: Mapping[str, Sequence[str]], columns: Sequence[str], *, mask: str) -> None:
    """Raise unless stated orders are of columns of a mask and list each value once."""
    mapping_of(
        "lists of values",
        lambda it: isinstance(it, Sequence) and not isinstance(it, str),
        owner=f"the mask {mask!r}",
        hint='Write {"size": ("small", "large")}.',
        orders=orders,
    )
    for name, order in orders.items():
        if name not in columns:
            raise ParameterError(f"The 'orders' of the mask {mask!r} must name its columns.")
        if not order or len(set(order)) < len(order):
            raise ParameterError(f"The order of column {name!r} must list each value once.")


def known_orders(source: Source, ordinal: Container[str] | None) -> dict[str, tuple[str, ...]]:
    """Return the orders of a table's columns that masks may use."""
    if ordinal is None:
        return {} if source.format in _LABELLED else source.orders
    return {name: order for name, order in source.orders.items() if name in ordinal}


def orders_for(
    masks: Mapping[str, object], orders: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Return the orders of columns whose masks take ordered categories and state no order."""
    return {
        name: orders[name]
        for name, mask in masks.items()
        if name in orders
        and traits_of(mask).takes_order
        and name not in (*getattr(mask, "orders", ()), *getattr(mask, "categories", ()))
        and getattr(mask, "order", None) is None
    }


def check_ordinal(
    mask: TableMask, dtypes: Mapping[str, pl.DataType], ordinal: Container[str] | None
) -> None:
    """Raise if a mask that takes orders finds none in a column of the kind 'ordinal'."""
    stated = (*getattr(mask, "orders", ()), *getattr(mask, "categories", ()))
    for name in mask.columns if ordinal is not None and traits_of(mask).takes_order else ():
        if name in ordinal and name not in stated and dtypes[name] == pl.String:  # type: ignore[operator]
            raise SchemaError(
                f"Column {name!r} has kind ordinal, but its texts have no order.",
                hint=f"List its values under 'orders' of the mask {mask.name!r}, the lowest first, "
                "or make it categorical.",
            )


def with_types(source: Source, orders: Mapping[str, tuple[str, ...]]) -> Source:
    """Return a table whose columns of ordered categories have a type that says their order."""
    texts = {name: it for name, it in orders.items() if source.dtypes[name] == pl.String}
    return source.through(lambda reader: _TypedReader(reader, texts)) if texts else source


def with_texts(source: Source) -> Source:
    """Return a table whose ordered categories are texts again; their orders stay."""
    if not any(isinstance(dtype, pl.Enum) for dtype in source.dtypes.values()):
        return source
    return source.through(_TextReader)


class _TypedReader(ReaderAround):
    def __init__(self, reader: Reader, orders: Mapping[str, tuple[str, ...]]) -> None:
        self._reader, self._ordered = reader, dict(orders)
        self.columns, self.n_rows, self.orders = reader.columns, reader.n_rows, reader.orders
        types = {name: pl.Enum(order) for name, order in orders.items()}
        self.dtypes = {**reader.dtypes, **types}

    def frames(self, columns: Sequence[str], n_rows: int) -> Iterator[pl.DataFrame]:
        for frame in self._reader.frames(columns, n_rows):
            yield frame.with_columns(
                in_order(frame[name], order)
                for name, order in self._ordered.items()
                if name in frame.columns
            )


class _TextReader(ReaderAround):
    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.columns, self.n_rows, self.orders = reader.columns, reader.n_rows, reader.orders
        self.dtypes = {
            name: pl.String() if isinstance(dtype, pl.Enum) else dtype
            for name, dtype in reader.dtypes.items()
        }

    def frames(self, columns: Sequence[str], n_rows: int) -> Iterator[pl.DataFrame]:
        for frame in self._reader.frames(columns, n_rows):
            yield frame.cast({pl.Enum: pl.String})
