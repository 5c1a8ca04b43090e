"""What every test may use: the real data sets, where they are."""

from __future__ import annotations

from pathlib import Path

import hypothesis
import pytest

# How long an example takes says how busy the machine is, and nothing of the code.
# `make test` tries the same examples each time; `make fuzz` tries new ones.
hypothesis.settings.register_profile("halfmask", deadline=None, derandomize=True, database=None)
hypothesis.settings.register_profile("fuzz", deadline=None, max_examples=300, print_blob=True)
hypothesis.settings.load_profile("halfmask")

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets; the test skips by name where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("the folder of shared data sets is absent")
    return SHARED


@pytest.fixture(scope="session")
def adult_csv() -> Path:
    """UCI Adult as the project ships it."""
    return EXAMPLES / "adult" / "adult.csv"
