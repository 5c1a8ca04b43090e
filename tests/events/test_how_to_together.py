"""The page about events together does what it says."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "events-together.md"


def test_the_blocks_run_as_they_stand():
    """From top to bottom, with what they assert."""
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {}

    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), names)  # noqa: S102 # the page's own code

    assert len(blocks) == 6
    assert names["verdict"]
