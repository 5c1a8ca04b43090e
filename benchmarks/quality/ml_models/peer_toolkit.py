"""ai-privacy-toolkit anonymizes one table for several k. Runs in its venv; the job comes by stdin.

It imports torch at the top for a data set of torch's that isn't used here, and doesn't declare it:
an empty module stands in for that gigabyte.
"""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path

import art.estimators.classification  # noqa: F401 # looks for torch: before its stand-in is there
import numpy as np
import pandas as pd

sys.modules["torch"] = types.ModuleType("torch")
sys.modules["torch"].Tensor = type("Tensor", (), {})  # type: ignore[attr-defined]

from apt.anonymization import Anonymize  # noqa: E402 # after the stand-in for torch
from apt.utils.datasets import ArrayDataset  # noqa: E402 # the same


def as_it_is(job: dict, k: int, table: pd.DataFrame, labels: np.ndarray) -> pd.DataFrame:
    """Give it the table with its categories, as its users do."""
    anonymizer = Anonymize(
        k,
        list(job["quasi_identifiers"]),
        categorical_features=list(job["categorical"]) or None,
    )
    return anonymizer.anonymize(ArrayDataset(table, labels, list(table.columns)))


def on_quasi_identifiers(
    job: dict, k: int, table: pd.DataFrame, labels: np.ndarray
) -> pd.DataFrame:
    """Encode the categories before, and grow its tree on the quasi-identifiers alone."""
    wanted = job["quasi_identifiers"]
    names = [name for name in wanted if name in job["categorical"]]
    numbers = table[[name for name in wanted if name not in names]]
    parts = {name: pd.get_dummies(table[name], prefix=name, prefix_sep="=") for name in names}
    encoded = pd.concat([numbers, *parts.values()], axis=1).astype(float)
    anonymizer = Anonymize(
        k,
        list(encoded.columns),
        quasi_identifer_slices=[list(part.columns) for part in parts.values()] or None,
        train_only_QI=True,
    )
    done = anonymizer.anonymize(ArrayDataset(encoded, labels, list(encoded.columns)))
    written = table.copy()
    for name in numbers.columns:
        written[name] = done[name]
    for name, part in parts.items():
        places = done[list(part.columns)].to_numpy().argmax(axis=1)
        written[name] = np.array([c.split("=", 1)[1] for c in part.columns])[places]
    return written


def main() -> None:
    job = json.load(sys.stdin)
    table = pd.read_csv(job["data"], keep_default_na=False)
    labels = table.pop("prediction").to_numpy()
    for name in job["categorical"]:
        table[name] = table[name].astype(str).astype(object)
    run = on_quasi_identifiers if job["only_quasi_identifiers"] else as_it_is
    for k, out in job["outs"].items():
        run(job, int(k), table.copy(), labels).to_csv(out + ".unfinished", index=False)
        Path(out + ".unfinished").rename(out)


if __name__ == "__main__":
    main()
