"""A secret that is no secret, and hashing by the definition."""

from __future__ import annotations

import pytest

from halfmask.vault import Secret
from hashing.plain_hasher import (  # type: ignore[import-not-found] # beside, not in a package
    MATERIAL,
    Oracle,
)


@pytest.fixture
def oracle():
    return Oracle()


@pytest.fixture
def secret():
    return Secret.from_bytes(MATERIAL)
