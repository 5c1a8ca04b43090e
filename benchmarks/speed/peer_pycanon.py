"""pycanon: measures k, l and t of a table. The job's `task` is `k`, `l` or `t`."""

from __future__ import annotations

from peer_runner import read_job, read_table, report, time_runs
from pycanon import anonymity


def main() -> None:
    job = read_job()
    names = list(job["quasi_identifiers"])
    frame = read_table(job)
    measures = {
        "k": lambda table: anonymity.k_anonymity(table, names),
        "l": lambda table: anonymity.l_diversity(table, names, [job["label"]]),
        "t": lambda table: anonymity.t_closeness(table, names, [job["label"]]),
    }
    seconds, value = time_runs(job, frame.copy, measures[job["task"]])
    report(job, seconds, len(frame), value=float(value))


if __name__ == "__main__":
    main()
