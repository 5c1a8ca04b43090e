"""Columns of members' and of other people's rows: the same ones, in one order, of types that fit.

Rows of both are concatenated for shadow models, compared column by column, and predicted by the
model. Rows that don't fit are refused before anything is attacked.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from halfmask._errors import ColumnNotFoundError, ParameterError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterator

ARRAY = "an array"
#: The family of columns that fit any other: Python objects, and columns without values.
_ANY = ""
_KINDS = {
    **dict.fromkeys("biufc", "numbers"),
    **dict.fromkeys("UST", "texts"),
    "M": "dates or times",
    "m": "spans of time",
}


def kind_of(rows: object) -> str:
    """Return what rows are: a frame of polars, one of pandas, or an array."""
    if isinstance(rows, pl.DataFrame | pl.Series):
        return "a frame of polars"
    return "a frame of pandas" if hasattr(rows, "iloc") else ARRAY


def aligned(rows: Any, members: Any, *, parameter: str) -> Any:  # noqa: ANN401 # a frame or an array
    """Return rows that can be concatenated with the members': columns in the same order."""
    kinds = kind_of(members), kind_of(rows)
    if kinds[0] != kinds[1]:
        raise ParameterError(
            f"members and {parameter} must be of one kind. Got {kinds[0]} and {kinds[1]}.",
            hint="Turn one of them into the kind of the other.",
        )
    rows = ordered(rows, members, parameter=parameter)
    for name, first, second in _pairs(members, rows):
        families = _family(first), _family(second)
        if families[0] == families[1] or _ANY in families or _is_void(first) or _is_void(second):
            continue
        held = "The rows hold" if name is None else f"Column {name!r} holds"
        raise SchemaError(
            f"{held} {families[0]} in members and {families[1]} in {parameter}.",
            hint="Read both in the same way.",
        )
    return rows


def ordered(rows: Any, members: Any, *, parameter: str) -> Any:  # noqa: ANN401 # of one kind
    """Return rows with the members' columns in their order."""
    if not _is_frame(members) or not _is_frame(rows):
        _check_widths(rows, members, parameter)
        return rows
    wanted, there = list(members.columns), list(rows.columns)
    if there == wanted:
        return rows
    for names, others, where in ((wanted, there, parameter), (there, wanted, "members")):
        absent = [str(name) for name in names if name not in set(others)]
        if absent:
            raise ColumnNotFoundError.of(absent, map(str, others), where=where)
    twice = [name for name, times in Counter(there + wanted).items() if times != 2]
    if twice:
        raise SchemaError(
            f"Column {twice[0]!r} is several times in members or in {parameter}, and their "
            "columns are in another order.",
            hint="Give each column a name of its own.",
        )
    return rows.select(wanted) if isinstance(rows, pl.DataFrame) else rows[wanted]


def _is_frame(rows: object) -> bool:
    """Return whether rows have columns with names."""
    return kind_of(rows) != ARRAY and hasattr(rows, "columns")


def _check_widths(rows: Any, members: Any, parameter: str) -> None:  # noqa: ANN401 # the same
    widths = []
    for which, each in (("members", members), (parameter, rows)):
        try:
            widths.append(np.shape(each)[1:])
        except ValueError:
            raise ParameterError(f"All rows of {which} must be of the same length.") from None
    if widths[0] != widths[1]:
        shapes = [" x ".join(map(str, width)) or "one cell" for width in widths]
        raise SchemaError(
            f"The rows of members and {parameter} must be as wide. Got {shapes[0]} and {shapes[1]}."
        )


def _pairs(first: Any, second: Any) -> Iterator[tuple[Any, Any, Any]]:  # noqa: ANN401 # the same
    """Yield columns of both with their name; arrays, which are of one type, whole and without."""
    if not _is_frame(first):
        yield None, _with_type(first), _with_type(second)
        return
    for place, name in enumerate(first.columns):
        if isinstance(first, pl.DataFrame):
            yield name, first.to_series(place), second.to_series(place)
        else:
            yield name, first.iloc[:, place], second.iloc[:, place]


def _with_type(rows: Any) -> Any:  # noqa: ANN401 # the same
    return rows if hasattr(rows, "dtype") else np.asarray(rows)


def _family(values: Any) -> str:  # noqa: ANN401 # a column, or an array
    """Return what values are; never their type's own words, which may name categories."""
    dtype = values.dtype
    if not isinstance(values, pl.Series):
        if str(dtype).startswith("str"):  # pandas', which is of the kind of objects
            return "texts"
        return _KINDS.get(getattr(dtype, "kind", _ANY), _ANY)
    if dtype.is_numeric() or dtype == pl.Boolean:
        return "numbers"
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return "texts"
    if dtype in (pl.Date, pl.Datetime):
        return "dates or times"
    return _ANY if dtype == pl.Null else str(dtype.base_type().__name__)


def _is_void(values: Any) -> bool:  # noqa: ANN401 # the same
    """Return whether a column of a frame holds nothing at all."""
    if isinstance(values, pl.Series):
        return values.null_count() == len(values)
    return hasattr(values, "isna") and bool(values.isna().all())
