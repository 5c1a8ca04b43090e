"""k^m-anonymity: any m items of a row's set are in the sets of at least k rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from halfmask._errors import DataError, HierarchyError, SchemaError
from halfmask.data import Hierarchy
from halfmask.masks._checked_mask import CheckedMask
from halfmask.masks._item_recoding import ItemNodes, ItemRecoding, ItemSets, least_loss, split_items
from halfmask.masks._mask import MaskTraits, counted_claim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.claims import Claim
    from halfmask.masks._mask import ReadColumns


@dataclass(frozen=True, slots=True, kw_only=True)
class KmAnonymity(CheckedMask):
    """Suppress or generalize items until any m items of a set are in k rows.

    Parameters
    ----------
    column
        The column of sets: texts such as ``"milk|bread"``.
    k
        How many rows must have any m items that are in one set; at least 2.
    m
        How many items of a person's set an attacker may know; at least 1.
    separator
        What stands between two items.
    hierarchy
        Rows of a hierarchy of the items: an item, then ever more general labels. Without one,
        items are only suppressed. A policy may give it as the ``hierarchy`` of the column.

    Raises
    ------
    ParameterError
        If a parameter can't be.
    HierarchyError
        If the rows are no hierarchy, or a label holds the separator.

    Notes
    -----
    The apriori algorithm of Terrovitis, Mamoulis and Kalnis (VLDB 2008, section 4.3): rare items
    first, then rare sets of two, to sets of m. Each step suppresses an item or writes its parent
    for all items below, whichever breaks up most rare sets for the least loss. Suppression alone is
    tried, too, and what loses less is written: the loss is the normalized certainty penalty
    (NCP), in which a suppressed item counts 1 and a node the share of the leaves below it.

    **Guarantees.** Each set of at most m written items is in at least k rows, or in none. An item
    is written in the same way in all rows. The verifier counts this again. Missing cells stay
    missing.

    **Edge cases.** A row is a person: give a person with several rows one set first. An attacker
    who knows more than m items, or items that a person doesn't have, isn't covered. Rows that share
    known items may share others. Items are written once, in order; an empty one is none. A set that
    loses all items is written as an empty text. The least loss overall isn't found: that is
    NP-hard.

    **Cost.** All sets of m items of all rows are counted: 50,000 rows of ten of 500 items take
    seconds at m = 3. More than 5 thousand million sets are refused.

    Examples
    --------
    >>> baskets = pl.DataFrame({"bought": ["milk|bread", "bread|milk", "bread|caviar"]})
    >>> mask = KmAnonymity(column="bought", k=2, m=2, separator="|")
    >>> mask.fit(baskets, bytes(32)).apply(baskets, 0)["bought"].to_list()
    ['bread|milk', 'bread|milk', 'bread']
    """

    name: ClassVar[str] = "km-anonymity"
    coarsens: ClassVar[bool] = True
    is_matchable: ClassVar[bool] = True
    needs_rows: ClassVar[bool] = True
    suppresses: ClassVar[bool] = True
    traits: ClassVar[MaskTraits] = MaskTraits(
        generalizes=True, rewrites=True, alone=True, unstated=("hierarchy",)
    )
    weaknesses: ClassVar[tuple[str, ...]] = ("few-known-items",)

    column: str = field(metadata={"min_length": 1})
    k: int = field(metadata={"ge": 2})
    m: int = field(metadata={"ge": 1})
    separator: str = field(metadata={"min_length": 1})
    hierarchy: tuple[tuple[str, ...], ...] | None = None

    def _check_together(self) -> None:
        self._tree()

    def _tree(self) -> Hierarchy | None:
        """Return the hierarchy, if there is one."""
        if self.hierarchy is None:
            return None
        rows = [row for row in self.hierarchy if row]
        tree = Hierarchy.from_rows(rows, column=self.column)
        labels = {label for level in range(tree.height) for label in tree.labels(level)}
        broken = sum(not label or self.separator in label for label in labels)
        if broken:
            raise HierarchyError(
                f"The hierarchy of the items of column {self.column!r} has {broken} labels that "
                "are empty or hold the separator: each would be written as several items.",
                hint="Choose another separator, or rename the labels.",
            )
        return tree

    @property
    def columns(self) -> tuple[str, ...]:
        """The column of sets."""
        return (self.column,)

    @property
    def reads(self) -> tuple[str, ...]:
        """No further columns."""
        return ()

    def written(self, dtypes: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
        """Return the type of texts; see `TableMask`."""
        if dtypes[self.column] != pl.String:
            raise SchemaError(
                f"Column {self.column!r} has the mask {self.name!r}, which is for texts of items "
                f"with a separator. Got the type {dtypes[self.column].base_type()}.",
                hint="Read it as text; a column of lists is read with lists[[| under [input]]].",
            )
        return {self.column: pl.String()}

    def fit(self, table: pl.DataFrame, key: bytes) -> RecodedItems:
        """Return the plan: what is written for each item; see `TableMask`.

        Raises
        ------
        DataError
            If fewer than k rows have an item, no item could stay, or there are too many sets of m
            items to count.
        """
        self.written(table.schema)
        sets = ItemSets.of(table[self.column], self.separator)
        filled = int((sets.offsets[1:] > sets.offsets[:-1]).sum())
        if filled < self.k:
            raise DataError(
                f"Column {self.column!r} has {filled} rows with an item, and the mask "
                f"{self.name!r} needs at least k = {self.k}.",
                hint="Choose a smaller k, or release nothing.",
            )
        tree = self._tree()
        if tree is not None:
            tree.cover(pl.Series(self.column, sets.labels, dtype=pl.String))
        nodes = ItemNodes.of(sets.labels, tree)
        found = least_loss(sets, nodes, k=self.k, m=self.m, column=self.column)
        if found is None:
            raise DataError(
                f"No item of column {self.column!r} could stay, nor a node below the top of its "
                f"hierarchy: too few are in k = {self.k} rows.",
                hint="Choose a smaller k or m, give a hierarchy of the items, or drop the column.",
            )
        return RecodedItems(self, sets, nodes, found)

    def claims(self, columns: Sequence[str], read: ReadColumns) -> list[Claim]:
        """Return the claim of k^m-anonymity; see `ClaimingMask`."""
        sets = ItemSets.of(read(columns)[self.column], self.separator)
        evidence = {
            "items": len(sets.labels),
            "largest_set": int((sets.offsets[1:] - sets.offsets[:-1]).max(initial=0)),
        }
        return [
            counted_claim(
                self.name, columns, evidence=evidence, k=self.k, m=self.m, separator=self.separator
            )
        ]


class RecodedItems:
    """A plan that knows what is written for each item of a column."""

    def __init__(
        self, mask: KmAnonymity, sets: ItemSets, nodes: ItemNodes, found: ItemRecoding
    ) -> None:
        self._column, self._separator = mask.column, mask.separator
        written = [nodes.labels[it] if it >= 0 else None for it in found.written]
        self._labels = pl.Series(sets.labels, dtype=pl.String)
        self._written = pl.Series(written, dtype=pl.String)
        self.loss = found.loss
        self.suppressed_fraction = found.suppressed / len(sets.items)
        self.counts: Mapping[str, Mapping[str, int]] = MappingProxyType(
            {
                mask.column: {
                    "items": len(sets.items),
                    "suppressed": found.suppressed,
                    "generalized": found.generalized,
                    "% loss (NCP)": ceil(100 * found.loss),
                }
            }
        )

    def __repr__(self) -> str:
        return f"RecodedItems({len(self._labels)} items, loss {self.loss:.4f})"

    def apply(self, batch: pl.DataFrame, first_row: int) -> pl.DataFrame:
        """Return the released column; see `TableMaskPlan`."""
        lists = split_items(batch[self._column], self._separator).alias("item")
        rows = lists.to_frame().with_row_index("row")
        joined = (
            rows.filter(pl.col("item").list.len() > 0)
            .explode("item", empty_as_null=False)
            .with_columns(
                pl.col("item").replace_strict(
                    self._labels, self._written, default=None, return_dtype=pl.String
                )
            )
            .drop_nulls("item")
            .unique()
            .sort("row", "item")
            .group_by("row", maintain_order=True)
            .agg(pl.col("item").str.join(self._separator).alias("cell"))
        )
        cell = pl.when(pl.col("item").is_not_null()).then(pl.col("cell").fill_null(""))
        return rows.join(joined, on="row", how="left", maintain_order="left").select(
            cell.alias(self._column)
        )
