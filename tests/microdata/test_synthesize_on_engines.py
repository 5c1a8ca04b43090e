"""Synthetic rows on an engine: the same rows, drawn in parts with seeds of their own."""

from __future__ import annotations

import pytest

from halfmask import Policy, PolicyError, synthesize
from halfmask.engines import LocalEngine
from halfmask.microdata import _synthetic_rows
from microdata.test_synthesize import (  # type: ignore[import-not-found] # beside
    COLUMNS,
    KEY,
    people,
)


@pytest.fixture
def in_parts(monkeypatch):
    """Draw 90 rows with a seed."""
    monkeypatch.setattr(_synthetic_rows, "SAMPLED_ROWS", 90)


def drawn(section, engine=None):
    """Return the rows of a release that no attack was run on, which takes most of the time."""
    wanted = Policy.from_toml(f"{COLUMNS}control_fraction = 0\n{section}")
    return synthesize(people(), wanted, key=KEY, engine=engine).data


class Watched(LocalEngine):
    """Keeps how many rows each part has."""

    parts: list[int]

    def map(self, batches, apply, /):
        given = list(batches)
        self.parts.extend(n for n, _ in given)
        return LocalEngine.map(self, given, apply)


@pytest.mark.slow
@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize(
    "section", ['kind = "full"\nrows = 250', 'kind = "hybrid"\noriginal_share = 0.5']
)
def test_the_engine_draws_the_same_rows(section, monkeypatch):
    monkeypatch.setattr(Watched, "parts", [], raising=False)

    ours = drawn(section, Watched(workers=2))

    assert ours.equals(drawn(section))
    assert len(Watched.parts) > 2
    assert max(Watched.parts) == 90


@pytest.mark.usefixtures("in_parts")
def test_parts_are_not_copies_of_each_other():
    rows = drawn('kind = "full"\nrows = 180')
    assert rows.n_unique() > 120


def test_few_rows_are_drawn_with_one_seed(monkeypatch):
    usual = drawn('kind = "full"')
    monkeypatch.setattr(_synthetic_rows, "SAMPLED_ROWS", 10_000_000)
    assert drawn('kind = "full"').equals(usual)


@pytest.mark.parametrize(
    ("section", "kind"),
    [
        ('kind = "partial"\ncolumns = ["wage"]', "of the kind 'partial'"),
        ('kind = "hybrid"\nk = 5', "of groups of k"),
    ],
)
def test_other_rows_are_refused_by_name(section, kind):
    with pytest.raises(PolicyError, match=kind):
        drawn(section, LocalEngine())
