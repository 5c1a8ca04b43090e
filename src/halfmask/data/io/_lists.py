"""Columns of lists: read as texts, with the items of a list between separators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from halfmask._errors import DataError, ParameterError
from halfmask.data.io._reader import ReaderAround

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from halfmask.data.io._reader import Reader


def check_lists(lists: Mapping[str, str]) -> None:
    """Raise unless each column of lists has a separator."""
    for name, separator in lists.items():
        if not isinstance(separator, str) or not separator:  # type: ignore[redundant-expr] # any caller's
            raise ParameterError(
                f"The separator of the lists of column {name!r} must be a text that isn't empty.",
                hint='Write lists={"bought": "|"}.',
            )


def joined_lists(frame: pl.DataFrame, lists: Mapping[str, str]) -> pl.DataFrame:
    """Return the frame with columns of lists as texts.

    Examples
    --------
    >>> frame = pl.DataFrame({"bought": [["milk", "bread"], [], None]})
    >>> joined_lists(frame, {"bought": "|"})["bought"].to_list()
    ['bread|milk', '', None]
    """
    made = [
        (_as_set if frame.schema[name] == pl.String else _joined)(frame[name], separator)
        for name, separator in lists.items()
        if name in frame.columns
        and (frame.schema[name] == pl.String or _is_list(frame.schema[name]))
    ]
    return frame.with_columns(made) if made else frame


class SetReader(ReaderAround):
    """A table whose columns of lists are texts in which each item stands once, in order."""

    def __init__(self, reader: Reader, lists: Mapping[str, str]) -> None:
        self._reader, self._lists = reader, dict(lists)
        self.columns, self.dtypes = reader.columns, reader.dtypes
        self.n_rows, self.orders = reader.n_rows, reader.orders

    def frames(self, columns: Sequence[str], n_rows: int) -> Iterator[pl.DataFrame]:
        """Yield the rows in frames, as the table below does."""
        for frame in self._reader.frames(columns, n_rows):
            yield joined_lists(frame, self._lists)


def _as_set(texts: pl.Series, separator: str) -> pl.Series:
    return _written(texts.str.split(separator).list.set_difference([""]), separator)


def _written(sets: pl.Series, separator: str) -> pl.Series:
    return sets.list.unique().list.sort().list.join(separator)


def _is_list(dtype: pl.DataType) -> bool:
    if not isinstance(dtype, pl.List | pl.Array):
        return False
    inner = dtype.inner
    return not (inner() if isinstance(inner, type) else inner).is_nested()


def _joined(cells: pl.Series, separator: str) -> pl.Series:
    lists = cells.cast(pl.List(pl.String))
    items = lists.explode(empty_as_null=False).drop_nulls()
    broken = int((items.str.contains(separator, literal=True) | (items == "")).sum())
    if broken:
        raise DataError(
            f"Column {cells.name!r} has {broken} items of lists that are empty or hold the "
            "separator.",
            hint="Choose another separator under lists.",
        )
    return _written(lists.list.drop_nulls(), separator)
