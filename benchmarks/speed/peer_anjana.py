"""anjana: full-domain k-anonymity by hierarchies, up to half of the rows suppressed.

With less suppression it generalizes almost everything to `*`; half is what it needs to leave
something in ten columns.
"""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
from anjana.anonymity import k_anonymity
from peer_runner import number_classes, read_job, read_table, report, time_runs

MOST_SUPPRESSED_PERCENT = 50


def main() -> None:
    job = read_job()
    names = job["quasi_identifiers"]
    frame = read_table(job)
    frame["row"] = np.arange(len(frame))
    levels = {
        name: {
            level: np.array(values, dtype=int if name in job["numeric"] and level == 0 else object)
            for level, values in enumerate(job["hierarchies"][name])
        }
        for name in names
    }

    def prepare() -> tuple:
        # it writes into what it is given
        return frame.copy(), copy.deepcopy(levels)

    def run(given: tuple) -> pd.DataFrame:
        table, hierarchies = given
        return k_anonymity(table, [], names, job["k"], MOST_SUPPRESSED_PERCENT, hierarchies)

    seconds, released = time_runs(job, prepare, run)
    if released.empty:
        classes = pd.DataFrame({"row": [], "class": []})
    else:
        classes = pd.DataFrame(
            {"row": released["row"], "class": number_classes(released.astype(str), names)}
        )
    report(job, seconds, len(frame), classes=classes)


if __name__ == "__main__":
    main()
