"""Masking techniques on real tables: who is linked still, and what is lost.

    python benchmarks/quality/masking.py            # all of it, some minutes
    python benchmarks/quality/masking.py --quick    # fewer techniques and rows; under a minute
    python benchmarks/quality/masking.py --only CASC

CASC and Tarragona are the numeric reference tables of the CASC project, Adult has categories too.
Each table is masked by each technique; `compare_techniques` measures. Three arms: the attack, the
control (links by the values of the most similar other person) and a guess. "permuted columns" keeps
no row of anybody: whatever is linked there is chance. Progress and tables go to stderr; the last
line of stdout is one JSON object of all bars. Tables and pictures are written to `--out`. The data
lie beside the project (`../shared/data`), and a bar that needs one says so where it doesn't.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

from bars import Bar, report, say
from halfmask.assess.masking import TechniqueComparison, compare_masked, compare_techniques
from halfmask.masks import (
    CorrelatedNoise,
    DataShuffling,
    Microaggregation,
    Pram,
    RandomNoise,
    RankSwapping,
    Rounding,
    TailCoding,
)

HERE = Path(__file__).resolve()
OUT = HERE.parents[2] / "build" / "masking"
DATA = HERE.parents[3] / "shared" / "data"
KEY = bytes(range(32))
PERMUTED = "permuted columns"
#: Shares of a standard deviation, each twice the one before.
NOISE = (0.1, 0.2, 0.4)
ADULT_ROWS = 10_000
#: What an attacker knows of people in Adult, besides categories.
ADULT_NUMBERS = ("age", "fnlwgt", "education-num", "hours-per-week")
ADULT_CATEGORIES = ("workclass", "education", "marital-status", "occupation", "race", "sex")
SHOWN = (
    *("technique", "method", "linked", "linked_low", "linked_high", "linked_control"),
    *("linked_guess", "linkage_verdict", "interval", "interval_control", "interval_guess"),
    *("unique", "il1s", "correlation", "pmse_ratio_logistic", "pmse_ratio_cart", "overlap"),
)


def numeric_table(name: str) -> Callable[[bool], pl.DataFrame]:
    """Return what reads a table of numbers."""
    return lambda _quick: pl.read_csv(DATA / "sdc" / name).cast(pl.Float64)


def adult(quick: bool) -> pl.DataFrame:  # noqa: FBT001 # of the registry
    """Return some rows of Adult; its question marks are missing cells."""
    table = pl.read_csv(DATA / "adult.csv", null_values="?")
    some = table.sample(2_000 if quick else ADULT_ROWS, seed=1)
    return some.select(*ADULT_NUMBERS, *ADULT_CATEGORIES, "income").with_columns(
        pl.col(ADULT_NUMBERS).cast(pl.Float64)
    )


TABLES: dict[str, Callable[[bool], pl.DataFrame]] = {
    "CASC": numeric_table("CASCrefmicrodata.csv"),
    "Tarragona": numeric_table("Tarragona.csv"),
    "Adult": adult,
}


def noise_name(size: float) -> str:
    return f"noise {size:.0%}"


def techniques(table: pl.DataFrame, *, quick: bool) -> dict[str, Any]:
    """Return the masks of each technique."""
    numbers = tuple(name for name, dtype in table.schema.items() if dtype.is_numeric())
    words = tuple(name for name in table.columns if name not in (*numbers, "income"))
    deviations = {name: float(np.nanstd(table[name].to_numpy())) for name in numbers}

    def noise(size: float) -> dict[str, RandomNoise]:
        return {
            name: RandomNoise(law="gaussian", scale=size * each, decimals=2)
            for name, each in deviations.items()
        }

    pram = {name: Pram(keep=0.8) for name in words}
    chosen: dict[str, Any] = {noise_name(size): noise(size) for size in NOISE}
    chosen["rank swapping 20%"] = [RankSwapping(columns=numbers, max_rank_distance=0.2)]
    chosen["microaggregation k=10"] = [Microaggregation(columns=numbers, k=10)]
    if words:
        chosen["noise 20% and PRAM"] = {**noise(0.2), **pram}
    if quick:
        return chosen
    return {
        "rounding to half a deviation": {
            name: Rounding(base=max(1, round(d / 2))) for name, d in deviations.items()
        },
        "tails of 10%": {name: TailCoding(low_share=0.05, high_share=0.05) for name in numbers},
        **chosen,
        "rank swapping 5%": [RankSwapping(columns=numbers, max_rank_distance=0.05)],
        "correlated noise 20%": [
            CorrelatedNoise(columns=numbers, variance_ratio=0.2**2, decimals=2)
        ],
        "data shuffling": [DataShuffling(columns=numbers)],
        "microaggregation k=3": [Microaggregation(columns=numbers, k=3)],
        **({"PRAM": pram} if words else {}),
    }


def compared(name: str, *, quick: bool) -> TechniqueComparison:
    """Return the techniques on one table, the permuted one included."""
    table = TABLES[name](quick)
    keys = {"key_columns": ADULT_NUMBERS, "target": "income"} if name == "Adult" else {}
    most = {"linked_people": 300 if quick else 1_000, **keys}
    found = compare_techniques(
        table,
        techniques(table, quick=quick),
        key=KEY,
        progress=lambda what, done: say(f"  {done:4.0%} {what}"),
        **most,
    )
    rng = np.random.default_rng(0)
    permuted = table.select(
        pl.col(each).shuffle(int(rng.integers(2**31))) for each in table.columns
    )
    last = compare_masked(table, permuted, **most)
    return TechniqueComparison(assessments={**found.assessments, PERMUTED: last})


def bars_of(name: str, found: TechniqueComparison) -> list[Bar]:
    """Return the bars of one table."""
    rows = {row["technique"]: row for row in found.to_frame().to_dicts()}
    raw, permuted = rows["unmasked"], rows[PERMUTED]
    noisy = [rows[noise_name(size)] for size in NOISE]

    def least_fall(what: str) -> float:
        return min(one[what] - two[what] for one, two in pairwise(noisy))

    lost = noisy[0]["overlap"] - noisy[2]["overlap"]
    valid = [each.verdict != "INVALID" for each in found.assessments["unmasked"].linkage.findings]
    measured: list[tuple[str, float, float, str]] = [
        ("linkage attacks that succeed on unmasked rows, share", np.mean(valid), 1, "at least"),
        ("linked unmasked, lower bound", raw["linked_low"], 0.5, "at least"),
        ("linked with permuted columns", permuted["linked"], 0.03, "at most"),
        ("fall of links as noise doubles", least_fall("linked"), 0.02, "at least"),
        ("fall of interval disclosure as noise doubles", least_fall("interval"), 0.05, "at least"),
        ("fall of interval overlap from noise 10% to 40%", lost, 0.03, "at least"),
        ("IL1s of noise 20% over noise 10%", noisy[1]["il1s"] / noisy[0]["il1s"], 1.9, "at least"),
        *(
            (f"linked with {name}", rows[name]["linked"], 1 / k, "at most")
            for k, name in ((k, f"microaggregation k={k}") for k in (3, 10))
            if name in rows
        ),
        ("IL1s unmasked", raw["il1s"], 0, "at most"),
        ("pMSE ratio unmasked", raw["pmse_ratio_logistic"], 1e-6, "at most"),
        ("interval overlap unmasked", raw["overlap"], 1, "at least"),
    ]
    return [
        Bar(name=f"{name}: {what}", value=float(value), goal=goal, side=side)  # type: ignore[arg-type]
        for what, value, goal, side in measured
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under a minute")
    parser.add_argument("--only", nargs="*", default=[], choices=list(TABLES), help="tables")
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    bars: list[Bar] = []
    for name in arguments.only or TABLES:
        if not DATA.exists():
            why = "shared/data isn't there"
            bars.append(Bar(name=name, value=None, goal=0, side="at least", why=why))
            continue
        started = time.perf_counter()
        found = compared(name, quick=arguments.quick)
        frame = found.to_frame().select(SHOWN)
        with pl.Config(tbl_cols=-1, tbl_rows=-1, tbl_width_chars=260, float_precision=3):
            say(f"{name}, {time.perf_counter() - started:.1f} s\n{frame}")
        frame.write_csv(arguments.out / f"{name}.csv")
        (arguments.out / f"{name}.svg").write_text(found.to_svg(), encoding="utf-8")
        bars += bars_of(name, found)
    said = {bar.name: bar.as_json() for bar in bars}
    (arguments.out / "bars.json").write_text(json.dumps(said, indent=1), encoding="utf-8")
    report(bars)


if __name__ == "__main__":
    main()
