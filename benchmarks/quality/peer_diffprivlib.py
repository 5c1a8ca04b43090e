"""The side of diffprivlib: run by `dp.py` with the peer's own interpreter.

Its logistic regression is trained for each of four strengths of the penalty, and the best mean is
printed: its side gets the choice that ours makes once.
"""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
from diffprivlib.models import LogisticRegression


def main() -> None:
    """Print the best mean accuracy as JSON."""
    warnings.simplefilter("ignore")
    path, epsilon, norm, times = sys.argv[1:]
    with np.load(path) as stored:
        rows, labels, test, truth = (stored[f"arr_{i}"] for i in range(4))
    best = {"mean": 0.0, "C": 0.0}
    for strength in (0.001, 0.01, 0.1, 1.0):
        scores = [
            LogisticRegression(
                epsilon=float(epsilon), data_norm=float(norm), C=strength, max_iter=1000
            )
            .fit(rows, labels)
            .score(test, truth)
            for _ in range(int(times))
        ]
        print(strength, np.mean(scores), file=sys.stderr)
        if np.mean(scores) > best["mean"]:
            best = {"mean": float(np.mean(scores)), "C": strength}
    print(json.dumps(best))


if __name__ == "__main__":
    main()
