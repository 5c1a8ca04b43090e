"""ai-privacy-toolkit: k-anonymity guided by a decision tree that predicts the label.

A class is a leaf of its tree. (Where two leaves have the same representative a reader can't tell
them apart and the class is larger; counting leaves is to its advantage.)

It imports torch at the top for a data set of torch's that isn't used here, and doesn't declare it:
an empty module stands in for that gigabyte, and takes no part in what is timed.
"""

from __future__ import annotations

import sys
import types

import art.estimators.classification  # noqa: F401 # looks for torch: before its stand-in is there
import numpy as np
import pandas as pd
from peer_runner import read_job, read_table, report, time_runs

sys.modules["torch"] = types.ModuleType("torch")
sys.modules["torch"].Tensor = type("Tensor", (), {})  # type: ignore[attr-defined]

from apt.anonymization import Anonymize  # noqa: E402 # after the stand-in for torch
from apt.utils.datasets import ArrayDataset  # noqa: E402 # the same


def main() -> None:
    job = read_job()
    names = job["quasi_identifiers"]
    frame = read_table(job)
    label = (frame[job["label"]] == ">50K").astype(int).to_numpy()
    categories = [name for name in names if name not in job["numeric"]]
    kept = {}
    find = Anonymize._find_sample_nodes  # noqa: SLF001 # its leaves aren't published

    def remembering(self: Anonymize, samples: np.ndarray) -> list:
        kept["leaves"] = find(self, samples)
        return kept["leaves"]

    Anonymize._find_sample_nodes = remembering  # noqa: SLF001 # the same

    def run(table: pd.DataFrame) -> pd.DataFrame:
        anonymizer = Anonymize(
            job["k"], list(names), categorical_features=list(categories), train_only_QI=True
        )
        return anonymizer.anonymize(ArrayDataset(table, label, names))

    seconds, _ = time_runs(job, frame[names].copy, run)
    classes = pd.DataFrame({"row": np.arange(len(frame)), "class": kept["leaves"]})
    report(job, seconds, len(frame), classes=classes)


if __name__ == "__main__":
    main()
