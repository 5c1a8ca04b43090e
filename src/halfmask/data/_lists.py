"""Columns of lists: read as texts, with the items of a list between separators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from halfmask._errors import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["check_lists", "joined_lists"]


def check_lists(lists: Mapping[str, str]) -> None:
    """Raise unless each column of lists has a separator.

    Raises
    ------
    ParameterError
        If a separator isn't a text, or is empty.
    """
    for name, separator in lists.items():
        if not isinstance(separator, str) or not separator:  # type: ignore[redundant-expr] # any caller's
            raise ParameterError(
                f"The separator of the lists of column {name!r} must be a text that isn't empty.",
                hint='Write lists={"bought": "|"}.',
            )


def joined_lists(frame: pl.DataFrame, lists: Mapping[str, str]) -> pl.DataFrame:
    """Return the frame with columns of lists as texts.

    Parameters
    ----------
    frame
        A table. A column that has no lists stays.
    lists
        For columns of lists, what is written between two items. Lists are sets: each item is
        written once, in order, and a missing one left out. An empty list is an empty text.

    Raises
    ------
    DataError
        If an item is empty or holds the separator: it would be read as another set.

    Examples
    --------
    >>> frame = pl.DataFrame({"bought": [["milk", "bread"], [], None]})
    >>> joined_lists(frame, {"bought": "|"})["bought"].to_list()
    ['bread|milk', '', None]
    """
    made = [
        _joined(frame[name], separator)
        for name, separator in lists.items()
        if name in frame.columns and _is_list(frame.schema[name])
    ]
    return frame.with_columns(made) if made else frame


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
    return lists.list.drop_nulls().list.unique().list.sort().list.join(separator)
