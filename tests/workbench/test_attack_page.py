"""The page Attack: findings with intervals, and the book of earlier releases."""

from __future__ import annotations

import re

import polars as pl
import pytest

import halfmask
from halfmask._progress import silent
from halfmask.book import ReleaseBook
from halfmask.vault import KeyFile, Vault
from halfmask.workbench import _attacking
from halfmask.workbench._attacking import attack_candidate
from workbench import candidates  # type: ignore[import-not-found] # not in a package
from workbench.conftest import Bench  # type: ignore[import-not-found] # as above

pytestmark = pytest.mark.slow

CLASSES = candidates.COLUMNS + candidates.CLASSES
BOOK = '\n[book]\ndataset = "people"\nreceiver = "<img src=x>"\n'


@pytest.fixture
def attacked(tmp_path):
    """Return a function that makes a workbench with a candidate by a policy."""

    def made(policy, rows=None):
        bench = Bench(tmp_path, str(candidates.lay_out(tmp_path, policy, rows)))
        candidates.make_here(bench)
        return bench

    return made


def test_a_battery_is_a_job_and_each_finding_has_its_interval(attacked):
    bench = attacked(CLASSES)
    assert "Findings" not in bench.get("/attack")
    bench.post("/attack/attack", control="")
    job = bench.desk.jobs.wait(bench.desk.jobs.latest("attack").id, 300)
    assert job.state == "done", job.error
    words = bench.get("/attack")
    for it in job.result["findings"]:
        assert (
            f"{it['attack']}: {it['verdict']} Measured: {it['measure']}. {it['sentence']}" in words
        )
        assert "interval" in it["sentence"] or it["verdict"] == "INVALID"
    assert any(it["attack"].startswith("record linkage") for it in job.result["findings"])
    assert {it["verdict"] for it in job.result["findings"]} & {"broken", "resisted"}


def run(bench, control=""):
    """Run the battery in this process."""
    (candidate,) = [it for it in bench.desk.jobs.all() if it.kind == "candidate"]
    folder = bench.folder / "battery"
    folder.mkdir()
    given = {"table": bench.project.table, "project": str(bench.folder), "control": control}
    release = str(candidate.folder / "release")
    policy = bench.project.policy_text()
    return attack_candidate(silent, folder, release=release, policy=policy, **given)


def test_the_original_row_of_each_released_row_is_given_to_attacks(attacked):
    bench = attacked(candidates.NUMBERED + candidates.CLASSES)
    found = run(bench)
    linked = [
        it for it in found["findings"] if it["measure"] == "share of right links by any columns"
    ]
    assert linked  # the number of a person is released: whoever has it finds the row
    assert all(it["verdict"] == "broken" and "reaches 1.000" in it["sentence"] for it in linked)
    assert all("Compare names them" in it["advice"] for it in linked)


def test_links_by_quasi_identifiers_are_judged_by_what_is_claimed(attacked):
    found = run(attacked(CLASSES))
    by_known = "share of right links by quasi-identifiers"
    linked = [it for it in found["findings"] if it["measure"] == by_known]
    assert linked
    assert all("0.200 are claimed" in it["sentence"] for it in linked)  # k = 5


def test_what_is_masked_for_each_row_is_linked_less(attacked):
    coarse = CLASSES.replace("k = 5", "k = 150")
    found = run(attacked(coarse))
    linked = [it for it in found["findings"] if it["attack"] == "record linkage distance"]
    assert linked[0]["verdict"] != "broken"


def test_held_out_rows_add_attacks(attacked, tmp_path):
    rows = candidates.people(600)
    rows[300:].write_csv(tmp_path / "held.csv")
    bench = attacked(CLASSES, rows[:300])
    found = run(bench, str(tmp_path / "held.csv"))
    assert not any("tables: linkability" in names for _, names in found["skipped"])
    assert any(it["attack"] == "linkability" for it in found["findings"])
    assert "held.csv</option>" in (bench.get("/attack") and bench.html)


def test_invalid_stays_invalid(attacked):
    # All people are alike, so that no attack succeeds on the raw rows either.
    rows = candidates.people().with_columns(age=pl.lit(30), town=pl.lit("Lyon"))
    found = run(attacked(CLASSES, rows))
    invalid = [it for it in found["findings"] if it["verdict"] == "INVALID"]
    assert invalid
    assert all(it["advice"].startswith("Nothing follows") for it in invalid)


@pytest.mark.parametrize("policy", [candidates.SYNTHETIC, candidates.TABLES])
def test_kinds_that_are_measured_while_they_are_made_show_it(attacked, policy):
    bench = attacked(policy)
    words = bench.get("/attack")
    assert "These attacks ran while the candidate was made." in words
    assert 'action="/attack/attack"' not in bench.html


def test_private_rows_are_not_attacked_with_the_table(attacked):
    words = attacked(candidates.PRIVATE).get("/attack")
    assert "each result would cost more epsilon" in words


def test_large_tables_say_why_no_row_is_linked(attacked, monkeypatch):
    monkeypatch.setattr(_attacking, "_MOST_LINKED", 100)
    found = run(attacked(candidates.MASKED))
    (names,) = [names for why, names in found["skipped"] if "too long with 300 rows" in why]
    assert any("linkage" in it for it in names)


def test_release_names_attacks_that_succeed(attacked):
    bench = attacked(candidates.NUMBERED + candidates.CLASSES)
    assert "attacks on this candidate succeed" not in bench.get("/release")
    bench.post("/attack/attack", control="")
    found = bench.finish("attack").result
    broken = f"{found['summary']['broken']} of {len(found['findings'])} attacks"
    assert f"{broken} on this candidate succeed" in bench.get("/release")


def test_a_control_table_must_lie_in_the_folder(attacked, tmp_path_factory):
    bench = attacked(candidates.MASKED)
    outside = tmp_path_factory.mktemp("outside") / "held.csv"
    candidates.people().write_csv(outside)
    for name in (str(outside), "../held.csv", "policy.toml"):
        words = bench.post("/attack/attack", control=name)
        assert "must be a table in the folder" in words
    assert bench.desk.jobs.latest("attack") is None


def test_a_stale_candidate_is_not_attacked(attacked):
    bench = attacked(candidates.MASKED)
    with bench.project.editing("More rounding") as document:
        document["columns"]["age"]["mask"]["base"] = 20
    assert "There is no candidate of this policy." in bench.post("/attack/attack", control="")
    assert bench.desk.jobs.latest("attack") is None


def test_without_a_vault_the_page_says_how_a_book_begins(attacked):
    assert "halfmask book create" in attacked(candidates.MASKED).get("/attack")


def test_earlier_releases_are_listed_with_what_would_hold(attacked, tmp_path):
    vault = Vault.create(tmp_path / "vault", lock=KeyFile.create(tmp_path / "vault.key"))
    ReleaseBook.create(vault, dataset="people")
    table = candidates.lay_out(tmp_path, CLASSES + BOOK)
    policy = halfmask.Policy.load(tmp_path / "policy.toml")
    halfmask.protect_to(table, policy, tmp_path / "out", vault=vault)
    bench = attacked(CLASSES + BOOK)
    words = bench.get("/attack")
    assert "The book of people" in words
    assert re.search(r"<img src=x> microdata \d+ left", words)
    assert "<img" not in bench.html
    (job,) = [it for it in bench.desk.jobs.all() if it.kind == "candidate"]
    for line in job.result["checked"]:
        assert line in words
    (tmp_path / "out" / "manifest.json").write_text("{}", encoding="utf-8")
    assert re.search(r"<img src=x> microdata \d+ altered", bench.get("/attack"))
