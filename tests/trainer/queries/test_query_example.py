"""The example of the query service, as a reader runs it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "query_service" / "run.py"


@pytest.mark.slow
def test_owner_and_analysts_play_their_parts():
    command = [sys.executable, "-W", "error", str(EXAMPLE)]
    said = subprocess.run(command, check=True, capture_output=True, text=True)

    assert not said.stderr
    lines = said.stdout.splitlines()
    assert "Bob asks the same, from the book: True, same: True" in lines
    assert any(line.startswith("Bob is refused: This costs more than is left") for line in lines)
    (women,) = [line for line in lines if line.startswith("  Female")]
    found = re.fullmatch(r"  Female +([0-9,]+) people, ([0-9.]+) hours a week", women)
    assert found
    # 15,898 women of 17 or more work 36.4 hours a week on average; nearly all are adults.
    assert abs(int(found[1].replace(",", "")) - 15_898) < 400
    assert abs(float(found[2]) - 36.6) < 0.5
    assert "The owner's ledger: epsilon 2.2 of 3 spent" in lines
