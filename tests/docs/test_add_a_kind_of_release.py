"""The page "Add a kind of release": what it adds is published and verified."""

from __future__ import annotations

import subprocess
import sys

PAGE = "docs/how-to/add-a-kind-of-release.md"
CLAIMED = "minimum-count with n = 5: counted in the files."


def test_a_kind_from_outside_is_published_and_verified(page_at, tmp_path):
    """In a process of its own: what it registers stays there."""
    page = page_at(PAGE)
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(page.blocks("python"))],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout.strip()) == (0, CLAIMED), done.stderr
    assert CLAIMED in page.text
