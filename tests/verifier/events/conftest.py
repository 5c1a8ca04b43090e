"""The vault of the tests of events, and outputs that a run wrote."""

from __future__ import annotations

import shutil

import pytest

from events.conftest import vault  # type: ignore[import-not-found] # beside, not in a package
from verifier.events.event_releases import (  # type: ignore[import-not-found] # beside
    POLICY,
    TABLES,
    run_of,
    visits,
)

__all__ = ["vault"]


@pytest.fixture
def made(tmp_path):
    """A function that runs a policy over events, and returns the output."""

    def made(policy=POLICY, events=None, *, out="out.jsonl", tables=TABLES):
        return run_of(tmp_path, policy, events or visits(60), out=out, tables=tables)

    return made


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """The output of one run, which nobody changes."""
    return run_of(
        tmp_path_factory.mktemp("first"), POLICY, visits(60), out="out.jsonl", tables=TABLES
    )


@pytest.fixture
def copy(first, tmp_path):
    """A copy of that output and its reports, to be changed."""
    for path in first.parent.glob("out*"):
        shutil.copy(path, tmp_path)
    return tmp_path / "out.jsonl"
