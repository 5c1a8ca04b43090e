"""People, and a model of them that is easily distinguished."""

from __future__ import annotations

import numpy as np
import polars as pl

from halfmask.minimize import Minimizer

CITIES = ["rome", "milan", "oslo", "bergen", "lyon", "paris"]


def people(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "city": rng.choice(CITIES, n),
            "shoe": rng.normal(42, 3, n),
        }
    )


class Rule:
    """A model of people that is easily distinguished: 40 and older, or of Norway."""

    def __init__(self):
        self.rows = 0

    def predict(self, rows):
        self.rows += len(rows)
        rows = pl.DataFrame(rows)
        assert rows.columns == ["age", "city", "shoe"]
        old, north = rows["age"] >= 40, rows["city"].cast(pl.String).is_in(["oslo", "bergen"])
        return np.where((old | north).to_numpy(), "yes", "no")


def minimized(**arguments):
    return Minimizer(Rule(), **({"target_accuracy": 0.98, "random_state": 0} | arguments))
