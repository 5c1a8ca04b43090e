"""Downcoding: finer values from ends of ranges and nodes, since no cell is coarser than needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from halfmask.assess.attacks._arms import Certain, SuccessCount
from halfmask.assess.attacks._attack import DeclaredAttack, Found, Outcome
from halfmask.assess.attacks._reading import common_type, is_text, recast, spelt
from halfmask.assess.attacks._targets import TableTarget
from halfmask.assess.attacks.classes._disclosure import class_numbers
from halfmask.data import leaf_text

if TYPE_CHECKING:
    from collections.abc import Sequence

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
            known, left_on=end, right_on="text", how="left", suffix=suffix, maintain_order="left"
        )
    inside = pl.col("up_to_high").cast(pl.Int64) - pl.col("up_to") + pl.col("n")
    return pl.concat(
        both.select("label", child=end, prior=(pl.col(n) / inside).fill_null(0.0))
        for end, n in (("low", "n"), ("high", "n_high"))
    )


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


#: A node is restored in records where one child holds more than this share of those below it.
MOST = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Downcoding(DeclaredAttack, name="classes/downcoding", target=TableTarget):
    """Assume that cells are no coarser than needed, and restore the detail.

    The attacker has the release, the hierarchies, and the frequencies of values in the population,
    and no facts about a person. Two outcomes:

    ``cells restored``: both ends of a range or set are values of people of the class, and so are
    both children of a node with two. Each restores one cell with certainty. The reference is an
    attacker without this inference, who is right if a person has the value by chance.

    ``records restored`` (with hierarchies): if most people below a node are in one child, the
    attack attributes all such general cells to one person of the class, who is in the second
    likeliest child of each; all others are in the likeliest. The reference puts everyone into the
    likeliest children, or splits them by the population's shares, whichever restores more.

    Notes
    -----
    Cohen, "Attacks on deidentification's defenses" (USENIX Security 2022): every minimal
    hierarchical algorithm is open to this on clustered heteroskedastic data, where records of a
    cluster are close together and one in k is far off. There the attack restores whole classes.

    **What is measured.** Rows of a class are indistinguishable, so a restored value is right if a
    person of the class has it, counted as often as it occurs. A cell with one value isn't general
    and isn't counted, except for a person who is alone in the class: so raw rows are broken.
    Frequencies are taken from the control people, or else from the original rows.

    **Edge cases.** A release that isn't minimal (one level for a whole column) makes the attack
    wrong, and it is counted as wrong. ``or missing`` is left out of a label. Of a set that is cut
    short nothing is restored.
    """

    def missing_inputs(self, target: TableTarget) -> str:
        """Return what the target would have to have; empty if it has it all."""
        if not _columns(target):
            return "quasi-identifiers among the released columns"
        if target.missing_owners:
            return target.missing_owners
        return "" if any(each.cells()[0] for each in _restored(target)) else "general cells"

    def _measure(self, target: TableTarget, random_state: int) -> Found:  # noqa: ARG002 # no chance
        columns = _restored(target)
        counted = [each.cells() for each in columns]
        trials, right, by_chance = (sum(part) for part in zip(*counted, strict=True))
        cells = self._make_outcome(
            "cells restored",
            SuccessCount(int(right), int(trials)),
            Certain(by_chance / trials if trials else 0.0),
            details={"columns": float(len(columns))},
        )
        records = _records(columns, self.name)
        return (cells,) if records is None else (cells, records)


def _columns(target: TableTarget) -> list[str]:
    held = target.released.columns
    return [name for name in target.quasi_identifiers if name in held]


def _restored(target: TableTarget) -> list[Restored]:
    """Read each quasi-identifier of the release."""
    truth = target.original[target.owner_of_row]
    names = _columns(target)
    classes = class_numbers(target.released, names).to_frame()
    classes = classes.with_columns(size=pl.len().over("class"))
    control, hierarchies = target.control, target.hierarchies or {}
    return [
        restored_column(
            target.released[name],
            truth[name],
            control[name]
            if control is not None and name in control.columns and control.height
            else target.original[name],
            classes=classes,
            hierarchy=hierarchies.get(name),
        )
        for name in names
    ]


def _records(columns: Sequence[Restored], name: str) -> Outcome | None:
    """Return how many records are restored in all columns of hierarchies that are general."""
    if not any(each.nodes.height for each in columns):
        return None
    counted = _classes(columns)
    n, likely, off = pl.col("n"), pl.col("likely"), pl.col("off")
    by_likely = (n * pl.col("prior_likely")).round().cast(pl.Int64)
    by_off = pl.min_horizontal((n * pl.col("prior_off")).round().cast(pl.Int64), n - by_likely)
    totals = counted.select(
        n=n.sum(),
        one_off=(pl.min_horizontal(n - 1, likely) + pl.min_horizontal(1, off)).sum(),
        all_likely=likely.sum(),
        by_shares=(pl.min_horizontal(by_likely, likely) + pl.min_horizontal(by_off, off)).sum(),
    ).row(0, named=True)
    alone = _alone(columns)
    trials = int(totals["n"]) + alone.height
    if not trials:
        return None
    at_their_word = max(totals["all_likely"], totals["by_shares"]) + alone["frequent"].sum()
    return Outcome(
        attack=name,
        measure="records restored",
        success=SuccessCount(int(totals["one_off"] + alone["truth"].sum()), trials),
        control=Certain(at_their_word / trials),
        details={
            "classes": float(counted.height),
            "all_likely": totals["all_likely"] / trials,
            "by_shares": totals["by_shares"] / trials,
        },
    )


def _classes(columns: Sequence[Restored]) -> pl.DataFrame:
    """Return for each class how many are in the likeliest child of all its nodes, or the second."""
    always = pl.lit(value=True)
    rows = columns[0].rows.select("class", nodes=pl.lit(0), likely=always, off=always, p=1.0, q=1.0)
    for each in columns:
        if not each.nodes.height:
            continue
        nodes = each.nodes.filter(pl.col("prior").max().over("label") > MOST)
        places = nodes.select("label", "child", "place")
        priors = nodes.group_by("label").agg(
            first=pl.col("prior").max(), second=pl.col("prior").filter(pl.col("place") == 1).first()
        )
        cells = (
            each.rows.select("label", "child")
            .join(places, on=["label", "child"], how="left", maintain_order="left")
            .join(priors, on="label", how="left", maintain_order="left")
        )
        is_node = pl.col("first").is_not_null()
        rows = rows.hstack(cells.select("place", "first", "second")).select(
            "class",
            nodes=pl.col("nodes") + is_node.cast(pl.Int32),
            likely=pl.col("likely") & (~is_node | pl.col("place").eq_missing(0)),
            off=pl.col("off") & (~is_node | pl.col("place").eq_missing(1)),
            p=pl.col("p") * pl.col("first").fill_null(1.0),
            q=pl.col("q") * pl.col("second").fill_null(1.0),
        )
    return (
        rows.filter(pl.col("nodes") > 0)
        .group_by("class")
        .agg(
            n=pl.len().cast(pl.Int64),
            likely=pl.col("likely").sum().cast(pl.Int64),
            off=pl.col("off").sum().cast(pl.Int64),
            prior_likely=pl.col("p").first(),
            prior_off=pl.col("q").first(),
        )
    )


def _alone(columns: Sequence[Restored]) -> pl.DataFrame:
    """Return for each row alone in its class without general cells: whether it is its owner's.

    And whether it is the most frequent value in each column, the best guess without the release.
    """
    always = pl.lit(value=True)
    rows = columns[0].rows.select("size", raw=always, truth=always, frequent=always)
    for each in columns:
        value = pl.lit(each.most_frequent[0], dtype=pl.String)
        cells = each.rows.select(
            here=~pl.col("general"),
            right=pl.col("label").eq_missing(pl.col("truth")),
            guessed=pl.col("truth").eq_missing(value),
        )
        rows = rows.hstack(cells).select(
            "size",
            raw=pl.col("raw") & pl.col("here"),
            truth=pl.col("truth") & pl.col("right"),
            frequent=pl.col("frequent") & pl.col("guessed"),
        )
    return rows.filter((pl.col("size") == 1) & pl.col("raw"))
