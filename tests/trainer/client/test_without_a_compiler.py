"""A client's machine needs neither numba nor scikit-learn, and httpx only to talk."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import sys
for name in ("numba", "llvmlite", "sklearn", "scipy"):
    sys.modules[name] = None  # as if it weren't there
import numpy as np
from halfmask.hashing import HashedRows
from halfmask.trainer.client import TrainerClient
rows = HashedRows(indices=np.arange(30, dtype=np.uint32).reshape(10, 3), bits=5,
                  labels=np.zeros(10, np.int32))
with TrainerClient(sys.argv[1]) as client:
    print(client.push("m", [rows]).rows, sum(map(len, client.predict("m", [rows]))))
"""


@pytest.mark.slow
def test_it_pushes_and_predicts(service):
    done = subprocess.run(
        [sys.executable, "-c", CODE, service.url], capture_output=True, check=False, timeout=60
    )

    assert done.stderr == b""
    assert done.stdout.split() == [b"10", b"10"]


def test_an_extra_that_isn_t_there_is_named():
    code = (
        "import sys; sys.modules['httpx'] = None\n"
        "from halfmask._errors import MissingDependencyError\n"
        "from halfmask.trainer.client import TrainerClient\n"
        "try: TrainerClient('https://trainer.example')\n"
        "except MissingDependencyError as error: print(error)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)

    assert b"pip install 'halfmask[client]'" in done.stdout
