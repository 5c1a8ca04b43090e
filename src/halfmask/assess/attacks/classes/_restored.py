"""Restored: finer values of a released column, if the release is minimal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from halfmask.assess.attacks._reading import common_type, is_text, recast, spelt
from halfmask.assess.attacks.classes._ends import OR_MISSING, ends_of_texts
from halfmask.assess.attacks.classes._nodes import children_of_nodes, paths_to_children
from halfmask.data import leaf_text

if TYPE_CHECKING:
    from halfmask.data import Hierarchy


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """One released column, read by an attacker who assumes a minimal release."""

    rows: pl.DataFrame
    certain: pl.DataFrame
    nodes: pl.DataFrame
    most_frequent: tuple[str | None, float]

    def __repr__(self) -> str:
        return f"Restored({self.rows.height} rows)"

    @property
    def alone(self) -> pl.DataFrame:
        """The rows that are alone in their class with a value that isn't general."""
        return self.rows.filter((pl.col("size") == 1) & ~pl.col("general"))

    def cells(self) -> tuple[int, int, float]:
        """Return how many cells could be restored, how many are, and how many without minimality.

        Each certain value of a class restores one cell of the class. Without minimality the same
        value is right if a person of the class has it by chance. Cells of a person who is alone in
        the class are restored if they hold that person's value.
        """
        general = self.rows.filter(pl.col("general"))
        cells = general.select("class", "label", "size").unique(maintain_order=True)
        # The sum of probabilities below depends on the order.
        guesses = cells.join(self.certain, on="label", maintain_order="left_right")
        right = guesses.join(general.select("class", "child").unique(), on=["class", "child"])
        by_chance = guesses.select((1 - (1 - pl.col("prior")) ** pl.col("size")).sum()).item()
        theirs = self.alone.select(pl.col("label").eq_missing(pl.col("truth")).sum()).item()
        return (
            general.height + self.alone.height,
            right.height + int(theirs),
            float(by_chance) + self.alone.height * self.most_frequent[1],
        )


def restored_column(
    released: pl.Series,
    truth: pl.Series,
    population: pl.Series,
    *,
    classes: pl.DataFrame,
    hierarchy: Hierarchy | None,
) -> Restored:
    """Read a released column."""
    if not is_text(truth.dtype):  # texts stay as hierarchies spell them
        dtype = common_type(released.dtype, truth.dtype)
        truth, population = recast(truth, dtype), recast(population, dtype)
    if hierarchy is None:
        paths = pl.DataFrame(schema=dict.fromkeys(("label", "child", "leaf"), pl.String))
        labels = spelt(released, truth.dtype)
    else:
        paths = paths_to_children(hierarchy)
        written = leaf_text(released).str.strip_suffix(OR_MISSING)
        # A node that reads like a value, such as a day among moments, is the node.
        is_node = written.is_in(paths["label"].unique().implode()).fill_null(value=False)
        labels = written.zip_with(
            is_node, spelt(released, truth.dtype).str.strip_suffix(OR_MISSING)
        )
    nodes = children_of_nodes(paths, population)
    others = labels.unique(maintain_order=True)
    ends = ends_of_texts(
        others.filter(~others.is_in(nodes["label"].unique().implode())), population
    )
    only_two = pl.col("place").max().over("label") == 1
    certain = pl.concat([nodes.filter(only_two).select("label", "child", "prior"), ends])
    rows = (
        classes.with_columns(labels.alias("label"), leaf_text(truth).alias("truth"))
        .join(
            paths.rename({"child": "node"}),
            left_on=["label", "truth"],
            right_on=["label", "leaf"],
            how="left",
            maintain_order="left",
        )
        .with_columns(
            is_end=pl.col("label").is_in(ends["label"].unique().implode()).fill_null(value=False),
            is_node=pl.col("label").is_in(nodes["label"].unique().implode()).fill_null(value=False),
        )
        .select(
            "class",
            "size",
            "label",
            "truth",
            general=pl.col("is_end") | pl.col("is_node"),
            child=pl.when("is_end").then("truth").otherwise("node"),
        )
    )
    counted = leaf_text(population).alias("text").value_counts(name="n").sort("n", "text")
    frequent = (counted["text"][-1], counted["n"][-1] / population.len())
    return Restored(rows=rows, certain=certain, nodes=nodes, most_frequent=frequent)
