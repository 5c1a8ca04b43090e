"""How often an attack on classes was right, for all its tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from halfmask.assess.attacks import Outcome, SuccessCount

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(scope="session")
def right_of() -> Callable[[Outcome], int]:
    """Return how many of an attack's trials succeeded."""

    def count(outcome: Outcome) -> int:
        assert isinstance(outcome.success, SuccessCount)
        return outcome.success.successes

    return count
