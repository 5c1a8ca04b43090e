"""The folds of protect: batches give what the whole table gives, on whatever engine."""

from __future__ import annotations

import polars as pl
import pytest

from halfmask._progress import silent
from halfmask.data import open_table
from halfmask.engines import LocalEngine
from halfmask.microdata import protect, protect_to
from halfmask.microdata._class_fit import summarize_table
from halfmask.microdata._classed_rows import read_batches
from halfmask.microdata.opening import protection_of
from microdata.people import (  # type: ignore[import-not-found] # beside, not in a package
    KEY,
    QUASI,
    people,
    policy,
)


class Watched:
    """A local engine that keeps what it was asked to do, and by how many batches."""

    is_confidential = True

    def __init__(self):
        self.asked = []

    def map(self, batches, apply, /):
        return LocalEngine(2).map(self._counted("map", batches), apply)

    def fold(self, batches, summarize, merge, /):
        return LocalEngine(2).fold(self._counted("fold", batches), summarize, merge)

    def _counted(self, what, batches):
        number = len(self.asked)
        self.asked.append((what, 0))
        for n, batch in enumerate(batches, 1):
            self.asked[number] = (what, n)
            yield batch


@pytest.fixture
def in_batches(monkeypatch):
    """Read 240 people in 5 batches of 50 rows."""
    monkeypatch.setattr("halfmask.data.io._source._MAX_ROWS", 50)


@pytest.mark.usefixtures("in_batches")
@pytest.mark.parametrize("shares", [(1.0,), (0.5, 1.0)])
def test_a_summary_of_batches_is_that_of_the_table(shares):
    source, wanted = open_table(people()), policy()
    protection = protection_of(wanted, wanted.schema())

    found = summarize_table(
        source,
        protection,
        sampled=False,
        key=KEY,
        shares=shares,
        engine=LocalEngine(),
        progress=silent,
    )

    whole = protection.summarize(people())
    assert found.summary.rows.equals(whole.rows)
    assert (found.summary.n_rows, found.summary.n_read) == (240, 240)
    assert found.samples[-1].equals(people().select(found.samples[-1].columns))
    assert "name" not in found.samples[-1].columns
    assert len(found.samples) == len(shares)
    if len(shares) == 2:
        # 240 draws of one half: 90 to 150 is four standard deviations.
        assert 90 < found.samples[0].height < 150
    assert repr(found) == "TableSummary(Summary(240 of 240 rows))"


@pytest.mark.usefixtures("in_batches")
def test_progress_tells_batches_that_were_taken():
    heard = []
    batches = read_batches(open_table(people()), ["age"], "reading", lambda *it: heard.append(it))

    assert next(batches).height == 50
    assert not heard
    assert sum(batch.height for batch in batches) == 190
    assert heard[0] == ("reading", 50 / 240)
    assert heard[-1] == ("reading", 1.0)


@pytest.mark.usefixtures("in_batches")
def test_a_table_in_memory_is_folded_once_by_the_engine_it_is_given(tmp_path):
    engine = Watched()
    protect_to(people(), policy(), tmp_path / "a", key=KEY, engine=engine)
    protect_to(people(), policy(), tmp_path / "b", key=KEY)

    assert engine.asked == [("fold", 5)]
    one, other = (pl.read_parquet(tmp_path / name / "data") for name in "ab")
    assert one.equals(other)


@pytest.mark.slow
@pytest.mark.usefixtures("in_batches")
def test_a_key_fixes_the_release_of_a_sampled_table(monkeypatch, tmp_path):
    for module in ("halfmask.anonymize._summary", "halfmask.microdata._classes"):
        monkeypatch.setattr(f"{module}.MAX_ROWS", 100)

    def released(name, key, workers):
        out = tmp_path / name
        protect_to(people(), policy(), out, key=key, engine=LocalEngine(workers))
        return [path.read_bytes() for path in sorted((out / "data").iterdir())]

    assert released("a", KEY, 1) == released("b", KEY, 3)
    released("other", bytes(32), 1)
    one, other = (
        pl.read_parquet(tmp_path / name / "data").select(QUASI).unique().sort(QUASI)
        for name in ("a", "other")
    )
    assert not one.equals(other)  # the sample is another, and so are the classes


@pytest.mark.usefixtures("in_batches")
def test_a_sampled_table_is_counted_and_placed_by_the_engine(monkeypatch):
    for module in ("halfmask.anonymize._summary", "halfmask.microdata._classes"):
        monkeypatch.setattr(f"{module}.MAX_ROWS", 100)
    engine = Watched()

    release = protect(people(), policy(), key=KEY, engine=engine)
    before = list(engine.asked)

    assert release.data.height == release.source.n_out
    assert before[:2] == [("fold", 5), ("fold", 5)]
    assert engine.asked[len(before) :] == [("map", 5)]
