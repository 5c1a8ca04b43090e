"""The page "Add a privacy model": what it adds is protected, published and verified."""

from __future__ import annotations

import subprocess
import sys

import pytest

PAGE = "docs/how-to/add-a-privacy-model.md"
#: Claims a tighter bound than was kept, and says what the verifier finds.
SABOTAGE = """
import json, pathlib
manifest = pathlib.Path("out/shares/manifest.json")
said = json.loads(manifest.read_text())
for claim in said["claims"]:
    if claim["model"] == "largest-share":
        claim["parameters"]["share"] = 0.4
manifest.write_text(json.dumps(said))
print(halfmask.verify("out/shares").holds)
"""


def run(code, folder):
    """Run code in a process of its own: what it registers stays there."""
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_a_model_from_outside_is_protected_and_verified(page_at, at_the_root):
    done = run("\n".join([*page_at(PAGE).blocks("python"), SABOTAGE]), at_the_root)

    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()[-2:]
    assert first.startswith("largest-share with share = 0.5 of column 'disease'")
    assert "holds: the worst of" in first
    assert second == "False"  # a tighter bound than was kept is found


@pytest.mark.slow
def test_without_a_check_nothing_is_released(page_at, at_the_root):
    model, _, use = page_at(PAGE).blocks("python")
    done = run(f"{model}\n{use}", at_the_root)

    assert done.returncode != 0
    assert "its model is none that the verifier knows" in done.stderr
    assert "Import the module that adds the check" in done.stderr
    assert list((at_the_root / "out").iterdir()) == []
