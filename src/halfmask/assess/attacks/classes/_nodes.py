"""Nodes of hierarchies that stand in a release, and what lies right below them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from halfmask.data import leaf_text

if TYPE_CHECKING:
    from halfmask.data import Hierarchy

#: The weight of a leaf without people, so that no child is excluded by chance.
UNSEEN = 1e-6


def paths_to_children(hierarchy: Hierarchy) -> pl.DataFrame:
    """Return for each label that parts into several, and each leaf below it: the child it is in.

    A label that stands at several levels is its lowest node that parts: no release that writes the
    lowest node there is can mean another.
    """
    levels = hierarchy.levels
    parts = [
        pl.DataFrame(
            {
                "level": pl.repeat(level, levels.height, dtype=pl.Int64, eager=True),
                "label": levels.to_series(level),
                "child": levels.to_series(level - 1),
                "leaf": levels.to_series(0),
            }
        )
        for level in range(1, levels.width)
    ]
    if not parts:
        return pl.DataFrame(schema=dict.fromkeys(("label", "child", "leaf"), pl.String))
    several = pl.col("child").n_unique().over("level", "label") > 1
    lowest = pl.col("level") == pl.col("level").min().over("label")
    return pl.concat(parts).filter(several).filter(lowest).select("label", "child", "leaf")


def children_of_nodes(paths: pl.DataFrame, population: pl.Series) -> pl.DataFrame:
    """Return for each label and child: how likely it is among those below the label, and its place.

    Places count from 0, the likeliest first.
    """
    counted = leaf_text(population).alias("leaf").drop_nulls().value_counts(name="n")
    return (
        paths.join(counted, on="leaf", how="left", maintain_order="left")
        .group_by("label", "child", maintain_order=True)
        .agg(weight=pl.col("n").fill_null(0).sum() + UNSEEN * pl.len())
        .with_columns(prior=pl.col("weight") / pl.col("weight").sum().over("label"))
        .sort("label", "prior", "child", descending=[False, True, False])
        .with_columns(place=pl.int_range(pl.len()).over("label"))
        .select("label", "child", "prior", "place")
    )
