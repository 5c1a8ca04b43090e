"""python-synthpop's CART method on the job that the command line names.

Runs inside the peer's venv. The job is a JSON file: `rows` (CSV), `n`, `out` (CSV), `seed`,
`categories` (columns of text). Prints one JSON line: the seconds of `fit` and of `sample`. Its own
preprocessing can't encode a column of ten categories or more with any scikit-learn since 1.4, so
categories are numbered here, as it numbers smaller ones; missing is a category of its own, or a
number below all others.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from synthpop import CARTMethod


def main() -> None:
    warnings.simplefilter("ignore")
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    np.random.seed(job["seed"])  # noqa: NPY002 # the peer draws from the global generator
    categories = set(job["categories"])
    rows = pd.read_csv(
        job["rows"], dtype=dict.fromkeys(categories, str), keep_default_na=False, na_values=[""]
    )
    started = time.perf_counter()
    coded, values, gaps = rows.copy(), {}, {}
    for name in rows:
        if name in categories:
            coded[name], values[name] = pd.factorize(rows[name], sort=True)
        elif rows[name].isna().any():
            gaps[name] = rows[name].min() - 1 - abs(rows[name].min())
            coded[name] = rows[name].fillna(gaps[name])
    kinds = {name: "categorical" if name in categories else "numerical" for name in rows}
    model = CARTMethod(kinds, random_state=job["seed"])
    model.fit(coded)
    fitted = time.perf_counter()
    drawn = model.sample(job["n"])
    for name in rows:
        if name in categories:
            codes = drawn[name].to_numpy(dtype=np.int64)
            drawn[name] = np.where(codes < 0, None, values[name][np.maximum(codes, 0)])
            continue
        cells = pd.to_numeric(drawn[name])
        if name in gaps:
            cells = cells.where(cells > gaps[name])
        drawn[name] = cells
    drawn.to_csv(job["out"], index=False)
    sampled = time.perf_counter()
    print(json.dumps({"fit": fitted - started, "sample": sampled - fitted}))


if __name__ == "__main__":
    main()
