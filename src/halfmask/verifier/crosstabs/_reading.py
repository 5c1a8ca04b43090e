"""The tables of a release as their files show them, and what is wrong with the files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from halfmask.claims.crosstab_manifest import CROSSED_OUT, HIDDEN, PUBLISHED, STATE, VALUE
from halfmask.verifier._workbook import read_workbook
from halfmask.verifier.tables.part import FORMULA_NAME, UnreadableError, open_part

if TYPE_CHECKING:
    from pathlib import Path

    from halfmask.claims.crosstab_manifest import StatedDimension, StatedTable

#: CSV files have an apostrophe before texts that a spreadsheet would run as a formula.
_GUARDED: Final = FORMULA_NAME.pattern.replace("'+", "^'('*", 1) + ")"
_NUMBER: Final = r"^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?\z"
#: What two spellings of one number may differ by.
SPELLING: Final = 1e-9


def read_cells(path: Path, form: str, table: StatedTable) -> pl.DataFrame:
    """Return a long table: codes as texts, numbers, and in ``state`` whether a cell is hidden.

    Its columns are renamed by position, since a dimension may have any name.
    """
    frame = _opened(path, form)
    if frame.columns != [*table.dimensions, VALUE, *table.derived, STATE]:
        raise UnreadableError("It doesn't have the columns that the manifest states.")
    frame.columns = [*codes_of(table), VALUE, *table.derived, STATE]
    if any(frame.schema[name] != pl.String for name in (*codes_of(table), STATE)):
        raise UnreadableError("A dimension or the state isn't a column of texts.")
    if form == "csv":
        frame = frame.with_columns(
            pl.col(name).fill_null("").str.replace(_GUARDED, "${1}") for name in codes_of(table)
        )
    frame = frame.with_columns(_numbers(frame[name]) for name in (VALUE, *table.derived))
    fault = _fault_of(frame, table)
    if fault:
        raise UnreadableError(fault)
    return frame.with_columns(pl.col(STATE) == HIDDEN)


def codes_of(table: StatedTable) -> list[str]:
    """Return the names that the columns of codes have here."""
    return [f"code {number}" for number in range(len(table.dimensions))]


def _opened(path: Path, form: str) -> pl.DataFrame:
    if form != "excel":
        return open_part(path, form).collect()
    header, *rows = read_workbook(path) or [[]]
    if any(not isinstance(name, str) for name in header) or len({*header}) < len(header):
        raise UnreadableError("Its header isn't of different texts.")
    if any(len(row) > len(header) for row in rows):
        raise UnreadableError("A row has more cells than the header.")
    columns = {}
    for at, name in enumerate(header):
        cells = [row[at] if at < len(row) else None for row in rows]
        dtype = pl.String if any(isinstance(each, str) for each in cells) else pl.Float64
        columns[str(name)] = pl.Series(cells, dtype=dtype, strict=True)
    return pl.DataFrame(columns)


def _numbers(values: pl.Series) -> pl.Series:
    """Return numbers, or texts that are plain numbers, as floats."""
    if values.dtype == pl.String:
        if not values.drop_nulls().str.contains(_NUMBER).all():
            raise UnreadableError("A value isn't a plain number.")
    elif not values.dtype.is_numeric():
        raise UnreadableError("A column of values isn't one of numbers.")
    found = values.cast(pl.Float64, strict=True)
    if not found.drop_nulls().is_finite().all():
        raise UnreadableError("A value isn't finite.")
    return found


def _fault_of(frame: pl.DataFrame, table: StatedTable) -> str:
    """Return what is wrong with the cells of a table; empty: nothing."""
    if frame.is_empty():
        return "It has no cells."
    if not frame[STATE].is_in([PUBLISHED, HIDDEN]).all():
        return "A cell has another state than published and hidden."
    hidden = frame[STATE] == HIDDEN
    if (frame[VALUE].is_null() != hidden).any():
        return "A hidden cell has a value, or a published one has none."
    if any((frame[name].is_not_null() & hidden).any() for name in table.derived):
        return "A statistic is shown of a hidden cell."
    if frame.select(codes_of(table)).is_duplicated().any() or (
        not table.dimensions and frame.height > 1
    ):
        return "It has a cell twice."
    return ""


def crossed_fault(
    path: Path, table: StatedTable, across: StatedDimension, cells: pl.DataFrame
) -> str:
    """Return in what a cross table doesn't say the same as the long one; empty: in nothing."""
    frame = pl.read_csv(path, has_header=False, infer_schema=False, glob=False)
    frame = frame.with_columns(pl.all().fill_null("").str.replace(_GUARDED, "${1}"))
    header, lines = list(frame.row(0)), frame[1:]
    names, n_down = codes_of(table), len(table.dimensions) - 1
    codes = header[n_down:]
    if header[:n_down] != [*table.dimensions[:-1]] or not {*codes} <= {*across.codes}:
        return "doesn't have the columns that the manifest states"
    if len({*codes}) < len(codes) or lines[:, :n_down].is_duplicated().any():
        return "has a row or a column twice"
    parts = [
        lines[:, :n_down].with_columns(
            pl.lit(code).alias("code"), lines.to_series(at).alias("text")
        )
        for at, code in enumerate(codes, n_down)
    ]
    shown = pl.concat(part.rename(dict(zip(part.columns, names, strict=False))) for part in parts)
    both = cells.select(*names, VALUE, STATE).join(shown, on=names, how="full", coalesce=True)
    if both["text"].null_count():
        return "lacks cells of the long table"
    hidden = both[STATE].fill_null(value=False)
    if ((both["text"] == CROSSED_OUT) != hidden).any():
        return "doesn't hide the cells that the long table hides"
    values = both.filter(~hidden)
    off = (_numbers(values["text"]) - values[VALUE].fill_null(0.0)).abs()
    if (off > SPELLING * values[VALUE].fill_null(0.0).abs()).any():
        return "shows other values than the long table"
    return ""
