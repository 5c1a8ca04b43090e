"""The candidate of a release: made as the command line makes one, linked to the table, or stale."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import halfmask
from halfmask._errors import VaultError
from halfmask._progress import silent
from halfmask.book import ReleaseBook
from halfmask.microdata.attacked import released_rows
from halfmask.vault import KeyFile, Vault
from halfmask.workbench._candidate import (
    PLACES,
    stamp_of,
    start_candidate,
)
from halfmask.workbench._compared import _singling, _sizes
from halfmask.workbench._making import make_candidate
from workbench import candidates  # type: ignore[import-not-found] # not in a package
from workbench.conftest import Bench  # type: ignore[import-not-found] # as above

PSEUDONYMS = candidates.COLUMNS.replace(
    '{ role = "identifier" }',
    '{ role = "insensitive", kind = "categorical", mask = { name = "token", scope = "vault" } }',
)
BOOK = '\n[book]\ndataset = "people"\nreceiver = "a clinic"\n'


@pytest.fixture
def make(tmp_path):
    """Return a function that makes a candidate by a policy, and returns its workbench and job."""

    def made(policy, rows=None):
        bench = Bench(tmp_path, str(candidates.lay_out(tmp_path, policy, rows)))
        return bench, candidates.make_here(bench)

    return made


@pytest.fixture
def vault(tmp_path):
    """A vault and its key file in the folder of the workbench."""
    return Vault.create(tmp_path / "vault", lock=KeyFile.create(tmp_path / "vault.key"))


@pytest.mark.slow
def test_a_job_makes_the_same_release_as_the_command_line(tmp_path):
    table = candidates.lay_out(tmp_path, candidates.COLUMNS + candidates.CLASSES)
    bench = Bench(tmp_path, str(table))
    job = bench.desk.jobs.wait(start_candidate(bench.desk).id, 300)
    assert job.state == "done", job.error
    policy = bench.project.policy()
    theirs = halfmask.protect(str(table), policy)
    found = halfmask.verify(job.folder / "release")
    assert found.holds
    assert [each.sentence for each in found.claims] == [
        it["sentence"] for it in job.result["claims"]
    ]
    assert job.result["rows"] == dict(theirs.rows)
    assert job.result["policy"] == policy.sha256
    assert all(it["checked"] and it["holds"] for it in job.result["claims"])


@pytest.mark.parametrize(
    ("policy", "kind"),
    [
        (candidates.NUMBERED + candidates.CLASSES, "microdata"),
        (candidates.MASKED, "masked"),
    ],
)
@pytest.mark.slow
def test_each_row_is_linked_to_its_own_released_row(make, policy, kind):
    _, job = make(policy)
    assert job.result["kind"] == kind
    places = np.load(job.folder / PLACES)
    released, table = released_rows(job.folder / "release"), candidates.people()
    assert released[places.tolist()]["number"].to_list() == table["number"].to_list()
    assert released["number"].to_list() != table["number"].to_list()


@pytest.mark.slow
def test_rows_that_are_left_out_have_no_place(make):
    rows = candidates.people()
    lacking = pl.when(pl.int_range(pl.len()) % 10 == 3).then(None).otherwise(pl.col("town"))
    policy = (candidates.NUMBERED + candidates.CLASSES).replace(
        'town = { role = "quasi_identifier", kind = "categorical" }',
        'town = { role = "quasi_identifier", kind = "categorical", missing = "suppress" }',
    )
    _, job = make(policy, rows.with_columns(lacking.alias("town")))
    places = np.load(job.folder / PLACES)
    left_out = np.flatnonzero(places < 0)
    assert left_out.tolist() == [it for it in range(rows.height) if it % 10 == 3]
    released = released_rows(job.folder / "release")
    stays = places[places >= 0].tolist()
    assert (
        released[stays]["number"].to_list()
        == rows["number"].gather(np.flatnonzero(places >= 0)).to_list()
    )


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        (candidates.SYNTHETIC, "drawn"),
        (candidates.PRIVATE, "random sample"),
        (candidates.TABLES, "no rows of people"),
    ],
)
@pytest.mark.slow
def test_rows_that_can_not_be_linked_say_why(make, policy, why):
    _, job = make(policy)
    assert why in job.result["linked"]
    assert not (job.folder / PLACES).exists()
    assert all(it["holds"] for it in job.result["claims"])
    assert job.result["claims"]


@pytest.mark.slow
def test_no_cell_is_in_the_facts(make):
    _, job = make(candidates.NUMBERED + candidates.CLASSES)
    said = json.dumps(job.result, ensure_ascii=False)
    assert candidates.HOSTILE not in said
    assert "asthma" not in said


@pytest.mark.slow
def test_a_candidate_is_stale_after_each_change(make):
    bench, job = make(candidates.MASKED)
    assert candidates.newest(bench).is_fresh
    with bench.project.editing("More rounding") as document:
        document["columns"]["age"]["mask"]["base"] = 20
    assert not candidates.newest(bench).is_fresh
    bench.project.undo()
    assert candidates.newest(bench).is_fresh
    candidates.people(299).write_csv(bench.project.table_file)
    stale = candidates.newest(bench)
    assert not stale.is_fresh
    assert stale.job.id == job.id


def test_a_hierarchy_that_changes_changes_the_stamp(tmp_path):
    policy = candidates.COLUMNS.replace(
        'town = { role = "quasi_identifier", kind = "categorical" }',
        'town = { role = "quasi_identifier", kind = "categorical", '
        'hierarchy = { file = "towns.csv" } }',
    )
    bench = Bench(tmp_path, str(candidates.lay_out(tmp_path, policy)))
    (tmp_path / "towns.csv").write_text("Lyon,France\n", encoding="utf-8")
    first = stamp_of(bench.project)
    assert stamp_of(bench.project) == first
    (tmp_path / "towns.csv").write_text("Lyon,France,*\n", encoding="utf-8")
    assert stamp_of(bench.project) != first


def test_a_policy_that_wants_a_vault_says_how_one_is_made(tmp_path):
    table = candidates.lay_out(tmp_path, PSEUDONYMS)
    with pytest.raises(VaultError, match="needs a vault") as caught:
        make_candidate(
            silent, tmp_path, policy=PSEUDONYMS, table=str(table), project=str(tmp_path), stamp=""
        )
    assert "halfmask vault create" in str(caught.value.hint)
    assert not (tmp_path / "release").exists()


@pytest.mark.slow
def test_two_candidates_have_the_pseudonyms_of_the_vault(make, vault):
    found = []
    for _ in range(2):
        _, job = make(PSEUDONYMS)
        rows = released_rows(job.folder / "release")
        found.append(rows[np.load(job.folder / PLACES).tolist()]["number"].to_list())
    assert found[0] == found[1]
    assert len(set(found[0])) == candidates.people().height
    assert vault.id


@pytest.mark.slow
def test_a_vault_with_a_key_file_elsewhere_is_not_opened(tmp_path):
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    Vault.create(home / "vault", lock=KeyFile.create(elsewhere / "vault.key"))
    table = candidates.lay_out(home, PSEUDONYMS)
    with pytest.raises(VaultError, match="needs a vault"):
        make_candidate(
            silent, home, policy=PSEUDONYMS, table=str(table), project=str(home), stamp=""
        )


@pytest.mark.slow
def test_a_book_is_asked_and_nothing_is_booked(make, vault):
    book = ReleaseBook.create(vault, dataset="people")
    bench, job = make(candidates.COLUMNS + candidates.CLASSES + BOOK)
    assert job.result["checked"]
    assert job.result["books"]["people"]["found"] == job.result["checked"]
    assert book.releases() == ()
    halfmask.protect_to(
        bench.project.table, bench.project.policy(), bench.folder / "out", vault=vault
    )
    _, job = make(candidates.COLUMNS + candidates.CLASSES)  # without [book], it is asked, too
    assert len(book.releases()) == 1
    assert job.result["checked"] == []
    assert any("1" in each for each in job.result["books"]["people"]["found"])


def test_few_columns_single_a_row_out():
    frame = pl.DataFrame({"a": [1, 1, 2, 2], "b": [1, 2, 1, 1], "c": [7, 7, 7, 7]})
    sizes = _sizes(frame, ["a", "b", "c"])
    assert sizes.tolist() == [1, 1, 2, 2]
    codes = {name: frame[name].to_numpy() for name in frame.columns}
    assert _singling(codes, 1, 1) == ["b"]
    assert _singling(codes, 0, 1) == ["a", "b"]
    assert _singling(codes, 2, 2) == ["a"]
