"""Releases made by hand, as the verifier's tests make them."""

from __future__ import annotations

from verifier.conftest import (  # type: ignore[import-not-found] # beside, not in a package
    claim,
    make,
    naive,
)

__all__ = ["claim", "make", "naive"]
