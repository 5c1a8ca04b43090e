"""pytauargus on one table, in its own venv; started by `crosstabs.py`.

    python peer_pytauargus.py JOB.json    # one JSON object on stdout

JOB has `columns` (of microdata), `dimensions`, `hierarchies` (by dimension a path of an .hrc file),
`value`, `p` and `suppress`, such as "MOD(1)". The answer has each cell's codes, value and status.
Its modular search ends many a process by a segmentation fault: whoever starts this sees it.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

from pytauargus import protect


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    # the native code prints: keep its words off the answer
    answer = os.dup(1)
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        done = protect(
            job["columns"],
            [job["dimensions"]],
            response=job["value"],
            safety_rules=f"P({job['p']:g},1)",
            suppress=job["suppress"],
            hrc=job["hierarchies"] or None,
            totcode="Total",
            workdir=folder,
        )
        seconds = time.perf_counter() - start
        cells = [
            [[row[name] for name in job["dimensions"]], row[job["value"]], row["status"]]
            for row in done.tables[0].rows
        ]
    os.write(answer, json.dumps({"seconds": seconds, "cells": cells}).encode())


if __name__ == "__main__":
    main()
