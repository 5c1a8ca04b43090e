"""Cells tabulated again from the owner's microdata, or read again from the owner's ready tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from halfmask._errors import ColumnNotFoundError, VerificationError
from halfmask.verifier.tables._fitting import open_given
from halfmask.verifier.tables.part import READ_ERRORS, exact_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from halfmask.claims.crosstab_manifest import StatedTable, TablesDetails
    from halfmask.verifier.crosstabs._system import CodeTree, Floats, Ints, TableCells

#: How many of the largest contributions of a cell rules may ask for.
LARGEST: Final = 5


@dataclass(frozen=True, kw_only=True)
class Contributions:
    """What contributes to each of some cells, or to each of some groups of them.

    `rows` and `count` are numbers of rows and of contributors, `value` and `absolute` the weighted
    sum of contributions and of their absolute values. `largest` has the absolute values of the
    largest contributions without weights, in descending order and 0 where there are no more,
    `weights` and `owners` their weights and a number for their owner, -1 for none.
    """

    rows: Floats
    count: Floats
    value: Floats
    absolute: Floats
    largest: Floats
    weights: Floats
    owners: Ints


@dataclass(frozen=True, kw_only=True)
class CellTally:
    """The true cells of one measure: those of the release first, then others that aren't 0.

    `sums` has a row for each cell, and `parts` what each contributor has in it.
    """

    codes: NDArray[np.int32]
    sums: pl.DataFrame
    parts: pl.DataFrame
    by_owner: bool

    def of_cells(self) -> Contributions:
        """Return what contributes to each cell."""
        return self._made(self.sums, self.parts.rename({"cell": "group"}))

    def of_groups(self, group: Ints, cell: Ints) -> Contributions:
        """Return what contributes to groups of different cells, numbered from 0."""
        pairs = pl.DataFrame({"group": group, "cell": cell})
        sums = pairs.with_columns(self.sums[cell]).group_by("group", maintain_order=True)
        added = sums.agg(pl.col(self.sums.columns).sum()).sort("group").drop("group")
        parts = self.parts.join(pairs, on="cell").drop("cell")
        if self.by_owner:
            parts = parts.group_by("group", "owner").agg(pl.col(_OF_OWNER).sum())
            of_owners = parts.group_by("group").agg(
                count=pl.len().cast(pl.Float64), absolute=pl.col("weighted").abs().sum()
            )
            added = added.with_columns(of_owners.sort("group").drop("group"))
        return self._made(added, parts)

    def _made(self, sums: pl.DataFrame, parts: pl.DataFrame) -> Contributions:
        top = (
            parts.sort(pl.col("plain").abs(), "owner", descending=[True, False])
            .group_by("group", maintain_order=True)
            .head(LARGEST)
            .with_columns(rank=pl.int_range(pl.len()).over("group"))
        )
        at = top["group"].to_numpy(), top["rank"].to_numpy()
        plain, weighted, weight = (top[name].to_numpy() for name in ("plain", "weighted", "weight"))
        largest, weights = (np.zeros((sums.height, LARGEST)) for _ in range(2))
        owners = np.full((sums.height, LARGEST), -1, dtype=np.int64)
        largest[at], owners[at] = np.abs(plain), top["owner"].to_numpy()
        weights[at] = np.divide(weighted, plain, out=weight.copy(), where=plain != 0)
        numbers = {name: sums[name].to_numpy() for name in sums.columns}
        return Contributions(**numbers, largest=largest, weights=weights, owners=owners)


#: What is added up of one owner's rows.
_OF_OWNER: Final = ("rows", "plain", "weighted", "weight")
_SUMS: Final = ("rows", "count", "value", "absolute")


class Microdata:
    """The rows of the owner, with the numbers of their codes."""

    def __init__(
        self, given: object, details: TablesDetails, trees: Mapping[str, CodeTree]
    ) -> None:
        self.trees, self.has_owner = trees, details.owner is not None
        measures = sorted({each.measure for each in details.tables if each.measure is not None})
        self.numbers = {name: f"x{at}" for at, name in enumerate(measures)}
        owner = pl.int_range(pl.len()) if details.owner is None else pl.col(details.owner)
        weight = pl.lit(1.0) if details.weight is None else pl.col(details.weight)
        used = [*measures, *(each for each in (details.owner, details.weight) if each is not None)]
        table = open_table(given, [*(tree.columns[-1] for tree in trees.values()), *used])
        schema = table.collect_schema()
        self.table = (
            table.select(
                *(
                    code_texts(pl.col(tree.columns[-1]), schema[tree.columns[-1]]).alias(f"c{at}")
                    for at, tree in enumerate(trees.values())
                ),
                owner.alias("owner"),
                weight.cast(pl.Float64).alias("weight"),
                *(pl.col(name).cast(pl.Float64).alias(own) for name, own in self.numbers.items()),
            )
            .with_columns(pl.col("owner").rank("dense").cast(pl.Int64))
            .collect(engine="streaming")
        )
        for at, (name, tree) in enumerate(trees.items()):
            self._number_codes(f"c{at}", name, tree)
        if any(each.null_count() for each in self.table):
            raise VerificationError("The originals lack an owner, a weight or a number.")

    def _number_codes(self, column: str, name: str, tree: CodeTree) -> None:
        texts = self.table[column]
        if tree.missing is not None:
            texts = texts.fill_null(tree.missing)
        found = texts.replace_strict(
            list(tree.codes), range(len(tree.codes)), default=None, return_dtype=pl.Int32
        )
        if found.null_count() or not found.is_in(sorted(tree.leaves)).all():
            raise VerificationError(
                f"The originals have rows whose code isn't at the bottom of dimension {name!r}."
            )
        self.table = self.table.with_columns(found.alias(column))

    def tally(self, cells: TableCells, tables: Sequence[StatedTable]) -> CellTally:
        """Tabulate all tables of a measure."""
        value = pl.lit(1.0) if cells.measure is None else pl.col(self.numbers[cells.measure])
        rows = self.table.with_columns(rows=pl.lit(1.0), plain=value).with_columns(
            weighted=pl.col("plain") * pl.col("weight")
        )
        keys = [f"c{at}" for at in range(len(self.trees))]
        known = pl.DataFrame(cells.codes, schema=dict.fromkeys(keys, pl.Int32), orient="row")
        known = known.with_columns(_all=pl.lit(0)).with_row_index("cell")
        sums, parts = [], []
        for names in dict.fromkeys(frozenset(each.dimensions) for each in tables):
            own_sums, own_parts = self._table(rows, names)
            sums.append(own_sums)
            parts.append(own_parts)
        keys.append("_all")
        whole = pl.concat(sums).unique(keys, maintain_order=True)
        others = whole.join(known, on=keys, how="anti").select(keys)
        known = pl.concat([known.drop("cell"), others.select(known.columns[1:])])
        known = known.with_columns(cell=pl.int_range(pl.len()))
        added = known.join(whole, on=keys, how="left", maintain_order="left").fill_null(0.0)
        of_owners = pl.concat(parts).unique([*keys, "owner"]).join(known, on=keys)
        return CellTally(
            codes=known.select(keys[:-1]).to_numpy().astype(np.int32).reshape(known.height, -1),
            sums=added.select(_SUMS),
            parts=of_owners.select("cell", "owner", *_OF_OWNER),
            by_owner=self.has_owner,
        )

    def _table(
        self, rows: pl.DataFrame, names: frozenset[str]
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the sums of each cell of a table, and what contributors have in it.

        Rows without an owner are contributors of their own: only the largest are kept.
        """
        keys, at = ["_all"], []
        for number, (name, tree) in enumerate(self.trees.items()):
            if name in names:
                at.append((f"c{number}", tree))
        keys += [column for column, _ in at]
        rows = rows.with_columns(_all=pl.lit(0)).select(*keys, "owner", *_OF_OWNER)
        if self.has_owner:
            parts = _expanded(rows, at, lambda it: _added(it, [*keys, "owner"], _OF_OWNER))
            sums = parts.group_by(keys).agg(
                rows=pl.col("rows").sum(),
                count=pl.len().cast(pl.Float64),
                value=pl.col("weighted").sum(),
                absolute=pl.col("weighted").abs().sum(),
            )
        else:
            parts = _expanded(rows, at, lambda it: _largest(it, keys))
            each = rows.with_columns(
                count=pl.col("rows"), value=pl.col("weighted"), absolute=pl.col("weighted").abs()
            )
            sums = _expanded(each, at, lambda it: _added(it, keys, _SUMS))
        totals = [
            pl.lit(tree.total, dtype=pl.Int32).alias(f"c{number}")
            for number, (name, tree) in enumerate(self.trees.items())
            if name not in names
        ]
        order = [*(f"c{number}" for number in range(len(self.trees))), "_all"]
        return (
            sums.with_columns(totals).select(*order, *_SUMS),
            parts.with_columns(totals).select(*order, "owner", *_OF_OWNER),
        )


