"""No kernel reads or writes beyond its arrays: run as plain Python, each index checked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("json_uncompiled.py")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_every_index_is_within_its_array(seed):
    ran = subprocess.run(
        [sys.executable, SCRIPT, str(seed), "60"],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    counted = json.loads(ran.stdout)
    assert counted["events"] > 10
    assert counted["refused"] > 10
