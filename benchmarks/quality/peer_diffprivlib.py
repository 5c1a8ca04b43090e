"""The side of diffprivlib: run by `dp.py` with the peer's own interpreter.

Its logistic regression is trained for each of four strengths of the penalty on the first split, and
the best is trained and scored on the second.
"""

from __future__ import annotations

import json
import sys
import warnings
from functools import partial

import numpy as np
from diffprivlib.models import LogisticRegression


def main() -> None:
    """Print the mean accuracy of the chosen model as JSON."""
    warnings.simplefilter("ignore")
    path, epsilon, norm, times = sys.argv[1:]
    with np.load(path) as stored:
        arrays = [stored[f"arr_{i}"] for i in range(8)]
    mean = partial(_mean_score, epsilon=float(epsilon), norm=float(norm), times=int(times))
    chosen = max((0.001, 0.01, 0.1, 1.0), key=lambda strength: mean(arrays[:4], strength))
    print(json.dumps({"mean": mean(arrays[4:], chosen), "C": chosen}))


def _mean_score(
    split: list[np.ndarray], strength: float, *, epsilon: float, norm: float, times: int
) -> float:
    rows, labels, test, truth = split
    model = LogisticRegression(epsilon=epsilon, data_norm=norm, C=strength, max_iter=1000)
    found = float(np.mean([model.fit(rows, labels).score(test, truth) for _ in range(times)]))
    print(strength, found, file=sys.stderr)
    return found


if __name__ == "__main__":
    main()
