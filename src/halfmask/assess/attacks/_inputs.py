"""What callers give, as what attacks take: refused in our own words before anything is attacked.

A field of a target is taken by the function ``take`` of its metadata: see `TakenInputs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from halfmask._errors import ColumnNotFoundError, ParameterError, SchemaError
from halfmask.data import to_polars
from halfmask.data.arrays import unmasked

if TYPE_CHECKING:
    from collections.abc import Callable

    from halfmask.assess._arrays import Ints


def several(
    values: object, *, parameter: str, owner: str, of: str, or_none: bool = False
) -> tuple[Any, ...]:
    """Return a list of any kind as a tuple; the same value may be in it twice.

    Examples
    --------
    >>> several([2, 4], parameter="known", owner="KnownEvents", of="numbers")
    (2, 4)
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ParameterError(
            f"The {parameter!r} parameter of {owner} must be a list of {of}. "
            f"Got a value of type {type(values).__name__}.",
            hint="Put one into a list, too.",
        )
    found = tuple(values)
    if not found and not or_none:
        raise ParameterError(
            f"The {parameter!r} parameter of {owner} must be a list of {of}, at least one. "
            "Got an empty one."
        )
    return found


#: Returns a given value in the form that attacks use, or refuses it: value, parameter and owner.
Take: TypeAlias = "Callable[..., Any]"


class TakenInputs:
    """Base of targets: takes each field as its metadata says; ``None`` where it is the default."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for each in fields(self):  # type: ignore[arg-type] # each target is a dataclass
            value, take = getattr(self, each.name), each.metadata.get("take")
            if take is not None and not (value is None and each.default is None):
                taken = take(value, parameter=each.name, owner=type(self).__name__)
                object.__setattr__(self, each.name, taken)


def listed(of: str) -> Take:
    """Return what takes a list of different things."""
    return partial(as_listed, of=of)


def check_columns(names: Iterable[str], there: Sequence[str], *, where: str) -> None:
    """Raise if a table lacks one of the columns."""
    absent = [name for name in names if name not in there]
    if absent:
        raise ColumnNotFoundError.of(absent, there, where=where)


def check_owners(
    owners: Ints | None, n_rows: int, n_original: int, *, hint: str | None = None
) -> None:
    """Raise unless there is an original row for each released row."""
    if owners is None:
        if n_rows != n_original:
            raise ParameterError(
                f"There are {n_rows} released rows and {n_original} original ones: `owners` must "
                "give the owner of each row.",
                hint=hint,
            )
        return
    if len(owners) != n_rows:
        raise ParameterError("owners must have a number for each released row.")
    if len(owners) and not 0 <= np.min(owners) <= np.max(owners) < n_original:
        raise ParameterError(
            f"owners must be numbers of the {n_original} original rows. "
            f"Got {int(np.min(owners))} to {int(np.max(owners))}."
        )


def as_table(table: object, **_: str) -> pl.DataFrame:
    """Return a frame of any library as polars, what is missing as null: NaN is no secret.

    A frame of polars may have columns of any name and kind; only some are attacked.
    """
    if not isinstance(table, pl.DataFrame):
        return to_polars(table)
    # under no name: by one that is a pattern polars looks for others
    floats = {each.name: each.alias("") for each in table.get_columns() if each.dtype.is_float()}
    gaps = [each.fill_nan(None).alias(name) for name, each in floats.items() if each.is_nan().any()]
    return table.with_columns(gaps) if gaps else table


def as_listed(values: object, *, parameter: str, owner: str, of: str) -> tuple[Any, ...]:
    """Return a list of any kind as a tuple."""
    found = several(values, parameter=parameter, owner=owner, of=of, or_none=True)
    if any(each in found[:place] for place, each in enumerate(found)):
        raise ParameterError(f"One of the {of} is twice in the {parameter!r} parameter of {owner}.")
    return found


def as_whole_numbers(values: object, *, parameter: str, owner: str) -> Ints:
    """Return whole numbers of any kind, a list or a column, as an array."""
    try:
        found = np.asarray(unmasked(values, name=parameter))
    except ParameterError:
        raise
    except ValueError:  # lists of different lengths
        found = np.empty(0, dtype=object)
    if found.dtype.kind == "f" and np.isfinite(found).all() and (found == np.rint(found)).all():
        found = found.astype(np.int64)
    if found.dtype.kind not in "biu" or found.ndim != 1:
        raise ParameterError(
            f"The {parameter!r} parameter of {owner} must be one column of whole numbers, none "
            f"missing. Got {found.dtype} of {found.ndim} dimensions."
        )
    return found.astype(np.int64)


def as_number(value: Any) -> Any:  # noqa: ANN401 # what isn't numpy's is the caller's to check
    """Return a number of numpy as one of Python, which JSON can hold, and all else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def row_count(rows: Any, *, parameter: str) -> int:  # noqa: ANN401 # any rows
    """Return how many rows there are."""
    try:
        return len(rows)
    except TypeError:
        raise ParameterError(
            f"{parameter} must be a frame or an array. Got a value of type {type(rows).__name__}.",
            hint="Turn a sparse matrix into an array, and collect a lazy frame.",
        ) from None


def as_frame(table: object, **_: str) -> pl.DataFrame:
    """Return a frame of polars as it is, and one of another library, or a lazy one, as polars.

    Bytes are turned into text: the digits that spell them.
    """
    frame = table if isinstance(table, pl.DataFrame) else as_table(table)
    spelt = [each.bin.encode("hex") for each in frame.iter_columns() if each.dtype == pl.Binary]
    return frame.with_columns(spelt) if spelt else frame


def plain_frame(table: object, *, parameter: str, **_: str) -> pl.DataFrame:
    """Return a table whose cells are all plain, as :func:`as_frame` does."""
    taken = as_frame(table)
    check_plain(taken, taken.columns, where=parameter)
    return taken


def check_plain(frame: pl.DataFrame, names: Iterable[str], *, where: str) -> None:
    """Raise unless each cell of these columns is one number, text, date, time or truth value."""
    for name in names:
        dtype = frame.schema[name]
        if dtype.is_nested() or dtype == pl.Object:
            raise SchemaError(
                f"Column {name!r} of {where} holds values of type {type(dtype).__name__}.",
                hint="Spread it over plain columns, or leave the column out.",
            )
