"""Places: moved until k addresses lie as near, counted, and Ripley's function, in seconds.

    python benchmarks/peers.py --only maskmypy   # 626 MB
    python benchmarks/speed/geo.py               # two minutes
    python benchmarks/speed/geo.py --quick       # a tenth of the points, no peer; under a minute

- A million homes are moved by a donut that reaches from the nearest 5 to the nearest 50 of a
  million addresses. k is counted for each and drawn again where it is too small.
- A donut of a fixed radius with k counted, compared with MaskMyPy's, for 10,000 points.
- 16 bearings of both donuts by chi-square. Ours must be uniform and MaskMyPy's must not be, else
  the test has no power.
- k as it is counted, compared with a count of all pairs, for 2,000 points.
- Ripley's function of 20,000 points at ten radii.

Towns are invented: their sizes follow Zipf's law.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

import numpy as np  # after the path
import polars as pl
from scipy.stats import chisquare

from bars import Bar, report, say, seconds_of
from halfmask.assess.utility._place_utility import ripley_l
from halfmask.geo import PointMap, Points
from halfmask.geo.nearest import Neighbours
from halfmask.masks.geo._donut import Donut
from peers import DEFAULT_INTO, python_of

KEY = bytes(range(32))
LOW, HIGH = 100.0, 500.0
#: Of metres: a country of 200 x 200 km.
COUNTRY = 200_000.0
#: Addresses for a square metre in the middle of a town.
DENSITY = 2_600 / 1e6
#: What MaskMyPy 1.1.0 drew of 10,000, where no venv of it is there (`rooms-to-build.md`).
PUBLISHED = [203, 586, 786, 920, 934, 820, 546, 179, 192, 554, 810, 941, 956, 826, 552, 195]


def addresses(n: int) -> PointMap:
    """Return the addresses of invented towns, in metres; each is as dense as a city."""
    rng = np.random.default_rng(48)
    towns = rng.uniform(0, COUNTRY, (n // 2_000, 2))
    weights = 1 / np.arange(1, len(towns) + 1)
    weights /= weights.sum()
    town = rng.choice(len(towns), n, p=weights)
    spread = np.sqrt(weights * n / (2 * np.pi * DENSITY))
    places = towns[town] + rng.normal(size=(n, 2)) * spread[town][:, None]
    return PointMap(points=in_metres(places), people=np.ones(n))


def in_metres(places: np.ndarray[Any, np.dtype[np.float64]]) -> Points:
    return Points(x=places[:, 0].copy(), y=places[:, 1].copy(), unit="metres")


def frame_of(points: Points) -> pl.DataFrame:
    return pl.DataFrame({"x": points.x, "y": points.y})


def moved(mask: Donut, homes: pl.DataFrame) -> Points:
    """Return where the mask puts homes."""
    found = mask.fit(homes, KEY).apply(homes, 0)
    return Points(x=found["x"].to_numpy(), y=found["y"].to_numpy(), unit="metres")


def fixed() -> Donut:
    return Donut(columns=("x", "y"), unit="metres", radius=(LOW, HIGH))


def to_k(n: int) -> Bar:
    """Return how long homes take that are moved among k addresses."""
    town = addresses(n)
    homes = frame_of(town.points)
    mask = Donut(
        columns=("x", "y"),
        unit="metres",
        k=(5, 50),
        addresses="dwellings",
        maps={"dwellings": town},
    )
    moved(mask, homes.head(1_000))  # kernels are compiled
    cpu = time.process_time()
    seconds, found = seconds_of(partial(moved, mask, homes), runs=1)
    cpu = time.process_time() - cpu
    counted = Neighbours(town).actual_k(town.points, found)
    said = f"{cpu:.1f} s of CPU; k from {counted.min():.0f}, median {np.median(counted):.0f}"
    if counted.min() < 5:
        raise SystemExit("a home was moved among fewer than 5 addresses")
    goal = 15.0 * n / 1_000_000
    name = f"{n:,} homes among {n:,} addresses, donut to k, s"
    return Bar(name=name, value=seconds, goal=goal, side="at most", why=said)


def theirs(homes: pl.DataFrame) -> dict[str, Any] | None:
    """Return seconds and bearings of MaskMyPy; None without its venv."""
    python = python_of("maskmypy", DEFAULT_INTO)
    if python is None:
        say("maskmypy: SKIPPED, no venv (run benchmarks/peers.py)")
        return None
    with tempfile.TemporaryDirectory() as folder:
        data, job = Path(folder) / "homes.csv", Path(folder) / "job.json"
        homes.write_csv(data)
        given = {"data": str(data), "low": LOW, "high": HIGH, "runs": 5, "seconds": 20.0}
        job.write_text(json.dumps(given), encoding="utf-8")
        done = subprocess.run(
            [python, "-W", "ignore", Path(__file__).with_name("peer_maskmypy.py"), job],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def rates(peer: dict[str, Any] | None) -> list[Bar]:
    """Return how many points a second are moved, alone and with k counted, of MaskMyPy's."""
    town = addresses(10_000)
    homes = frame_of(town.points)
    moved(fixed(), homes)
    seconds, found = seconds_of(partial(moved, fixed(), homes))
    counting, k = seconds_of(lambda: Neighbours(town).actual_k(town.points, found))
    ours = (seconds, seconds + counting)
    others = None if peer is None else (peer["seconds"], peer["seconds"] + peer["counting"])
    made = []
    for i, what in enumerate(("moved", f"moved and k counted (mean k {k.mean():.0f})")):
        said = f"ours {ours[i]:.3f} s" + ("" if others is None else f"; theirs {others[i]:.2f} s")
        made.append(
            Bar(
                name=f"10,000 points {what}, rate of MaskMyPy's, times",
                value=None if others is None else others[i] / ours[i],
                goal=100,
                side="at least",
                why=said,
            )
        )
    return made


