"""What frequencies tell of split categories of Adult, with re-merging beside it, always."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import workloads
from halfmask.assess.attacks import EncodingTarget
from halfmask.assess.attacks.encodings import (
    FrequencyMatching,
    JointFrequencyMatching,
    ReMerge,
)
from halfmask.encode import Codec
from halfmask.vault import Secret

if TYPE_CHECKING:
    import polars as pl

ROWS, FEW = 20_000, 4_000
COLUMNS = (
    "education",
    "occupation",
    "workclass",
    "native-country",
    "marital-status",
    "relationship",
    "race",
    "sex",
)
SLACK = 0.02


def measure(*, quick: bool, seed: int) -> dict[str, Any]:
    """Attack Adult's categories, unsplit and split."""
    n_rows = FEW if quick else ROWS
    adult = workloads.adult()
    mine, others = adult[:n_rows], adult[n_rows : 2 * n_rows]
    found = {split: _attacked(mine, others, split=split, seed=seed) for split in (False, True)}
    lines, worst_rank, worst_merged, worst_joint = [], -1.0, -1.0, -1.0
    for name in COLUMNS:
        before, after = found[False], found[True]
        majority = after["rank"][f"most frequent of {name}"]
        rank, joint, merged = (
            after[way][f"named of {name}"] for way in ("rank", "joint", "merged")
        )
        worst_rank = max(worst_rank, rank - majority)
        worst_joint = max(worst_joint, joint - majority)
        worst_merged = max(worst_merged, merged - majority)
        agreed = [
            after["ari"][f"{way}, codes of {name}"] for way in ("context", "chains", "counts")
        ]
        lines.append(
            f"| {name} | {before['codes'][name]:.0f} → {after['codes'][name]:.0f} "
            f"| {before['rank'][f'named of {name}']:.3f} | {rank:.3f} | {majority:.3f} "
            f"| {joint:.3f} | {merged:.3f} | " + " | ".join(f"{each:.3f}" for each in agreed) + " |"
        )
    head = (
        "| column of Adult | codes | by frequency, unsplit | by frequency, split | always the most "
        "frequent | jointly, split | after merging | ARI context | ARI chains | ARI counts |\n"
        "|---|---|---|---|---|---|---|---|---|---|\n"
    )
    unsplit = max(
        found[False]["rank"][f"named of {n}"] - found[False]["rank"][f"most frequent of {n}"]
        for n in COLUMNS
    )
    return {
        "frequency attack on split categories, above guessing": _at_most(worst_rank, SLACK),
        "the same after re-merging, above guessing": _reported(worst_merged),
        "the same jointly with other columns, above guessing": _reported(worst_joint),
        "frequency attack without splitting, above guessing (power)": {
            "value": unsplit, "goal": ">= 0.3", "holds": unsplit >= 0.3,
        },
        "tables": head + "\n".join(lines),
    }  # fmt: skip


def _attacked(
    mine: pl.DataFrame, others: pl.DataFrame, *, split: bool, seed: int
) -> dict[str, dict[str, float]]:
    secret = Secret.from_bytes((seed + 1).to_bytes(32, "big"))
    codec = Codec(learner="trees", secret=secret, split=split).fit(mine, target="income")
    target = EncodingTarget.of_codec(codec, mine, population=others)
    merged = ReMerge().run(target, random_state=seed)
    return {
        "codes": {codes.name: float(len(codes.value_of)) for codes in codec.plan_.codes},
        "rank": dict(FrequencyMatching().run(target, random_state=seed)[0].details),
        "joint": dict(JointFrequencyMatching().run(target, random_state=seed)[0].details),
        "ari": dict(merged[0].details),
        "merged": dict(merged[1].details),
    }


def _at_most(value: float, goal: float) -> dict[str, Any]:
    return {"value": value, "goal": f"<= {goal}", "holds": value <= goal}


def _reported(value: float) -> dict[str, Any]:
    """Return what no bar bounds: it stands beside the one that does, whatever it is."""
    return {"value": value, "goal": "reported, never omitted", "holds": True}
