"""The page about releasing events shows the policies that are shipped, and no others."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "how-to" / "release-events.md"
EXAMPLE = ROOT / "examples" / "events"


def test_the_policies_on_the_page_are_those_that_are_shipped():
    """The first two blocks are shop.toml, the third is the aggregate of daily.toml."""
    blocks = re.findall(r"^```toml\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    shop, daily = (tomllib.loads((EXAMPLE / it).read_text()) for it in ("shop.toml", "daily.toml"))

    assert len(blocks) == 3
    assert tomllib.loads(blocks[0] + blocks[1]) == shop
    assert tomllib.loads(blocks[2]) == {"aggregate": daily["aggregate"]}
