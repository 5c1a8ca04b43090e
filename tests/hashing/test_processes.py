"""Another process hashes alike, and says so if it can't."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from halfmask.hashing import HasherSettings
from halfmask.hashing._plan import fit_plan

GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text(encoding="utf-8"))
HASH = """
import json, sys
import pyarrow as pa
from halfmask.hashing import HasherSettings
from halfmask.hashing._plan import fit_plan
from halfmask.vault import Secret
said = json.load(sys.stdin)
table = pa.table(said["table"]["columns"])
secret = Secret.from_bytes(bytes.fromhex(said["secret"]))
plan = fit_plan([table], settings=HasherSettings(**said["table"]["settings"]), secret=secret)
rows = plan.rows(table)
print(json.dumps([rows.indices.tolist(), rows.indptr.tolist()]))
"""
WITHOUT_NUMBA = """
import sys
sys.modules["numba"] = None
import polars as pl
from halfmask._errors import MissingDependencyError
from halfmask.hashing import FileHasher, HasherSettings, HashPlan
from halfmask.vault import Secret
table = pl.DataFrame({"a": [1]})
for job in (
    lambda: FileHasher.fit(table, settings=HasherSettings(), secret=Secret.fresh()),
    lambda: HashPlan.from_dict({}, secret=Secret.fresh()),
):
    try:
        job()
    except MissingDependencyError as error:
        print(error.hint)
"""


@pytest.mark.slow
def test_another_process_hashes_alike(secret):
    """In the same order, too."""
    done = subprocess.run(
        [sys.executable, "-c", HASH],
        input=json.dumps(GOLDEN).encode(),
        capture_output=True,
        check=True,
    )

    said = GOLDEN["table"]
    table = pa.table(said["columns"])
    plan = fit_plan([table], settings=HasherSettings(**said["settings"]), secret=secret)
    rows = plan.rows(table)
    assert rows.indptr is not None
    assert json.loads(done.stdout) == [rows.indices.tolist(), rows.indptr.tolist()]


@pytest.mark.slow
def test_a_machine_without_numba_is_told_what_to_install():
    """A client that only sends hashed rows needs none: see tests/trainer/client."""
    done = subprocess.run([sys.executable, "-c", WITHOUT_NUMBA], capture_output=True, check=True)

    assert done.stdout.count(b"pip install 'halfmask[protect]'") == 2
