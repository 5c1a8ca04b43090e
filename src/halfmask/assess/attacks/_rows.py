"""Rows of any kind, frames of polars and pandas and arrays: laid beside each other, taken, changed.

Members' and other people's rows are joined for shadow models, compared column by column, and
predicted by the model. Rows that don't fit are refused before anything is attacked.
"""

from __future__ import annotations

import importlib
from collections import Counter
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl

from halfmask._errors import ColumnNotFoundError, ParameterError, SchemaError
from halfmask._foreign import foreign

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _typeshed import DataclassInstance

    from halfmask.assess._arrays import Bools, Ints, Rows, Value, Values


_Arrays = TypeVar("_Arrays", bound="DataclassInstance")
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


def align_rows(rows: Rows, members: Rows, *, parameter: str) -> Rows:
    """Return rows that can be concatenated with the members': columns in the same order."""
    kinds = kind_of(members), kind_of(rows)
    if kinds[0] != kinds[1]:
        raise ParameterError(
            f"members and {parameter} must be of one kind. Got {kinds[0]} and {kinds[1]}.",
            hint="Turn one of them into the kind of the other.",
        )
    rows = order_columns(rows, members, parameter=parameter)
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


def order_columns(rows: Rows, members: Rows, *, parameter: str) -> Rows:
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


def _check_widths(rows: Rows, members: Rows, parameter: str) -> None:
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


def _pairs(first: Rows, second: Rows) -> Iterator[tuple[Any, Any, Any]]:
    """Yield columns of both with their name; arrays, which are of one type, whole and without."""
    if not _is_frame(first):
        yield None, _with_type(first), _with_type(second)
        return
    for place, name in enumerate(first.columns):
        if isinstance(first, pl.DataFrame):
            yield name, first.to_series(place), second.to_series(place)
        else:
            yield name, first.iloc[:, place], second.iloc[:, place]


def _with_type(rows: Rows) -> Rows:
    return rows if hasattr(rows, "dtype") else np.asarray(rows)


def _family(values: Rows) -> str:
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


def _is_void(values: Rows) -> bool:
    """Return whether a column of a frame holds nothing at all."""
    if isinstance(values, pl.Series):
        return values.null_count() == len(values)
    return hasattr(values, "isna") and bool(values.isna().all())


_CODED = (pl.Categorical, pl.Enum)


def with_rows(value: _Arrays, rows: Bools | Ints) -> _Arrays:
    """Return a value whose arrays are by row with some of the rows; what is no array stays."""
    held = {each.name: getattr(value, each.name) for each in fields(value)}
    arrays = {name: each for name, each in held.items() if isinstance(each, np.ndarray)}
    return replace(value, **{name: each[rows] for name, each in arrays.items()})


def some_rows(n: int, most: int, rng: np.random.Generator) -> Ints:
    """Return at most so many rows, drawn without repetition, ascending."""
    if n <= most:
        return np.arange(n, dtype=np.int64)
    return np.sort(rng.choice(n, most, replace=False)).astype(np.int64)


def take_rows(rows: Rows, places: Ints) -> Rows:
    """Return the rows at these places, in this order: an array, a polars or a pandas frame."""
    if hasattr(rows, "iloc"):
        return rows.iloc[places]
    if isinstance(rows, pl.DataFrame | pl.Series):
        return rows[places]
    return np.asarray(rows)[places]


def join_rows(first: Rows, second: Rows) -> Rows:
    """Return the rows of both, one below the other, as the kind that they are.

    A column of two types gets the wider one, such as float for whole numbers and fractions.
    """
    with foreign("The rows of members and non-members couldn't be joined"):
        if isinstance(first, pl.DataFrame):
            return pl.concat(_of_one_type(first, second), how="vertical_relaxed")
        library = type(first).__module__.partition(".")[0]
        if library in {"polars", "pandas"}:  # the caller has loaded it
            both = importlib.import_module(library).concat([first, second])
            return both.reset_index(drop=True) if library == "pandas" else both
        return np.concatenate([np.asarray(first), np.asarray(second)])


def _of_one_type(first: pl.DataFrame, second: pl.DataFrame) -> list[pl.DataFrame]:
    """Return both with columns without a value as the other's, and with coded texts as texts."""
    casts: tuple[dict[str, pl.DataType], ...] = ({}, {})
    for name, one in first.schema.items():
        other = second.schema[name]
        if one == other:
            continue
        if first[name].null_count() == first.height:
            casts[0][name] = other
        elif second[name].null_count() == second.height:
            casts[1][name] = one
        elif one in _CODED or other in _CODED:
            casts[0][name] = casts[1][name] = pl.String()
    return [
        frame.with_columns(pl.col(name).cast(dtype) for name, dtype in wanted.items())
        for frame, wanted in zip((first, second), casts, strict=True)
    ]


def column_names(rows: Rows) -> list[str | int]:
    """Return the names of a frame's columns, the numbers of an array's."""
    return list(getattr(rows, "columns", range(np.shape(rows)[1])))


def column_of(rows: Rows, column: str | int) -> Values:
    """Return the values of one column; text and missing values as objects."""
    if isinstance(rows, pl.DataFrame):
        return rows[str(column)].to_numpy()
    if hasattr(rows, "iloc"):
        return np.asarray(rows[column])
    return np.asarray(np.asarray(rows)[:, int(column)])


def with_column(rows: Rows, column: str | int, value: Value) -> Rows:
    """Return the rows with the same value in all of one column, which keeps its type."""
    with foreign(f"Column {column!r} of some people can't hold a value of others"):
        return _changed(rows, column, value)


def _changed(rows: Rows, column: str | int, value: Value) -> Rows:
    if isinstance(rows, pl.DataFrame):
        dtype = rows.schema[str(column)]
        return rows.with_columns(pl.lit(_cell(value)).cast(dtype).alias(str(column)))
    if hasattr(rows, "iloc"):
        changed = rows.copy()
        changed[column] = np.full(len(rows), _held(value, rows[column].dtype))
        # Plain whole numbers can't be missing: a column with missing ones keeps the wider type.
        if isinstance(rows[column].dtype, np.dtype) and _widens(value, rows[column].dtype):
            return changed
        return changed.astype({column: rows[column].dtype})
    array = np.array(rows)
    if _widens(value, array.dtype):
        array = array.astype(np.float64)
    array[:, int(column)] = value
    return array


def _widens(value: Value, dtype: Value) -> bool:
    """Return whether a value is a missing number, and the type is of whole numbers."""
    is_number = isinstance(value, float | np.floating)
    return is_number and bool(np.isnan(value)) and getattr(dtype, "kind", "O") in "iu"


def _held(value: Value, dtype: Value) -> Value:
    """Return the middle of whole numbers as one of them, where the column holds such."""
    whole = getattr(dtype, "kind", "O") in "iu" and isinstance(value, float | np.floating)
    return int(value) if whole and np.isfinite(value) else value


def _cell(value: Value) -> Value:
    """Return what polars knows for a value of an array: a Python object, None if it is missing.

    An array of whole numbers or dates has NaN or NaT where a column of polars has nulls.
    """
    if isinstance(value, float | np.floating) and np.isnan(value):
        return None
    if isinstance(value, np.datetime64 | np.timedelta64) and np.isnat(value):
        return None
    return value.item() if isinstance(value, np.generic) else value
