"""MaskMyPy: moves points by a donut and counts k; `data` has x and y in metres, `low` and `high`.

Each point is an address, too. It prints the seconds of both, the mean k, and how often each of 16
directions was drawn, the east being the middle of the first.
"""

from __future__ import annotations

import json
import time

import geopandas as gpd
import maskmypy
import numpy as np
import pandas as pd
from peer_runner import read_job, time_runs


def main() -> None:
    job = read_job()
    table = pd.read_csv(job["data"])
    points = gpd.GeoDataFrame(geometry=gpd.points_from_xy(table.x, table.y), crs="EPSG:28992")
    seconds, moved = time_runs(
        job, points.copy, lambda given: maskmypy.donut(given, low=job["low"], high=job["high"])
    )
    start = time.perf_counter()
    counted = maskmypy.analysis.k_anonymity(points, moved, points)
    counting = time.perf_counter() - start
    east = moved.geometry.x.to_numpy() - table.x.to_numpy()
    north = moved.geometry.y.to_numpy() - table.y.to_numpy()
    turn = np.arctan2(north, east) / (2 * np.pi)
    counts = np.bincount(np.round(turn * 16).astype(int) % 16, minlength=16)
    line = {
        "seconds": sorted(seconds)[len(seconds) // 2],
        "counting": counting,
        "k": float(counted["k_anonymity"].mean()),
        "bearings": counts.tolist(),
    }
    print(json.dumps(line))


if __name__ == "__main__":
    main()
