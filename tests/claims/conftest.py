"""Releases made by hand, as the verifier's tests make them."""

from __future__ import annotations

import polars as pl
import pytest

from verifier.conftest import (  # type: ignore[import-not-found] # beside, not in a package
    claim,
    make,
    naive,
)

__all__ = ["claim", "folder", "make", "naive"]

ROLES = {"age": "quasi_identifier", "zip": "quasi_identifier", "ill": "sensitive"}


@pytest.fixture
def folder(make, naive, claim):
    """A release of a table with two claims, written."""
    frame = pl.DataFrame({"age": ["a"] * 4, "zip": ["z"] * 4, "ill": ["flu", "cold"] * 2})
    claims = [
        claim("k-anonymity", k=4),
        claim("t-closeness", "ill", support="support/0.csv", t=0.5, distance="ordered"),
    ]
    trees = {"ill": [["flu", "*"], ["cold", "*"]]}
    honest = [naive(frame, trees["ill"]).honest(each) for each in claims]
    return make(frame, honest, roles=ROLES, trees=trees)
