"""Learners work in one thread, also in a process that has loaded none of them yet."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import numpy as np
import halfmask.assess.utility._model_utility as utility

assert "sklearn.ensemble" not in sys.modules

def noted(features, codes, asked, *, random_state):
    import sklearn.ensemble
    from threadpoolctl import threadpool_info
    print([it["num_threads"] for it in threadpool_info() if it["user_api"] == "openmp"])
    return np.full((len(asked), int(codes.max()) + 1), 0.5)

utility.chances_of = noted
features, label = np.zeros((9, 1), dtype="f4"), np.array(list("abcabcabc"))
rows = utility.LabelledRows(features=features, label=label)
utility.model_utility(
    raw=rows, released=rows, test=rows, task="classification", random_state=0
)
"""


@pytest.mark.slow
def test_a_new_process_learns_in_one_thread():
    said = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "OMP_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.splitlines() == ["[1]", "[1]"]
