"""What a moved point is worth: people near it, homes found, hot spots kept, by mask; averaging.

    python benchmarks/quality/places.py           # half a minute
    python benchmarks/quality/places.py --quick   # a third of the patients

The patients of `examples/places` are moved by each mask under one key, and measured as the report
of a release does. Then 5,000 homes are moved by one donut 10 and 50 times: with keys of their own,
and with one key. Where the shared data are, two ladders of squares are compared, too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "places"))

import numpy as np  # after the path
import polars as pl
from make_town import main as make_town

import halfmask as hm
from bars import Bar, report, say
from halfmask.geo import Points
from halfmask.masks import TABLE_MASKS

KEY = bytes(range(32))
MASKS = {
    "donut, 100 to 500 m": 'name = "donut"\nradius = [100, 500]',
    "donut, 20 to 60 people": 'name = "donut"\nk = [20, 60]\naddresses = "addresses"',
    "donut, 100 to 300 people": 'name = "donut"\nk = [100, 300]\naddresses = "addresses"',
    "gaussian, sigma 100 m": 'name = "gaussian"\nsigma = 100',
    "planar-laplace, ln 4 at 200 m": 'name = "planar-laplace"\nepsilon = 1.386\nmetres = 200',
    "grid, 500 m": 'name = "grid"\nwidth = 500',
    "location-swap, 100 to 500 m": 'name = "location-swap"\nradius = [100, 500]\n'
    'addresses = "addresses"',
    "voronoi, of addresses": 'name = "voronoi"\naddresses = "addresses"',
    "affine, up to 2 km": 'name = "affine"\ncentre = [10.03, 50.02]\nrotation = 180\n'
    "scale = [0.8, 1.2]\nshift = 2000",
}
POLICY = """
halfmask = 1
[maps.addresses]
file = "addresses.csv"
points = ["longitude", "latitude"]
people = "people"
[columns]
longitude = { role = "insensitive", kind = "numeric" }
latitude = { role = "insensitive", kind = "numeric" }
[[masks]]
columns = ["longitude", "latitude"]
"""


def measure(folder: Path, patients: pl.DataFrame, mask: str) -> dict[str, float]:
    """Return what the report of a release says of one mask."""
    policy = hm.Policy.from_toml(POLICY + mask, folder=folder)
    (found,) = hm.protect(patients, policy, key=KEY).facts.places
    by = {it.outcome.attack: [] for it in found.findings}
    for each in found.findings:
        by[each.outcome.attack].append(each.outcome)
    snapping = by["places/snapping"]
    return {
        "moved": found.utility.median,
        "fewest": found.risks[0].least,
        "found": max(it.success.value for it in snapping),
        "guessed": max(it.reference.value for it in snapping),
        "spots": found.utility.hot_spots_kept or 0.0,
        "broken": max((it.success.value for it in by.get("places/affine-break", ())), default=0),
    }


def off_by(copies: int, *, one_key: bool) -> float:
    """Return the median error, in metres, of the mean of copies of 5,000 homes."""
    rng = np.random.default_rng(48)
    homes = pl.DataFrame(rng.uniform(0, 20_000, (5_000, 2)), schema=["x", "y"])
    mask = TABLE_MASKS["donut"](columns=("x", "y"), unit="metres", radius=(100.0, 500.0))
    moved = [
        mask.fit(homes, KEY if one_key else n.to_bytes(32)).apply(homes, 0).to_numpy()
        for n in range(copies)
    ]
    mean = np.mean(moved, axis=0)
    guessed = Points(x=mean[:, 0], y=mean[:, 1], unit="metres")
    true = Points(x=homes["x"].to_numpy(), y=homes["y"].to_numpy(), unit="metres")
    return float(np.median(guessed.metres_to(true)))


def detail_kept(rows: pl.DataFrame, widths: tuple[float, ...]) -> float:
    """Return the detail of the place that k = 10 keeps, with squares of these widths in km."""
    policy = hm.Policy.from_toml(hm.describe(rows).policy_toml())
    place = {**policy.columns["place"].model_dump(mode="json", exclude_defaults=True)}
    sections = {
        name: each.model_dump(mode="json", exclude_defaults=True)
        for name, each in policy.columns.items()
    }
    sections["place"] = {**place, "hierarchy": {"cells": list(widths)}}
    guarantees = [{"model": "k-anonymity", "k": 10}]
    found = hm.protect(rows, policy.changed(columns=sections, guarantees=guarantees), key=KEY)
    return float(found.utility.detail.columns["place"])


def ladders(folder: Path) -> None:
    """Say what doubled widths keep beside widths that grow tenfold; chosen by California alone."""
    rng = np.random.default_rng(48)
    blocks = pl.read_csv(folder / "california_housing.csv")
    codes = pl.read_csv(folder / "us_zipcodes.csv.gz").select("longitude", "latitude")
    codes = codes.filter(pl.col("latitude").is_not_null()).sample(20_000, seed=1)
    codes = codes.with_columns(
        age=rng.integers(18, 90, codes.height), sex=rng.choice(["f", "m"], codes.height)
    )
    doubled = tuple(2.0**n for n in range(10))
    for name, rows in (("California", blocks), ("ZIP codes, age, sex", codes)):
        for widths in ((1.0, 10.0, 100.0), doubled[:8], doubled):
            said = f"{widths[0]:g} to {widths[-1]:g} km, {len(widths)} levels"
            say(f"{name}, {said}: {detail_kept(rows, widths):.0%} of the place kept")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a third of the patients")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        make_town(folder)
        patients = pl.read_csv(folder / "patients.csv").select("longitude", "latitude")
        patients = patients.head(400) if quick else patients
        say(f"{patients.height:,} patients")
        found = {}
        for name, mask in MASKS.items():
            found[name] = it = measure(folder, patients, mask)
            say(
                f"{name}: {it['moved']:.0f} m, fewest {it['fewest']:.0f}, found {it['found']:.1%} "
                f"(guess {it['guessed']:.1%}), hot spots {it['spots']:.0%}, "
                f"affine break {it['broken']:.1%}"
            )
    shared = Path(__file__).resolve().parents[3] / "shared" / "data" / "geo"
    if shared.exists() and not quick:
        ladders(shared)
    apart = {n: off_by(n, one_key=False) for n in (1, 10, 50)}
    say("copies under keys of their own: " + ", ".join(f"{n}: {m:.0f} m" for n, m in apart.items()))
    kept = off_by(10, one_key=True)
    k = found["donut, 20 to 60 people"]["fewest"]
    report(
        [
            Bar(name="fewest people, donut to 20", value=k, goal=20, side="at least"),
            Bar(
                name="places found by the affine break",
                value=found["affine, up to 2 km"]["broken"],
                goal=0.95,
                side="at least",
                why="a control: the attack has power",
            ),
            Bar(
                name="error of ten copies, own keys, of that of one",
                value=apart[10] / apart[1],
                goal=0.4,
                side="at most",
                why="a control: averaging has power",
            ),
            Bar(
                name="error of ten copies, one key, of that of one",
                value=kept / off_by(1, one_key=True),
                goal=0.999,
                side="at least",
            ),
        ]
    )


if __name__ == "__main__":
    main()
