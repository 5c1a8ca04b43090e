"""The report's facts: the numbers of the manifest, the verification and the release, no others."""

from __future__ import annotations

import html
import json
import re

import polars as pl
import pytest

from halfmask.microdata import Policy, protect
from halfmask.microdata._reporting import report_facts
from halfmask.release.briefing import moment
from halfmask.release.page import percent
from microdata.people import (  # type: ignore[import-not-found] # beside, not in a package
    KEY,
    QUASI,
    K,
    people,
    policy,
    promise,
    with_gaps,
)

PROMISES = [
    K,
    promise("distinct-l-diversity", "illness", l=2),
    promise("entropy-l-diversity", "illness", l=1.5),
    promise("recursive-cl-diversity", "pay", c=4, l=2),
    promise("t-closeness", "insured", t=0.6),
]
REQUIRED = [(5, "at least"), (2, "at least"), (1.5, "at least"), (4, "at most"), (0.6, "at most")]


@pytest.fixture
def written(tmp_path):
    wanted = policy(
        *PROMISES,
        columns={"buys": {"label": True}, "spent": {"missing": "suppress"}},
        method={"name": "guided"},
    )
    table = with_gaps(people(), ["town", "age", "spent"])
    release = protect(table, wanted, key=KEY, population=table)
    return release.write(tmp_path / "out")


@pytest.fixture
def facts(written):
    return report_facts(written, written.manifest, written.verification)


@pytest.fixture
def page(written, tmp_path):
    """Return the words of the page."""
    del written
    text = re.sub(r"<[^>]+>", " ", (tmp_path / "out" / "report.html").read_text())
    return re.sub(r"\s+", " ", html.unescape(text))


@pytest.mark.slow
def test_promises_are_what_the_verifier_counted(facts, written):
    """Each promise says what was asked, and what was counted on disk, by how many rows."""
    checks = written.verification.claims

    assert [(each.required, each.bound) for each in facts.guarantees] == REQUIRED
    assert [each.achieved for each in facts.guarantees] == [check.counted for check in checks]
    assert [each.achieved_wildcard for each in facts.guarantees] == [
        check.counted_wildcard for check in checks
    ]
    assert facts.rows_out == written.verification.rows
    assert {each.classes for each in facts.guarantees} == {check.classes for check in checks}
    assert all(each.holds for each in facts.guarantees)


@pytest.mark.slow
def test_rows_and_files_are_those_of_the_manifest(facts, written, page):
    """Rows in and out, files, hashes and versions."""
    manifest = written.manifest

    assert (facts.rows_in, facts.rows_out) == (written.rows["in"], written.rows["out"])
    assert facts.manifest == manifest
    for file in manifest.files:
        assert f"{file.name} {file.n_rows:,} {file.n_bytes:,} {file.sha256}" in page
    for name, version in manifest.software.items():
        assert f"{name} {version}" in page
    for shown in (moment(manifest.created), manifest.policy_sha256, *manifest.weaknesses):
        assert shown in page
    assert facts.n_dropped == 1


@pytest.mark.slow
def test_risks_are_those_that_were_counted(facts, written, page):
    """Risks before and after are the numbers that stand in the manifest."""
    said = json.loads(json.dumps(written.manifest.details["risk"]))

    for name, risk, figure in (
        ("Prosecutor, highest", "prosecutor", "highest"),
        ("Prosecutor, average", "prosecutor", "average"),
        ("Journalist, highest", "journalist", "highest"),
        ("Journalist, average", "journalist", "average"),
        ("Marketer", "marketer", "linked"),
        ("Unique rows", "uniqueness", "share"),
    ):
        before, after = (percent(said[it][risk][figure]["value"]) for it in ("before", "after"))
        assert f"{name} {before} {after}" in page
    assert facts.risk.population_rows == 240
    assert facts.risk.after.prosecutor.highest.value == 1 / facts.guarantees[0].achieved


@pytest.mark.slow
def test_columns_and_what_is_unprotected(facts):
    """Each column that leaves has its treatment; columns that nothing protects are named."""
    treated = {column.name: column.treatment for column in facts.columns}

    assert "name" not in treated
    assert {name for name, said in treated.items() if said != "released unchanged"} == set(QUASI)
    said = " ".join(facts.unprotected)
    assert "'visit'" in said
    assert "'note'" in said
    assert "'illness'" not in said
    assert facts.risk.columns.unchanged.columns == (
        "row", "illness", "pay", "visit", "insured", "note", "buys", "spent",
    )  # fmt: skip


@pytest.mark.slow
def test_the_page_shows_those_numbers(facts, written, page):
    """The three numbers that matter stand on the page as they were counted."""
    assert f"{facts.guarantees[0].classes:,} classes, {written.verification.rows:,} rows" in page
    assert written.utility.model.sentence.split(";")[0] in page
    assert "confirmed" in page
    assert "0 rows" not in re.findall(r"classes, (\d[\d,]* rows)", page)


def test_the_report_says_how_many_details_were_found(tmp_path):
    """Counts by type, and none of what was found."""
    policy = Policy.from_toml(
        """
        halfmask = 1
        [columns]
        who = { role = "identifier", kind = "text" }
        age = { role = "quasi_identifier", kind = "numeric" }
        note = { role = "insensitive", kind = "text" }
        [[masks]]
        name = "free-text"
        columns = ["note"]
        types = ["email", "card"]
        names_from = ["who"]
        [[guarantees]]
        model = "k-anonymity"
        k = 2
        """
    )
    table = pl.DataFrame(
        {
            "who": ["Canarina", "Bob", "Carla", "Dan"],
            "age": [20, 21, 22, 23],
            "note": [
                "canarina asks canary@x.example",
                "ask BOB",
                "no names",
                "4111 1111 1111 1111",
            ],
        }
    )
    protect(table, policy).write(tmp_path / "out")
    report = (tmp_path / "out" / "report.html").read_text()

    assert "found: 1 card, 1 email, 2 name" in report
    assert "canar" not in report.casefold()


@pytest.mark.parametrize(
    ("dtype", "zone"),
    [("date", None), ("ms", None), ("us", "Europe/Berlin"), ("ns", "America/New_York")],
)
def test_pictures_of_dates_are_labelled_with_dates(tmp_path, dtype, zone):
    """Nobody reads 19,723 as the first day of 2024."""
    days = pl.datetime_range(
        pl.datetime(2024, 1, 1), pl.datetime(2024, 10, 26), "1d", eager=True, time_zone=zone
    )
    born = days.dt.date() if dtype == "date" else days.dt.cast_time_unit(dtype)
    policy = Policy.from_toml(
        'halfmask = 1\n[columns.born]\nrole = "quasi_identifier"\nkind = "datetime"\n'
        '[[guarantees]]\nmodel = "k-anonymity"\nk = 5\n'
    )

    protect(pl.DataFrame({"born": born}), policy).write(tmp_path / "out")

    page = (tmp_path / "out" / "report.html").read_text()
    assert re.search(r"<bdi>2024-01-01 to 2024-\d\d-\d\d</bdi>", page)
    assert not re.search(r"[12]\d,\d{3} to|\d{12}", re.sub(r"<svg.*?</svg>|[0-9a-f]{64}", "", page))
