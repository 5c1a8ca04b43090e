"""The page on the wire format has the vectors that the tests use, and they are ours."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa

from halfmask.hashing import HashedRows

HERE = Path(__file__).parent
GOLDEN = json.loads((HERE / "golden.json").read_text(encoding="utf-8"))
PAGE = (HERE.parents[1] / "docs" / "reference" / "wire-format.md").read_text(encoding="utf-8")


def test_its_vectors_are_the_golden_ones():
    vectors = PAGE.split("## Test vectors")[1]
    rows = [line for line in vectors.splitlines() if line.startswith("| ")]

    for it in GOLDEN["cells"]:
        assert any(
            row.endswith(f"| `{it['hash']}` | {it['index']} | {it['sign']} |") for row in rows
        )
    for it in GOLDEN["siphash"]:
        assert f"| {len(it['message']) // 2} | `{it['hash']}` |" in rows
    for it in GOLDEN["keys"]:
        assert any(row.endswith(f"| `{it['key']}` |") for row in rows)
    titles = 3
    vectors_listed = len(GOLDEN["cells"]) + len(GOLDEN["siphash"]) + len(GOLDEN["keys"])
    assert len(rows) == vectors_listed + titles


def test_the_body_that_it_shows_is_a_stream_of_ours():
    """Made by pyarrow alone, as a stranger would."""
    names: dict[str, bytes] = {}
    block = re.search(r"```python\n(import pyarrow.*?)```", PAGE, re.DOTALL)
    assert block is not None
    exec(block[1], names)  # noqa: S102 # our own page

    with pa.ipc.open_stream(names["body"]) as stream:
        (rows,) = [HashedRows.from_batch(it) for it in stream]

    wire = GOLDEN["wire"][0]
    assert rows.indices.tolist() == wire["indices"]
    assert rows.labels is not None
    assert rows.labels.tolist() == wire["labels"]
