"""Synthetic rows beside SDV's Gaussian copula and CTGAN, and python-synthpop's CART.

    python benchmarks/peers.py --only sdv synthpop  # once: 1 GB, torch for processors alone
    python benchmarks/quality/synthetic.py          # CTGAN takes an hour or more at the first run
    python benchmarks/quality/synthetic.py --tables adult --seeds 1
    python benchmarks/quality/synthetic.py --quick  # ours alone, under a minute

Adult, diabetes (130 hospitals) and Lending Club are parted in halves: every synthesizer learns from
one and draws as many rows; the other is held back. All with their default settings. Seed 0 is for
choosing settings, the bars are of other seeds. Peers' rows are kept in `build/synthetic`, so that a
second run only measures. SDV's licence allows no use in production: it is a rival here and no
dependency. Two arms stand beside them: the learnt rows themselves, on which the membership
attack must succeed, and the held-back rows, as good as synthetic rows can be.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from statistics import mean
from typing import Any

import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

from synthetic_measures import Measured, measured
from synthetic_tables import REPOSITORY, TABLES, Halves, halves

import halfmask as hm
from bars import Bar, report, say
from peers import DEFAULT_INTO, python_of

BUILD = REPOSITORY / "build" / "synthetic"
#: The venv of each peer.
VENVS = {"copula": "sdv", "ctgan": "sdv", "cart": "synthpop"}
NAMES = {
    "ours": "halfmask",
    "copula": "SDV Gaussian copula",
    "ctgan": "SDV CTGAN",
    "cart": "python-synthpop CART",
    "learnt rows": "learnt rows",
    "held-back rows": "held-back rows",
}
#: SDV's default is 300 epochs. Wider tables get fewer, or CTGAN would take half a day.
EPOCHS = {"adult": 300, "loans": 150, "diabetes": 60}
DEFAULT_EPOCHS = 300
#: No further epoch begins after so many minutes.
MINUTES = 240
#: CTGAN's first seed only; one takes an hour on a busy machine.
CTGAN_SEEDS = 1
QUICK_ROWS = 4_000
#: Two AUCs of the membership attack closer than this are the same: twice the standard error.
AUC_NOISE = 0.01


def rows_of(who: str, table: Halves, *, seed: int, into: Path) -> pl.DataFrame | None:
    """Return the synthetic rows of one synthesizer; ``None``, with the reason said, if none."""
    if who == "ours":
        started = time.perf_counter()
        drawn = hm.Synthesizer(random_state=seed).fit(table.learnt).sample(table.learnt.height)
        say(f"{table.name} {seed} ours: {time.perf_counter() - started:.1f} s")
        return drawn  # type: ignore[no-any-return] # of the kind that was given
    if who.endswith("rows"):
        return table.learnt if who == "learnt rows" else table.held_back
    folder = BUILD / f"{table.name}-{seed}"
    out = folder / f"{who}.csv"
    if not out.exists():
        folder.mkdir(parents=True, exist_ok=True)
        if (
            peer_run(who, table.learnt, out, seed=seed, epochs=EPOCHS[table.name], into=into)
            is None
        ):
            return None
    texts = {name: pl.String for name, dtype in table.learnt.schema.items() if dtype == pl.String}
    return pl.read_csv(out, schema_overrides=texts, infer_schema_length=None).select(
        table.learnt.columns
    )


def peer_run(
    who: str, rows: pl.DataFrame, out: Path, *, seed: int, epochs: int, into: Path
) -> dict[str, float] | None:
    """Let a peer learn and draw; return its seconds, or ``None`` with the reason said."""
    python = python_of(VENVS[who], into)
    if python is None:
        say(f"{NAMES[who]}: SKIPPED, no venv (run benchmarks/peers.py --only {VENVS[who]})")
        return None
    rows.write_csv(out.with_name("learnt.csv"))
    part = out.with_suffix(".part")
    job = {
        "rows": str(out.with_name("learnt.csv")),
        "synthesizer": who,
        "epochs": epochs,
        "n": rows.height,
        "out": str(part),
        "seed": seed,
        "minutes": MINUTES,
        "categories": [name for name, dtype in rows.schema.items() if dtype == pl.String],
    }
    file = out.with_suffix(".json")
    file.write_text(json.dumps(job), encoding="utf-8")
    script = Path(__file__).with_name(f"peer_{VENVS[who]}.py")
    say(f"{out.parent.name} {NAMES[who]}: learning ...")
    done = subprocess.run(
        [python, "-W", "ignore", script, file],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    if done.returncode != 0:
        say(f"{NAMES[who]}: FAILED: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
        return None
    part.rename(out)
    said: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    say(f"{out.parent.name} {NAMES[who]}: {said['fit']:.1f} s and {said['sample']:.1f} s")
    return said


def compared(
    name: str, *, seeds: list[int], whose: list[str], rows: int | None, into: Path
) -> dict[str, dict[int, Measured]]:
    """Return what was measured of each synthesizer, by seed."""
    found: dict[str, dict[int, Measured]] = {who: {} for who in whose}
    for place, seed in enumerate(seeds):
        table = halves(name, seed, rows=rows)
        for who in whose:
            if who == "ctgan" and place >= CTGAN_SEEDS:
                continue
            drawn = rows_of(who, table, seed=seed, into=into)
            if drawn is None:
                continue
            known = who != "held-back rows"
            found[who][seed] = measured(table, drawn, seed=seed, are_learnt=known)
            shown = {what: float(f"{it:.4f}") for what, it in asdict(found[who][seed]).items()}
            say(f"{name} {seed} {NAMES[who]}: {shown}")
    return found


def quality_bars(name: str, found: dict[str, dict[int, Measured]]) -> list[Bar]:
    """Return the bars of one table. A peer is compared on the seeds that it has."""
    peers = [who for who in VENVS if found.get(who)]
    why = "" if peers else "no peer was measured"
    bars: list[Bar] = []

    def means(who: str, what: str, seeds: list[int]) -> float:
        return mean(getattr(found[who][seed], what) for seed in seeds)

    def lost(who: str, seeds: list[int]) -> float:
        return means("learnt rows", "auc", seeds) - means(who, "auc", seeds)

    seeds = {who: list(found[who]) for who in peers}
    shares = {who: lost("ours", seeds[who]) / max(lost(who, seeds[who]), 1e-4) for who in peers}
    best = min(peers, key=lambda who: lost(who, seeds[who]), default=None)
    more = None
    if best is not None:
        mine, theirs = (means(who, "membership", seeds[best]) for who in ("ours", best))
        more = mine - theirs
        why = f"the best peer is {NAMES[best]}; it loses {lost(best, seeds[best]):.4f}"
    bars += [
        Bar(name=f"{name}: AUC lost over the best peer's loss", goal=0.5, side="at most",
            value=max(shares.values(), default=None), why=why),
        Bar(name=f"{name}: membership AUC above that peer's", goal=AUC_NOISE, side="at most",
            value=more),
    ]  # fmt: skip
    for what, words in (
        ("logistic", "pMSE ratio (logistic)"),
        ("cart", "pMSE ratio (tree)"),
        ("marginals", "3-way marginals"),
    ):
        worst = [means("ours", what, seeds[who]) / means(who, what, seeds[who]) for who in peers]
        bars.append(
            Bar(name=f"{name}: {words} over the best peer's", value=max(worst, default=None),
                goal=1.0, side="at most", why="" if peers else why)
        )  # fmt: skip
    raw = [each.membership for each in found["learnt rows"].values()]
    bars.append(
        Bar(name=f"{name}: membership AUC on the learnt rows (power)", value=min(raw), goal=0.9,
            side="at least")
    )  # fmt: skip
    return bars


def speed_bar(into: Path) -> Bar:
    """Time all rows of Adult, ours and CTGAN's first epochs, in seconds of processors.

    Both run on one thread or little more, so that other processes of the machine don't matter.
    """
    table = TABLES["adult"]()[0]
    times = []
    for seed in range(3):
        started = time.process_time()
        hm.Synthesizer(random_state=seed).fit(table).sample(table.height)
        times.append(time.process_time() - started)
    ours = sorted(times)[1]
    folder = BUILD / "adult-all"
    folder.mkdir(parents=True, exist_ok=True)
    runs = {
        epochs: peer_run(
            "ctgan", table, folder / f"ctgan-{epochs}.csv", seed=0, epochs=epochs, into=into
        )
        for epochs in (1, 3)
    }
    name = "times faster than CTGAN, all rows of Adult"
    first, third = runs[1], runs[3]
    if first is None or third is None:
        why = f"CTGAN wasn't measured; ours {ours:.1f} s"
        return Bar(name=name, value=None, goal=10, side="at least", why=why)
    epoch = (third["processor"] - first["processor"]) / 2
    theirs = first["processor"] + (DEFAULT_EPOCHS - 1) * epoch
    why = (
        f"ours {ours:.1f} s; CTGAN {epoch:.1f} s an epoch, extrapolated from 1 and 3 epochs to its "
        f"default of {DEFAULT_EPOCHS}: {theirs:.0f} s"
    )
    return Bar(name=name, value=theirs / ours, goal=10, side="at least", why=why)


def growth_bar() -> Bar:
    """Time 100,000 and 1,000,000 rows drawn from a model of Adult, in seconds of processors."""
    table = TABLES["adult"]()[0]
    many = hm.Synthesizer(random_state=0).fit(table).sample(1_000_000)
    taken = {}
    for size in (100_000, 1_000_000):
        started = time.process_time()
        hm.Synthesizer(random_state=0).fit(many[:size]).sample(size)
        taken[size] = time.process_time() - started
        say(f"{size:,} rows: {taken[size]:.1f} s")
    ratio = taken[1_000_000] / taken[100_000] / 10
    why = f"{taken[100_000]:.1f} s and {taken[1_000_000]:.1f} s"
    return Bar(
        name="time a row at 1,000,000 over that at 100,000", value=ratio, goal=1.3,
        side="at most", why=why,
    )  # fmt: skip


def quick_bars(name: str, found: dict[str, dict[int, Measured]]) -> list[Bar]:
    """Return bars that need no peer: ours beside held-back rows."""
    ours, raw, fresh = (next(iter(found[who].values())) for who in found)
    return [
        Bar(name=f"{name}: AUC lost", value=raw.auc - ours.auc, goal=0.04, side="at most"),
        Bar(name=f"{name}: membership AUC", value=ours.membership, goal=0.6, side="at most"),
        Bar(name=f"{name}: membership AUC on the learnt rows (power)", value=raw.membership,
            goal=0.9, side="at least"),
        Bar(name=f"{name}: 3-way marginals over those of held-back rows",
            value=ours.marginals / fresh.marginals, goal=1.5, side="at most"),
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="no peers, under a minute")
    parser.add_argument("--tables", nargs="*", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--seeds", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--peers", nargs="*", default=list(VENVS), choices=list(VENVS))
    parser.add_argument("--only", choices=["quality", "speed", "growth"], help="some of the bars")
    parser.add_argument("--into", type=Path, default=DEFAULT_INTO, help="the peers' venvs")
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    bars: list[Bar] = []
    if arguments.quick:
        whose = ["ours", "learnt rows", "held-back rows"]
        found = compared("adult", seeds=[1], whose=whose, rows=QUICK_ROWS, into=arguments.into)
        report(quick_bars("adult", found))
        return
    results: dict[str, Any] = {}
    only = arguments.only
    for name in arguments.tables if only in (None, "quality") else ():
        found = compared(
            name,
            seeds=arguments.seeds,
            whose=["ours", *arguments.peers, "learnt rows", "held-back rows"],
            rows=None,
            into=arguments.into,
        )
        results[name] = {
            who: {seed: asdict(each) for seed, each in by_seed.items()}
            for who, by_seed in found.items()
        }
        bars += quality_bars(name, found)
    if only in (None, "speed"):
        bars.append(speed_bar(arguments.into))
    if only in (None, "growth"):
        bars.append(growth_bar())
    BUILD.mkdir(parents=True, exist_ok=True)
    if results:
        (BUILD / "results.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
    report(bars)


if __name__ == "__main__":
    main()
