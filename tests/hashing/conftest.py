"""A secret that is no secret, and both ways of hashing."""

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


@pytest.fixture(params=["compiled", "numpy"])
def loops(request, monkeypatch):
    """Hash by the compiled loops, and by those for a machine without a compiler."""
    if request.param == "numpy":
        from halfmask.kernels.hashing import grams_numpy, siphash_numpy  # noqa: PLC0415 # only here

        for module in ("_slots", "_assembly", "_placing"):
            monkeypatch.setattr(f"halfmask.hashing.{module}.siphash", lambda: siphash_numpy)
        monkeypatch.setattr("halfmask.hashing._bags.grams", lambda: grams_numpy)
    return request.param
