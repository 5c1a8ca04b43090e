"""Let Vowpal Wabbit learn from files, one run after another; run in its own venv.

    python peer_vowpal_wabbit.py < jobs.json

Jobs are a JSON list of options, one text each. Prints a JSON list of the mean progressive losses.
"""

from __future__ import annotations

import json
import sys

from vowpalwabbit import pyvw  # type: ignore[import-not-found] # its venv's


def loss_of(options: str) -> float:
    # The driver runs inside the constructor, in C++.
    workspace = pyvw.Workspace(options, quiet=True)
    loss = workspace.get_sum_loss() / workspace.get_weighted_examples()
    workspace.finish()
    return float(loss)


def main() -> None:
    print(json.dumps([loss_of(options) for options in json.load(sys.stdin)]))


if __name__ == "__main__":
    main()
