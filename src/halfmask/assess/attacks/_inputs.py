"""What callers give, as what attacks take: refused in our own words before anything is attacked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from halfmask._errors import ParameterError
from halfmask.assess.attacks._several import several
from halfmask.data import to_polars
from halfmask.data._arrays import unmasked

if TYPE_CHECKING:
    from numpy.typing import NDArray


def as_table(table: object) -> pl.DataFrame:
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


def as_whole_numbers(values: object, *, parameter: str, owner: str) -> NDArray[np.int64]:
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
