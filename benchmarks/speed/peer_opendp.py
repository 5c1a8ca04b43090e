"""OpenDP's polars API: count and sum of groups with given keys, timed. Runs in its own venv.

peer_opendp.py people.parquet GROUPS RUNS
"""

from __future__ import annotations

import json
import sys
import time
from statistics import median

import opendp.prelude as dp
import polars as pl


def main() -> None:
    file, groups, runs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    dp.enable_features("contrib")
    table = pl.read_parquet(file)
    keys = pl.LazyFrame({"group": [f"group {each}" for each in range(groups)]})
    context = dp.Context.compositor(
        data=table.lazy(),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0 * (runs + 1)),
        split_evenly_over=runs + 1,
        margins=[dp.polars.Margin(max_length=2_000_000)],
    )

    def ask() -> pl.DataFrame:
        value = pl.col("value").fill_null(0).dp.sum((0, 99))
        query = context.query().group_by("group").agg(dp.len(), value).with_keys(keys)
        return query.release().collect()

    ask()
    taken = []
    for _ in range(runs):
        start = time.perf_counter()
        ask()
        taken.append(time.perf_counter() - start)
    print(json.dumps({"seconds": median(taken)}))


if __name__ == "__main__":
    main()
