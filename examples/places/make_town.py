"""Make the files of this example: a town that doesn't exist, its patients and their trips."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl

LON, LAT = 10.0, 50.0
#: Degrees for a metre.
EAST, NORTH = 1 / (111_320 * np.cos(np.radians(LAT))), 1 / 111_320
#: The town has so many districts of a kilometre in a row.
SIDE = 4


def main(folder: Path) -> None:
    """Write addresses, districts, patients, cases of cholera, and trips.

    Parameters
    ----------
    folder
        Where the files go; made if it isn't there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(1854)
    houses = make_houses(rng)
    people = rng.poisson(2.2, len(houses)) + 1
    addresses = as_degrees(houses).with_columns(people=people)
    addresses.write_csv(folder / "addresses.csv")
    (folder / "districts.geojson").write_text(json.dumps(make_districts(houses, people)))
    patients = make_patients(rng, houses)
    patients.write_csv(folder / "patients.csv")
    cases = patients.filter(pl.col("illness") == "cholera")
    cases.select("patient", "longitude", "latitude").write_csv(folder / "cases.csv")
    make_trips(rng, houses).write_csv(folder / "trips.csv")


def make_houses(rng: np.random.Generator) -> np.ndarray:
    """Return houses along streets, in metres from a corner; there are more in the middle."""
    size = 1_000 * SIDE
    streets = np.sort(rng.normal(size / 2, size / 5, 90).clip(50, size - 50))
    houses = []
    for number, street in enumerate(streets):
        along = rng.normal(size / 2, size / 5, 50).clip(5, size - 5)
        house = np.column_stack((along, np.full(50, street) + rng.choice([-12, 12], 50)))
        houses.append(house if number % 2 else house[:, ::-1])
    return np.concatenate(houses)


def as_degrees(metres: np.ndarray) -> pl.DataFrame:
    """Return longitude and latitude, to about 10 cm."""
    lon, lat = LON + metres[:, 0] * EAST, LAT + metres[:, 1] * NORTH
    return pl.DataFrame({"longitude": lon.round(6), "latitude": lat.round(6)})


def make_districts(houses: np.ndarray, people: np.ndarray) -> dict[str, object]:
    """Return square districts with their part of the town and their people, as GeoJSON."""
    features = []
    for row in range(SIDE):
        for column in range(SIDE):
            low = np.array([column, row]) * 1_000
            corners = low + np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]) * 1_000
            inside = ((houses >= low) & (houses < low + 1_000)).all(axis=1)
            properties = {
                "name": f"district {row}{column}",
                "part": "north" if row >= SIDE / 2 else "south",
                "people": int(people[inside].sum()),
            }
            outline = [as_degrees(corners).rows()]
            geometry = {"type": "Polygon", "coordinates": outline}
            features.append({"type": "Feature", "properties": properties, "geometry": geometry})
    return {"type": "FeatureCollection", "features": features}


def make_patients(rng: np.random.Generator, houses: np.ndarray) -> pl.DataFrame:
    """Return patients; many of those with cholera live near one pump, as in London in 1854."""
    pump = np.array([2_300.0, 1_900.0])
    far = np.linalg.norm(houses - pump, axis=1)
    near = np.exp(-far / 250)
    ill = rng.choice(len(houses), 300, p=near / near.sum())
    home = np.concatenate((ill, rng.choice(len(houses), 900)))
    n = len(home)
    return as_degrees(houses[home]).with_columns(
        patient=pl.Series([f"p{number:04d}" for number in range(n)]),
        age=rng.integers(1, 91, n),
        sex=rng.choice(["f", "m"], n),
        illness=pl.Series(["cholera"] * 300 + rng.choice(["flu", "fracture"], 900).tolist()),
    )


def make_trips(rng: np.random.Generator, houses: np.ndarray) -> pl.DataFrame:
    """Return points of 60 people on five days: at home, at work, at a third place, and between."""
    rows = []
    for person in range(60):
        home, work, other = houses[rng.choice(len(houses), 3, replace=False)]
        for day in range(5):
            stops = (
                (7, home), (8, work), (10, work), (11, work), (17, work), (18, other),
                (19, other), (20, home), (22, home), (23, home),
            )  # fmt: skip
            for trip, ((start, a), (end, b)) in enumerate(
                zip(stops[::2], stops[1::2], strict=True)
            ):
                for step in range(13):
                    where = a + (b - a) * step / 12 + rng.normal(0, 5, 2)
                    minute = int((start + (end - start) * step / 12) * 60)
                    time = f"2026-03-{2 + day:02d} {minute // 60:02d}:{minute % 60:02d}:00"
                    rows.append((f"u{person:02d}", f"{day}-{trip}", time, *where))
    trips = pl.DataFrame(rows, schema=["person", "trip", "time", "x", "y"], orient="row")
    return pl.concat(
        [trips.drop("x", "y"), as_degrees(trips.select("x", "y").to_numpy())], how="horizontal"
    )


if __name__ == "__main__":
    main(Path("out/places"))
