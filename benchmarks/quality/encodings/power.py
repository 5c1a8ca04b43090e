"""Names resist a dictionary; identity and unkeyed encodings are broken by every attack."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import polars as pl

import workloads
from halfmask.assess.attacks import EncodingTarget, attack
from halfmask.assess.attacks.encodings import (
    ATTACKS,
    DateRecovery,
    FoldedCycle,
    NameDictionary,
    NullPatterns,
)
from halfmask.encode import Codec

ROWS, FEW = 8_000, 2_000
HOLES = 14


def measure(*, quick: bool, seed: int) -> dict[str, Any]:
    """Run every attack on what it must break."""
    n_rows = FEW if quick else ROWS
    adult = pl.read_csv(workloads.ADULT_CSV).drop("fnlwgt", "split", strict=False)
    mine, others = adult[:n_rows], adult[n_rows : 2 * n_rows]
    lines, whole = [], True
    for make in ATTACKS:
        shown = []
        for arm in ("identity", "unkeyed"):
            target = _target(make, arm, mine, others, seed)
            report = attack(
                target, unprotected=target.unprotected(), attacks=[make()], random_state=seed
            )
            shown.append(", ".join(sorted({finding.verdict for finding in report.findings})))
        whole = whole and shown == ["broken", "broken"]
        lines.append(f"| `{make.name}` | {shown[0]} | {shown[1]} |")
    keyed = Codec(learner="trees").fit(mine, target="income")
    target = EncodingTarget.of_codec(keyed, mine, population=others)
    names = NameDictionary(seeds=64).run(target, random_state=seed)[0].success.value
    return {
        "attacks that break identity and unkeyed encodings": {
            "value": sum("broken | broken" in each for each in lines),
            "goal": len(ATTACKS),
            "holds": whole,
        },
        "keyed names that a dictionary of the true names finds": {
            "value": names, "goal": 0, "holds": names == 0.0,
        },
        "tables": "| attack | as it is | unkeyed |\n|---|---|---|\n" + "\n".join(lines),
    }  # fmt: skip


def _target(
    make: type, arm: str, mine: pl.DataFrame, others: pl.DataFrame, seed: int
) -> EncodingTarget:
    periods: tuple[int, ...] = ()
    if make in {DateRecovery, FoldedCycle, NullPatterns}:
        rng = np.random.default_rng(seed)
        n = 2_800
        if make is DateRecovery:
            week = np.arange(n) % 7
            mine = pl.DataFrame({"sold": 10 * np.sin(week) + rng.normal(size=n)})
            periods = (7,)
        elif make is FoldedCycle:
            hour = np.arange(n) % 24
            mine = pl.DataFrame({"sold": 10 * rng.normal(size=24)[hour] + rng.normal(size=n)})
            periods = (24,)
        else:
            cells = {f"x{i}": rng.normal(size=n) for i in range(HOLES)}
            mine = pl.DataFrame(cells).select(
                pl.when(pl.Series(rng.random(n) < 0.7)).then(name).alias(name) for name in cells
            )
        others = mine
    sent = mine if arm == "identity" else _unkeyed(mine)
    return EncodingTarget(
        encoded=sent, original=mine, population=others, later=sent, periods=periods
    )


def _unkeyed(rows: pl.DataFrame) -> pl.DataFrame:
    """Names and categories by SHA-256, numbers by a scale: what people do who have no key."""
    columns = []
    for column in rows.iter_columns():
        if column.dtype == pl.String:
            coded = column.map_elements(_sha, return_dtype=pl.String)
        else:
            coded = column.cast(pl.Float64) * 3 + 1
        columns.append(coded.alias("c" + _sha(column.name)[:16]))
    return pl.DataFrame(columns)


def _sha(word: str) -> str:
    return hashlib.sha256(word.encode()).hexdigest()
