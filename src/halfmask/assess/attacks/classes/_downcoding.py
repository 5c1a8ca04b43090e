"""Downcoding: finer values out of the fact that a release is no coarser than it had to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from halfmask.assess.attacks._arms import Certain, SuccessCount
from halfmask.assess.attacks._outcome import Outcome
from halfmask.assess.attacks._targets import TableTarget
from halfmask.assess.attacks.classes._people import class_numbers
from halfmask.assess.attacks.classes._restored import Restored, restored_column

if TYPE_CHECKING:
    from collections.abc import Sequence

#: A node is restored in records where one child holds more than this share of those below it.
MOST = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Downcoding:
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

    name: ClassVar[str] = "classes/downcoding"
    attacks: ClassVar[type] = TableTarget

    def missing_inputs(self, target: TableTarget) -> str:
        """Return what the target would have to have; empty if it has it all."""
        if not _columns(target):
            return "quasi-identifiers among the released columns"
        if target.missing_owners:
            return target.missing_owners
        return "" if any(each.cells()[0] for each in _restored(target)) else "general cells"

    def run(self, target: TableTarget, *, random_state: int) -> tuple[Outcome, ...]:  # noqa: ARG002 # no chance
        """Count the cells and, with hierarchies, the records that are restored."""
        columns = _restored(target)
        counted = [each.cells() for each in columns]
        trials, right, by_chance = (sum(part) for part in zip(*counted, strict=True))
        cells = Outcome(
            attack=self.name,
            measure="cells restored",
            success=SuccessCount(int(right), int(trials)),
            control=Certain(by_chance / trials if trials else 0.0),
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
            first=pl.col("prior").max(),
            second=pl.col("prior").filter(pl.col("place") == 1).first(),
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
