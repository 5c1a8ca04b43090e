"""Settings of ranges that would be without effect on the columns they are for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from halfmask._errors import SchemaError
from halfmask.anonymize.recodings._ranges import Ranges

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from halfmask.anonymize.recodings._recoding import Recoding
    from halfmask.data import Column

_HOLDS = {"step": "numbers", "unit": "dates or times"}


def check_ranges(
    table: Recoding, own: Mapping[str, Recoding], columns: Iterable[tuple[Column, pl.Series]]
) -> None:
    """Raise where ranges have a step or unit that a column can't use, or lack one it needs."""
    used = set()
    for column, values in columns:
        wanted, recoding = _wanted(column, values), own.get(column.name)
        if not len(values):
            continue
        if isinstance(recoding, Ranges):
            _check_own(column.name, recoding, wanted, is_set=not _is_ordered(column, values))
        elif isinstance(recoding or table, Ranges) and wanted and column.hierarchy is None:
            used.add(wanted)
            if isinstance(table, Ranges) and _stated(table) and wanted not in _stated(table):
                raise SchemaError(
                    f"Column {column.name!r} holds {_HOLDS[wanted]}, and ranges of the table have "
                    f"a {_stated(table)[0]} and no {wanted}: their ends would be values of people.",
                    hint=f"Add a {wanted} to the recoding, or give the column one of its own.",
                )
    idle = [key for key in _stated(table) if key not in used] if isinstance(table, Ranges) else []
    if idle:
        raise SchemaError(
            f"Ranges of the table have a {idle[0]}, and none of its quasi-identifiers without a "
            f"hierarchy or a recoding of its own holds {_HOLDS[idle[0]]}.",
            hint="Leave it out, or declare how the columns are written under [input].",
        )


def _check_own(name: str, recoding: Ranges, wanted: str | None, *, is_set: bool) -> None:
    idle = [key for key in _stated(recoding) if key != wanted]
    if is_set and recoding.form == "bounds":
        idle.append("form")
    if idle:
        holds = "neither numbers nor dates in order" if wanted is None else _HOLDS[wanted]
        raise SchemaError(
            f"Column {name!r} holds {holds}, and its recoding has a {idle[0]}, which would have no "
            "effect.",
            hint="Ranges of numbers have a step, ranges of dates a unit.",
        )


def _stated(recoding: Ranges) -> list[str]:
    return [key for key in _HOLDS if getattr(recoding, key) is not None]


def _is_ordered(column: Column, values: pl.Series) -> bool:
    numbers = values.dtype.is_numeric() or values.dtype.is_temporal()
    return numbers and column.kind not in {"categorical", "text", "geo"}


def _wanted(column: Column, values: pl.Series) -> str | None:
    """Return the key that says where ranges of a column may end; None where nothing does."""
    if not _is_ordered(column, values):
        return None
    if values.dtype.is_numeric():
        return "step"
    return "unit" if isinstance(values.dtype, pl.Date | pl.Datetime) else None
