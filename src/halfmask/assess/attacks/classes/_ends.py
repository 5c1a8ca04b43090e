"""Ends of released ranges and sets: values of people of the class."""

from __future__ import annotations

import polars as pl

from halfmask.assess.attacks._reading import spelt
from halfmask.data import leaf_text

#: What a cell ends in whose class has missing values too.
OR_MISSING = " or missing"


def ends_of_texts(texts: pl.Series, population: pl.Series) -> pl.DataFrame:
    """Return for each text that is a range or a set its two ends, and how likely each is in it."""
    bare = pl.col("label").str.strip_suffix(OR_MISSING)
    parted = (
        texts.drop_nulls()
        .to_frame("label")
        .with_columns(inside=bare.str.extract(r"^(?:\[(.*)\]|\{.*\})$", 1))
        .with_columns(inside=pl.coalesce("inside", bare.str.extract(r"^\{(.*)\}$", 1)))
        .filter(pl.col("inside").str.contains(", ", literal=True))
        .select(
            "label",
            low=pl.col("inside").str.extract(r"^(.*?), ", 1),
            high=pl.col("inside").str.extract(r"^.*, (.*)$", 1),
        )
        # A long set is cut short: its last words are a count.
        .filter(~pl.col("high").str.contains(r"^\.\.\. \d+ in all$"))
    )
    # ``39.0`` is the leaf ``39``.
    parted = parted.with_columns(
        spelt(parted[end], population.dtype).alias(end) for end in ("low", "high")
    )
    values = population.drop_nulls().unique().sort()
    counted = leaf_text(population).alias("text").value_counts(name="n")
    known = leaf_text(values).to_frame("text").with_row_index("place")
    known = known.join(counted, on="text", how="left", maintain_order="left").with_columns(
        up_to=pl.col("n").cum_sum()
    )
    both = parted
    for end, suffix in (("low", ""), ("high", "_high")):
        both = both.join(
            known,
            left_on=end,
            right_on="text",
            how="left",
            suffix=suffix,
            maintain_order="left",
        )
    inside = pl.col("up_to_high").cast(pl.Int64) - pl.col("up_to") + pl.col("n")
    return pl.concat(
        both.select("label", child=end, prior=(pl.col(n) / inside).fill_null(0.0))
        for end, n in (("low", "n"), ("high", "n_high"))
    )