def bearings(n: int, peer: dict[str, Any] | None) -> list[Bar]:
    """Return the chance of such bearings if they are uniform: ours and theirs."""
    town = addresses(n)
    found = moved(fixed(), frame_of(town.points))
    turn = np.arctan2(found.y - town.points.y, found.x - town.points.x) / (2 * np.pi)
    counts = np.bincount(np.round(turn * 16).astype(int) % 16, minlength=16)
    other = PUBLISHED if peer is None else peer["bearings"]
    return [
        Bar(
            name=f"16 bearings of {n:,} points, p of chi-square",
            value=float(chisquare(counts).pvalue),
            goal=1e-4,
            side="at least",
            why=f"{counts.min()} to {counts.max()}",
        ),
        Bar(
            name="16 bearings of MaskMyPy's 10,000, p of chi-square",
            value=float(chisquare(other).pvalue),
            goal=1e-9,
            side="at most",
            why=f"{min(other)} to {max(other)}" + ("" if peer else "; published"),
        ),
    ]


def counted(n: int) -> Bar:
    """Return how many of the counts of addresses differ from a count of all pairs."""
    town = addresses(20_000)
    homes = town.points.take(np.arange(n))
    masked = moved(fixed(), frame_of(homes))
    ours = Neighbours(town).actual_k(homes, in_metres(np.column_stack((masked.x, masked.y))))
    every = np.column_stack((town.points.x, town.points.y))
    wrong = 0
    for number in range(n):
        at = np.array((masked.x[number], masked.y[number]))
        reach = np.hypot(*(at - (homes.x[number], homes.y[number])))
        wrong += int((np.hypot(*(every - at).T) <= reach * (1 + 1e-12)).sum()) != ours[number]
    name = f"k of {n:,} points that differs from a count of all pairs"
    return Bar(name=name, value=float(wrong), goal=0, side="at most")


def ripley(n: int) -> Bar:
    """Return how long Ripley's function of points at random takes, at ten radii."""
    plane = np.random.default_rng(48).uniform(0, 10_000, (n, 2))
    radii = np.linspace(50, 500, 10)
    seconds, found = seconds_of(lambda: ripley_l(plane, radii, np.array((1e4, 1e4))))
    why = f"L(r) - r of points at random: {np.abs(found - radii).max():.1f} m at most"
    return Bar(
        name=f"Ripley's function of {n:,} points, s",
        value=seconds,
        goal=1.0,
        side="at most",
        why=why,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the points, no peer")
    quick = parser.parse_args().quick
    peer = None if quick else theirs(frame_of(addresses(10_000).points))
    report(
        [
            to_k(100_000 if quick else 1_000_000),
            *([] if quick else rates(peer)),
            *bearings(10_000, peer),
            counted(2_000),
            ripley(20_000),
        ]
    )


if __name__ == "__main__":
    main()