def _expanded(
    frame: pl.DataFrame,
    columns: Sequence[tuple[str, CodeTree]],
    less: Callable[[pl.DataFrame], pl.DataFrame],
) -> pl.DataFrame:
    """Return rows with every code that covers theirs, one dimension after the other."""
    frame = less(frame)
    for column, tree in columns:
        pairs = [(leaf, code) for code, leaves in enumerate(tree.covers) for leaf in leaves]
        above = pl.DataFrame(pairs, schema={column: pl.Int32, "code": pl.Int32}, orient="row")
        wide = frame.join(above, on=column).drop(column)
        frame = less(wide.rename({"code": column}))
    return frame


def _added(frame: pl.DataFrame, keys: Sequence[str], sums: Sequence[str]) -> pl.DataFrame:
    return frame.group_by(keys).agg(pl.col(sums).sum())


def _largest(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    return (
        frame.sort(pl.col("plain").abs(), descending=True)
        .group_by(keys, maintain_order=True)
        .head(LARGEST)
    )


def open_table(given: object, columns: Sequence[str]) -> pl.LazyFrame:
    """Open a table of the owner that has some columns."""
    try:
        table = open_given(given, what="originals")
        known = table.collect_schema().names()
    except READ_ERRORS as error:
        if isinstance(error, VerificationError):
            raise
        raise VerificationError("The originals can't be read as a table.") from None
    if absent := [name for name in columns if name not in known]:
        raise ColumnNotFoundError.of(absent, known, where="the originals")
    return table


def code_texts(cell: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return cells as codes: whole floating-point numbers without ``.0``."""
    if not dtype.is_float():
        return cell.map_batches(exact_texts, return_dtype=pl.String)
    whole = (cell == cell.floor()) & (cell.abs() < 2**53)
    as_int = pl.when(whole).then(cell).cast(pl.Int64).cast(pl.String)
    return pl.when(whole).then(as_int).otherwise(cell.cast(pl.String))
