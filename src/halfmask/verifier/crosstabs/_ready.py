"""Cells read again from the ready tables of the owner; totals that these lack are added up."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from halfmask._errors import VerificationError
from halfmask.verifier.crosstabs._tabulation import LARGEST, CellTally, code_texts, open_table
from halfmask.verifier.tables._fitting import FORMATS

if TYPE_CHECKING:
    from halfmask.claims.crosstab_manifest import StatedTable, TablesDetails
    from halfmask.verifier.crosstabs._system import Bools, CodeTree, Floats, TableCells

_NUMBERS: Final = ("value", "count", *(f"x{rank}" for rank in range(LARGEST)))


class ReadyTables:
    """The ready tables of the owner, each with the numbers of its codes."""

    def __init__(
        self, given: object, details: TablesDetails, trees: Mapping[str, CodeTree]
    ) -> None:
        if details.ready is None:
            raise VerificationError("The manifest names no columns of ready tables.")
        self.trees, self.ready = trees, details.ready
        tables = {each.name: each for each in details.tables}
        self.rows = pl.concat(
            self._read(where, tables[name]) for name, where in _named(given, tables).items()
        ).unique(self._keys, keep="first", maintain_order=True)

    @property
    def _keys(self) -> list[str]:
        return [*(f"c{at}" for at in range(len(self.trees))), "_all"]

    def _read(self, given: object, table: StatedTable) -> pl.DataFrame:
        named = [(name, self.trees[name]) for name in table.dimensions]
        columns = [column for _, tree in named for column in tree.columns]
        numbers = [self.ready.value, *([self.ready.count] if self.ready.count else [])]
        largest = self.ready.largest[:LARGEST]
        opened = open_table(given, [*columns, *numbers, *largest])
        schema = opened.collect_schema()
        unknown = pl.lit(None, dtype=pl.Float64)
        own = {"value": self.ready.value, "count": self.ready.count}
        own |= {f"x{rank}": name for rank, name in enumerate(largest)}
        rows = opened.select(
            *(code_texts(pl.col(name), schema[name]).alias(f"text {name}") for name in columns),
            *(
                (
                    pl.col(name).cast(pl.Float64, strict=True) if (name := own.get(it)) else unknown
                ).alias(it)
                for it in _NUMBERS
            ),
        ).collect()
        for at, (name, tree) in enumerate(self.trees.items()):
            if name in table.dimensions:
                codes = self._codes(rows, tree)
            else:
                codes = pl.Series([tree.total], dtype=pl.Int32).new_from_index(0, rows.height)
            rows = rows.with_columns(codes.alias(f"c{at}"))
        rows = rows.with_columns(_all=pl.lit(0)).select(*self._keys, *_NUMBERS)
        if rows["value"].null_count() or rows.select(self._keys).is_duplicated().any():
            raise VerificationError("The originals lack a value, or have a cell twice.")
        return rows

    @staticmethod
    def _codes(rows: pl.DataFrame, tree: CodeTree) -> pl.Series:
        """Return the lowest code of each row; a total of several columns has none below it."""
        levels = [rows[f"text {name}"] for name in tree.columns]
        found = levels[0] if len(levels) == 1 else pl.Series([None] * rows.height, dtype=pl.String)
        total = tree.codes[tree.total]
        for level in levels if len(levels) > 1 else ():
            found = level.set(level == total, None).zip_with(
                level.is_not_null() & (level != total), found
            )
        filled = tree.missing if len(levels) == 1 else total
        found = found.fill_null(filled) if filled is not None else found
        codes = found.replace_strict(
            list(tree.codes), range(len(tree.codes)), default=None, return_dtype=pl.Int32
        )
        if codes.null_count():
            raise VerificationError(
                f"The originals have {codes.null_count()} codes that {tree.name!r} lacks."
            )
        return codes

    def tally(self, cells: TableCells) -> CellTally:
        """Return the cells of a release, and others that the tables have."""
        keys = self._keys
        known = pl.DataFrame(
            cells.codes, schema=dict.fromkeys(keys[:-1], pl.Int32), orient="row"
        ).with_columns(_all=pl.lit(0))
        others = self.rows.join(known, on=keys, how="anti").filter(pl.col("value") != 0)
        known = pl.concat([known, others.select(keys)])
        rows = known.join(self.rows, on=keys, how="left", maintain_order="left")
        numbers = {name: rows[name].fill_null(np.nan).to_numpy().copy() for name in _NUMBERS}
        largest = np.column_stack([numbers[f"x{rank}"] for rank in range(LARGEST)])
        value, count = numbers["value"], numbers["count"]
        _add_up(cells, value, count, largest)
        if cells.measure is None:
            count = value
        size = np.abs(value)
        parts, amounts = _filled(size, count, np.abs(largest))
        owner = np.arange(len(parts))
        of_parts = dict.fromkeys(("plain", "weighted"), amounts) | {
            name: np.ones(len(parts)) for name in ("rows", "weight")
        }
        return CellTally(
            codes=known.select(keys[:-1]).to_numpy().astype(np.int32).reshape(known.height, -1),
            sums=pl.DataFrame({"rows": count, "count": count, "value": value, "absolute": size}),
            parts=pl.DataFrame({"cell": parts, "owner": owner, **of_parts}),
            by_owner=False,
        )


def _named(given: object, tables: Mapping[str, StatedTable]) -> dict[str, object]:
    """Return each table of the owner by its name; a single one needs none."""
    found: Mapping[Any, object]
    if isinstance(given, Mapping):
        found = given
    elif isinstance(given, list | tuple):
        found = {Path(each).stem: each for each in given}
    elif isinstance(given, str | os.PathLike) and Path(given).is_dir():
        files = (each for each in Path(given).iterdir() if each.suffix.lower() in FORMATS)
        found = {each.name.partition(".")[0]: each for each in files}
    else:
        found = dict.fromkeys(tables, given) if len(tables) == 1 else {}
    if absent := sum(name not in found for name in tables):
        raise VerificationError(
            f"The originals lack {absent} of {len(tables)} tables.",
            hint="Give a folder, or a mapping, with a file of the name of each table.",
        )
    return {name: found[name] for name in tables}


def _add_up(cells: TableCells, value: Floats, count: Floats, largest: Floats) -> None:
    """Fill totals that the tables lack by their parts; any other cell that they lack is 0."""
    n = len(cells.value)
    equations, parts = cells.equations.tocsr(), cells.equations.maximum(0).tocsr()
    rows, columns = equations.tocoo().coords
    is_total = equations.tocoo().data < 0
    total = np.full(equations.shape[0], -1)
    total[rows[is_total]] = columns[is_total]
    lacking: Bools = np.isnan(value)
    bottom = lacking.copy()
    bottom[total[total >= 0]] = False
    value[bottom], count[bottom], largest[bottom] = 0.0, 0.0, 0.0
    while (lacking := np.isnan(value[:n])).any():
        ready = (total >= 0) & lacking[total] & (parts @ lacking.astype(np.float64) == 0)
        if not ready.any():
            raise VerificationError("The originals lack cells that can't be added up.")
        for row in np.flatnonzero(ready).tolist():
            cell = total[row]
            own = parts.indices[parts.indptr[row] : parts.indptr[row + 1]]
            own = own[own != cell]
            value[cell], count[cell] = value[own].sum(), count[own].sum()
            ranks = int((~np.isnan(largest[own])).all(axis=0).sum())
            known = np.sort(np.abs(largest[own][~np.isnan(largest[own])]))[::-1][:ranks]
            largest[cell, : len(known)] = known


def _filled(size: Floats, count: Floats, largest: Floats) -> tuple[Any, Floats]:
    """Return the contributions of each cell, the greatest possible ones where they aren't known.

    An unknown one is at most the one before it, and at most what the others leave of the sum. A
    cell of which nothing is known may be one contribution.
    """
    left, before = size.copy(), np.where(count <= 1, size, np.nan)
    amounts = np.zeros_like(largest)
    for rank in range(LARGEST):
        possible = np.where(rank >= count, 0.0, np.minimum(before, left))
        before = np.where(np.isnan(largest[:, rank]), possible, largest[:, rank])
        amounts[:, rank], left = before, np.maximum(left - before, 0.0)
    amounts[np.isnan(amounts[:, 0]), 0] = size[np.isnan(amounts[:, 0])]
    amounts = np.nan_to_num(amounts)
    there = amounts > 0
    return np.nonzero(there)[0], amounts[there]
