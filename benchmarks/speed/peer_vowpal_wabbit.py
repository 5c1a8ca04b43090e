"""Let Vowpal Wabbit learn from a file, as its own command would; run in its own venv.

    python peer_vowpal_wabbit.py FILE OPTIONS [PASSES_OVER]

Prints one JSON object: the seconds of the driver that reads and learns, without the start of the
interpreter, and the mean progressive loss. With a second list of options, that is run after it and
told of: from the cache that the first one wrote.
"""

from __future__ import annotations

import json
import sys
import time

from vowpalwabbit import pyvw  # type: ignore[import-not-found] # its venv's


def run(options: str) -> dict[str, float]:
    start = time.perf_counter()
    # The driver runs inside the constructor, in C++.
    workspace = pyvw.Workspace(options, quiet=True)
    seconds = time.perf_counter() - start
    rows = workspace.get_weighted_examples()
    found = {"seconds": seconds, "rows": rows, "loss": workspace.get_sum_loss() / rows}
    workspace.finish()
    return found


def main() -> None:
    for options in sys.argv[1:-1]:
        run(options)
    print(json.dumps(run(sys.argv[-1])))


if __name__ == "__main__":
    main()
