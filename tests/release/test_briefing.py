"""Who signs reads a summary and a record; what a receiver may not have is on the owner's page."""

from __future__ import annotations

import datetime as dt
import hashlib
import stat
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from halfmask import protect
from halfmask._errors import PolicyError
from halfmask.claims import Claim, Manifest, read_manifest
from halfmask.crosstabs import TablesPolicy
from halfmask.microdata import Policy
from halfmask.release import Briefing
from halfmask.release.briefing import moment, record_blocks, record_rows, summary_blocks

APPROVAL = """
[approval]
approver = "Dr Muster"
date = 2026-11-20
receiver = "University of Bergen"
thresholds = "our rule for contracts"
"""
POLICY = """# comment-of-the-clinic
halfmask = 1
[columns]
name-of-person = { role = "identifier" }
age = { role = "quasi_identifier", kind = "numeric" }
born = { role = "quasi_identifier", kind = "datetime" }
at = { role = "quasi_identifier", kind = "datetime" }
year = { role = "quasi_identifier", kind = "numeric" }
ill = { role = "insensitive", kind = "categorical" }
[columns.town]
role = "quasi_identifier"
kind = "categorical"
hierarchy = { groups = { west-coast = ["Bergen"], east-land = ["Oslo", "Hamar"] } }
[[guarantees]]
model = "k-anonymity"
k = 5
"""

TABLES = """halfmask-tables = 1
[[tables]]
name = "t"
dimensions = ["town"]
[[rules]]
rule = "minimum-frequency"
n = 3
"""


def manifest_of(**changes):
    claim = Claim(model="k-anonymity", parameters={"k": 5}, about={}, basis="counted", evidence={})
    fields = {
        "kind": "microdata",
        "created": "2026-11-29T15:30:15Z",
        "software": {"halfmask": "0.2.0"},
        "policy_sha256": "ab" * 32,
        "files": (),
        "claims": (claim,),
        "weaknesses": tuple(f"a-word: weakness number {n}." for n in range(6)),
    }
    return Manifest(**{**fields, **changes})


def words_of(blocks):
    (chapter,) = blocks
    return {block.title: list(block.sentences) for block in chapter.blocks}


