"""Run a command from a small process, and say what it took.

A process that is started by a large one counts the large one's memory as its own peak (Linux hands
the high-water mark over at exec). This one is small, and stands between the benchmark and what is
measured. Prints one line of JSON; what the command prints goes nowhere, but its errors to stderr.

    python -S benchmarks/speed/launcher.py COMMAND [ARGUMENT ...]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time


def main() -> None:
    if sys.argv[1:2] in ([], ["-h"], ["--help"]):  # argparse would take time
        print(__doc__)
        return
    start = time.perf_counter()
    child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
    # wait4 counts this child alone; getrusage(RUSAGE_CHILDREN) takes the largest of all
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    line = {
        "seconds": seconds,
        "peak_gigabytes": usage.ru_maxrss / 1024**2,
        "exit_code": child.returncode,
    }
    print(json.dumps(line))


if __name__ == "__main__":
    main()
