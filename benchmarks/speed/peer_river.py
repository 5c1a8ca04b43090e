"""Let river learn from a CSV file, row by row; run in its own venv.

    python peer_river.py FILE LABEL ROWS

Prints one JSON object: seconds and the mean progressive log-loss. A row's features are its cells,
each a word with the value 1.
"""

from __future__ import annotations

import csv
import itertools
import json
import math
import sys
import time
from pathlib import Path

from river import linear_model, optim  # type: ignore[import-not-found] # its venv's


def main() -> None:
    path, label, most = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    model = linear_model.LogisticRegression(optimizer=optim.AdaGrad(0.1))
    cost, rows, start = 0.0, 0, time.perf_counter()
    with path.open(newline="", encoding="utf-8") as file:
        for row in itertools.islice(csv.DictReader(file), most):
            answer = row.pop(label) == "1"
            features = {f"{name}_{cell}": 1.0 for name, cell in row.items()}
            chance = min(max(model.predict_proba_one(features)[True], 1e-15), 1 - 1e-15)
            cost -= math.log(chance if answer else 1 - chance)
            model.learn_one(features, answer)
            rows += 1
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "rows": rows, "loss": cost / rows}))


if __name__ == "__main__":
    main()
