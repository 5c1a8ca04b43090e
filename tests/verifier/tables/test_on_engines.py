"""The verifier on an engine: the same report, and no verdict from other files than were checked."""

from __future__ import annotations

from functools import reduce
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engines.clusters import masking_policy  # type: ignore[import-not-found] # beside
from halfmask import EngineError, VerificationError, mask, verify
from halfmask.engines import LocalEngine
from halfmask.microdata import protect_to
from halfmask.verifier.tables import verify as verify_table
from microdata.people import (  # type: ignore[import-not-found] # beside, not in a package
    KEY,
    K,
    people,
    policy,
    promise,
    with_gaps,
)
from microdata.test_persons import (  # type: ignore[import-not-found] # as above
    policy_of,
    visits,
)

ROLES = {"age": "quasi_identifier", "zip": "quasi_identifier", "ill": "sensitive"}
ROW = st.tuples(
    st.sampled_from(["[1, 5]", "[6, 9]", None]),
    st.sampled_from(["{a, b}", "c", None]),
    st.sampled_from(["flu", "cough", "ulcer", None]),
)
SCHEMA = {"age": pl.String, "zip": pl.String, "ill": pl.String}


def claims_of(claim):
    """Return claims of a class, of the table and of distributions; some hold, some don't."""
    return [
        claim("k-anonymity", k=2),
        claim("distinct-l-diversity", "ill", l=2),
        claim("entropy-l-diversity", "ill", l=1.8),
        claim("t-closeness", "ill", t=0.3, distance="equal"),
        claim("average-risk", risk=0.4),
        claim("basic-beta-likeness", "ill", beta=1),
    ]


@pytest.mark.slow
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    rows=st.lists(ROW, min_size=1, max_size=24),
    n_parts=st.integers(1, 6),
    fmt=st.sampled_from(["parquet", "csv", "arrow"]),
)
def test_parts_are_counted_like_the_table(rows, n_parts, fmt, make, naive, claim):
    """Some parts are empty, and some lack a value of the others."""
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    oracle = naive(frame)
    claims = [oracle.honest(each) for each in claims_of(claim)]
    folder = make(frame, claims, roles=ROLES, fmt=fmt, n_parts=n_parts)

    found = verify(folder.path, engine=LocalEngine(workers=2))

    assert found.to_dict() == verify(folder.path).to_dict()
    assert [each.holds for each in found.claims] == [oracle.keeps(each) for each in claims]


@pytest.fixture
def parts(monkeypatch):
    """Write files of about 60 rows."""
    monkeypatch.setattr("halfmask.microdata._writing.PART_ROWS", 60)


def released(out, **sections):
    """Protect 240 people with k, l and t."""
    table = with_gaps(people(), ["town"])
    wanted = policy(
        K,
        promise("distinct-l-diversity", "illness", l=2),
        promise("t-closeness", "pay", t=0.5, distance="ordered"),
        **sections,
    )
    protect_to(table, wanted, out, key=KEY)
    return out


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize("fmt", ["parquet", "csv", "jsonl"])
def test_a_release_and_one_with_a_row_less(tmp_path, fmt):
    out = released(tmp_path / "out", output={"format": fmt})
    sound = verify(out, engine=LocalEngine())

    assert sound.holds
    assert sound.to_dict() == verify(out).to_dict()

    part = sorted((out / "data").iterdir())[1]
    part.write_bytes(part.read_bytes()[:-100])
    broken = verify(out, engine=LocalEngine())

    assert not broken.holds
    assert broken.to_dict() == verify(out).to_dict()


@pytest.mark.usefixtures("parts")
def test_bounds_in_two_columns(tmp_path):
    out = released(tmp_path / "out", recoding={"name": "ranges", "form": "bounds"})
    assert "age_from" in str(verify_table(out).claims[0].claim.about)
    assert verify(out, engine=LocalEngine()).to_dict() == verify(out).to_dict()


class Disturbed(LocalEngine):
    """Lets a file be replaced before it counts."""

    replaced: tuple[Path, Path]

    def fold(self, batches, summarize, merge, /):
        before, after = self.replaced
        before.write_bytes(after.read_bytes())
        return LocalEngine.fold(self, batches, summarize, merge)


@pytest.mark.usefixtures("parts")
def test_a_file_that_changes_after_it_was_checked(tmp_path, monkeypatch):
    out = released(tmp_path / "out")
    first, second = sorted((out / "data").iterdir())[:2]
    monkeypatch.setattr(Disturbed, "replaced", (first, second), raising=False)

    with pytest.raises(EngineError, match="isn't the same for this process and all workers"):
        verify(out, engine=Disturbed())


class Blind(LocalEngine):
    """Its workers don't see the folder."""

    places: tuple[Path, Path]

    def map(self, batches, apply, /):
        folder, hidden = self.places
        given = list(batches)
        folder.rename(hidden)
        try:
            yield from list(LocalEngine.map(self, given, apply))
        finally:
            hidden.rename(folder)


def test_a_folder_that_workers_cannot_see(tmp_path, monkeypatch):
    out = released(tmp_path / "out")
    monkeypatch.setattr(Blind, "places", (out, tmp_path / "hidden"), raising=False)

    with pytest.raises(EngineError, match="isn't the same for this process and all workers"):
        verify(out, engine=Blind())


class Elsewhere(LocalEngine):
    """Its workers see the whole file, and this process another one, or none, of that name."""

    path: Path
    here: bytes | None
    whole: bytes

    def map(self, batches, apply, /):
        self.path.write_bytes(self.whole)
        found = list(LocalEngine.map(self, batches, apply))
        if self.here is None:
            self.path.unlink()
        else:
            self.path.write_bytes(self.here)
        yield from found

    def fold(self, batches, summarize, merge, /):
        found = list(self.map(batches, summarize))
        return reduce(merge, found)


@pytest.mark.parametrize("here", [None, b"PAR1"])
def test_a_file_that_only_workers_see(tmp_path, monkeypatch, here):
    """Sets of columns are counted here, and would read the file again."""
    monkeypatch.setattr("halfmask.verifier.tables._verify._recount_sets", lambda *_: ((), []))
    out = released(tmp_path / "out")
    path = min((out / "data").iterdir())
    monkeypatch.setattr(Elsewhere, "path", path, raising=False)
    monkeypatch.setattr(Elsewhere, "whole", path.read_bytes(), raising=False)
    monkeypatch.setattr(Elsewhere, "here", here, raising=False)

    with pytest.raises(EngineError, match="isn't the same for this process and all workers"):
        verify(out, engine=Elsewhere())


def test_claims_about_persons(tmp_path):
    wanted = policy_of({"model": "k-anonymity", "k": 3})
    out, kept = tmp_path / "out", tmp_path / "persons.parquet"
    protect_to(visits(), wanted, out, key=KEY, persons=kept)

    found = verify(out, persons=kept, engine=LocalEngine())

    assert found.holds
    assert found.to_dict() == verify(out, persons=kept).to_dict()


@pytest.mark.slow
def test_other_kinds_are_refused_by_name(tmp_path):
    mask(people(), masking_policy(), key=KEY).write(tmp_path / "out")

    with pytest.raises(VerificationError, match="kind 'masked'"):
        verify(tmp_path / "out", engine=LocalEngine())
