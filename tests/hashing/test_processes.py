"""Another process hashes alike, with a compiler and without."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from halfmask.hashing import HasherSettings
from halfmask.hashing._fitting import fitted

GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text(encoding="utf-8"))
HASH = """
import json, sys
import pyarrow as pa
from halfmask.hashing import HasherSettings
from halfmask.hashing._fitting import fitted
from halfmask.vault import Secret
if sys.argv[1] == "numpy":
    sys.modules["numba"] = None
said = json.load(sys.stdin)
table = pa.table(said["table"]["columns"])
secret = Secret.from_bytes(bytes.fromhex(said["secret"]))
plan = fitted([table], settings=HasherSettings(**said["table"]["settings"]), secret=secret)
rows = plan.rows(table)
assert ("halfmask.kernels.hashing.siphash" in sys.modules) == (sys.argv[1] != "numpy")
print(json.dumps([rows.indices.tolist(), rows.indptr.tolist()]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("way", ["compiled", "numpy"])
def test_another_process_hashes_alike(secret, way):
    """In the same order, too; and without numba, which a client needn't have."""
    done = subprocess.run(
        [sys.executable, "-c", HASH, way],
        input=json.dumps(GOLDEN).encode(),
        capture_output=True,
        check=True,
    )

    said = GOLDEN["table"]
    table = pa.table(said["columns"])
    plan = fitted([table], settings=HasherSettings(**said["settings"]), secret=secret)
    rows = plan.rows(table)
    assert rows.indptr is not None
    assert json.loads(done.stdout) == [rows.indices.tolist(), rows.indptr.tolist()]