def people():
    n = 200
    return pl.DataFrame(
        {
            "name-of-person": [f"person {i}" for i in range(n)],
            "age": [20 + i % 50 for i in range(n)],
            "town": [("Bergen", "Oslo", "Hamar")[i % 3] for i in range(n)],
            "born": [dt.date(2024, 3, 1) + dt.timedelta(days=i % 18) for i in range(n)],
            "at": [dt.time(8 + i % 9, 15) for i in range(n)],
            "year": [1990 + i % 30 for i in range(n)],
            "ill": ["flu" if i % 2 else "cold" for i in range(n)],
        }
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return a folder with a table, its policy, the release and the owner's page."""
    folder = tmp_path_factory.mktemp("a release")
    people().write_parquet(folder / "people of ours.parquet")
    (folder / "policy.toml").write_text(POLICY + APPROVAL)
    policy = Policy.load(folder / "policy.toml")
    protect(folder / "people of ours.parquet", policy).write(folder / "out")
    return folder


def test_the_owners_page_has_what_an_auditor_asks_and_only_its_owner_reads_it(written):
    page = written / "out.owner.html"
    text = page.read_text()
    digest = hashlib.sha256((written / "people of ours.parquet").read_bytes()).hexdigest()

    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    for said in (
        *(digest, "people of ours.parquet", "comment-of-the-clinic", "name-of-person"),
        *("west-coast, east-land", "Dr Muster", "20 November 2026", "University of Bergen"),
    ):
        assert said in text, said
    assert f"&#39;{written}/people of ours.parquet&#39; &#39;{written}/out&#39;" in text


def test_the_report_has_approval_and_command_but_nothing_by_which_to_test_a_guess(written):
    text = (written / "out" / "report.html").read_text()
    digest = hashlib.sha256((written / "people of ours.parquet").read_bytes()).hexdigest()

    for said in (
        *("Dr Muster", "20 November 2026", "University of Bergen", "our rule for contracts"),
        *("halfmask assess release TABLE RELEASE --policy POLICY", "k-anonymity: k = 5"),
        *("Rows of the input", "Columns dropped", "with the columns age"),
        "Every row shares its quasi-identifiers with at least 4 others. (k-anonymity: k = 5)",
    ):
        assert said in text, said
    for secret in (digest, "comment-of-the-clinic", "name-of-person", "of ours", str(written)):
        assert secret not in text


def test_dates_times_and_years_are_written_as_such(written):
    text = (written / "out" / "report.html").read_text()

    assert "2024-03-01" in text
    assert "2024-03-01 00:00" not in text
    assert "08:15" in text
    assert "1990" in text
    assert "1,990" not in text
    assert "000,000" not in text


def test_a_column_without_a_picture_has_a_word_why(written):
    text = (written / "out" / "report.html").read_text()

    assert "It is released unchanged: both pictures would be of the same cells." in text


def test_the_manifest_carries_the_approval(written):
    assert read_manifest(written / "out").approval == {
        "approver": "Dr Muster",
        "date": "2026-11-20",
        "receiver": "University of Bergen",
        "thresholds": "our rule for contracts",
    }


def test_a_table_that_changed_since_it_was_read_has_no_hash(tmp_path):
    people().write_parquet(tmp_path / "people.parquet")
    release = protect(tmp_path / "people.parquet", Policy.from_toml(POLICY))
    digest = hashlib.sha256((tmp_path / "people.parquet").read_bytes()).hexdigest()
    found = release.given.hashed()
    people().head(150).write_parquet(tmp_path / "people.parquet")

    assert release.given.hashed() == [("people.parquet", "changed since it was read")]
    assert found == [("people.parquet", digest)]


def test_a_table_in_memory_has_no_hash_and_the_page_says_so(tmp_path):
    protect(people(), Policy.from_toml(POLICY)).write(tmp_path / "out")

    assert "a table in memory" in (tmp_path / "out.owner.html").read_text()


def test_what_nobody_filled_in_is_shown_as_empty():
    rows = dict(record_rows(manifest_of(), Briefing()))
    steps = words_of(summary_blocks(manifest_of(), Briefing()))

    assert [name for name, said in rows.items() if said == "empty"] == [
        *("Approved by", "Approved on", "Receiver", "Purpose", "Why these parameters")
    ]
    assert "where this is empty: approved by, receiver." in str(steps)
    assert rows["Rows of the input"] == "not stated"


def test_who_approved_it_is_a_step_that_is_done():
    approval = {"approver": "Dr Muster", "date": "2026-11-20", "receiver": "Bergen"}
    words = words_of(summary_blocks(manifest_of(approval=approval), Briefing()))

    assert "Dr Muster approved it on 20 November 2026, for Bergen." in str(words)


def test_the_summary_is_short_and_counts_what_it_leaves_out():
    words = words_of(summary_blocks(manifest_of(), Briefing(remains=["c" * 900])))

    assert words["What an attacker can still do"] == [
        f"{'c' * 299}…",
        *(f"Weakness number {n}." for n in range(3)),
        "3 more are below.",
    ]
    assert words["What is lost"] == ["Nothing is stated."]


def test_an_answer_has_no_approval_to_fill_in():
    words = words_of(summary_blocks(manifest_of(), Briefing(), has_approval=False))

    assert "Write down who approves it" in str(words)
    assert "[approval]" not in str(words)


def test_guarantees_are_stated_with_their_numbers(tmp_path):
    policy = POLICY.replace('ill = { role = "insensitive"', 'ill = { role = "sensitive"') + (
        '[[guarantees]]\nmodel = "distinct-l-diversity"\nl = 2\ncolumn = "ill"\n'
    )
    protect(people(), Policy.from_toml(policy)).write(tmp_path / "out")
    page = (tmp_path / "out/report.html").read_text()

    assert "Every row shares its quasi-identifiers with at least 4 others. (k-anonymity: k" in page
    assert "Every class has at least 2 different values of the column ill." in page


def test_the_best_attack_on_masks_is_in_the_summary(tmp_path):
    masks = POLICY.partition("[columns.town]")[0].replace(
        'kind = "numeric" }', 'kind = "numeric", mask = { name = "round", base = 5 } }', 1
    )
    masks += 'town = { role = "identifier" }\n'
    protect(people(), Policy.from_toml(masks)).write(tmp_path / "out")
    page = (tmp_path / "out/report.html").read_text()

    assert "Each number of age is a multiple of 5." in page
    assert "The best attack that ran knew the original rows, and found the rows of" in page


@pytest.mark.parametrize("created", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:00-14:00"])
def test_a_time_that_no_clock_shows_stays_as_it_is(created):
    assert moment(created) == created


def test_attacks_are_named_or_their_command():
    ran = Briefing(attacked="Attacks ran: see below.", attack="do it")

    assert ran.attack_sentence == "Attacks ran: see below. To attack it again: do it"
    assert Briefing().attack_sentence == "No attack was run on this release."


def test_a_book_for_another_receiver_is_refused_and_nothing_is_left(tmp_path):
    release = protect(people(), Policy.from_toml(POLICY + APPROVAL))
    elsewhere: Any = SimpleNamespace(
        section=SimpleNamespace(receiver="Oslo"),
        leaving=lambda *_: nullcontext(SimpleNamespace(sentences=(), weaknesses=())),
    )
    with pytest.raises(PolicyError, match="another receiver"):
        release.write(tmp_path / "out", booking=elsewhere)

    assert list(tmp_path.iterdir()) == []


def test_an_answer_has_no_owners_page_and_names_none():
    (record,) = record_blocks(manifest_of(), Briefing(), None)

    assert "owner" not in str(record)
    assert "owner" in str(record_blocks(manifest_of(), Briefing(unpictured="None."), 3))


@pytest.mark.parametrize("kind", [Policy, TablesPolicy])
def test_approval_and_book_name_one_receiver(kind):
    book = '[book]\ndataset = "d"\nreceiver = "Oslo"\n'
    head = {Policy: POLICY, TablesPolicy: TABLES}
    with pytest.raises(PolicyError, match="another receiver"):
        kind.from_toml(head[kind] + book + APPROVAL)

    assert kind.from_toml(head[kind] + book).approval.receiver is None


@pytest.mark.parametrize("date", ["3", '"yesterday"', "2026-11-20T10:00:00", "86400.0"])
def test_a_date_of_approval_is_a_date(date):
    with pytest.raises(PolicyError, match="date"):
        Policy.from_toml(f"{POLICY}[approval]\ndate = {date}\n")


def test_approval_is_part_of_the_policy_and_no_approval_changes_no_hash():
    for kind, text in ((Policy, POLICY), (TablesPolicy, TABLES)):
        bare, empty = kind.from_toml(text), kind.from_toml(f"{text}[approval]\n")
        approved = kind.from_toml(text + APPROVAL)

        assert bare.sha256 == empty.sha256 != approved.sha256
    assert 'approver = "Dr Muster"' in Policy.from_toml(POLICY + APPROVAL).to_toml()
