"""anonypy: strict Mondrian on pandas.

Its release counts rows by class and sensitive value, without saying which rows; the runner keeps
the partition that it found on the way, at no cost to it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from anonypy import Preserver, mondrian
from peer_runner import read_job, read_table, report, time_runs


def main() -> None:
    job = read_job()
    frame = read_table(job, categories="category")
    kept = {}
    partition = mondrian.Mondrian.partition

    def remembering(self: mondrian.Mondrian, *arguments: object) -> list:
        kept["partitions"] = partition(self, *arguments)
        return kept["partitions"]

    mondrian.Mondrian.partition = remembering

    def run(table: pd.DataFrame) -> pd.DataFrame:
        preserver = Preserver(table, job["quasi_identifiers"], job["label"])
        return pd.DataFrame(preserver.anonymize_k_anonymity(job["k"]))

    seconds, _ = time_runs(job, frame.copy, run)
    sizes = [len(rows) for rows in kept["partitions"]]
    classes = pd.DataFrame(
        {
            "row": np.concatenate([np.asarray(rows) for rows in kept["partitions"]]),
            "class": np.repeat(np.arange(len(sizes)), sizes),
        }
    )
    report(job, seconds, len(frame), classes=classes)


if __name__ == "__main__":
    main()
