"""The page Release: names, what is released of what was compared, the report, zip and commands."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
import tomllib
import zipfile
from html import unescape
from pathlib import Path

import pytest

from halfmask import VerificationError, protect_to
from halfmask.book import ReleaseBook
from halfmask.claims import read_manifest
from halfmask.dp.ledger import PrivacyLedger
from halfmask.vault import KeyFile, Vault
from halfmask.verifier import verify
from halfmask.workbench import _making
from halfmask.workbench._candidate import start_candidate
from halfmask.workbench._making import place_candidate
from halfmask.workbench._releases import zip_of
from workbench import candidates  # type: ignore[import-not-found] # not in a package
from workbench.conftest import ADULT, Bench  # type: ignore[import-not-found] # not in a package

pytestmark = pytest.mark.slow

ROWS = 300
COLUMNS = ("age", "sex", "occupation")
CANARY = "<img src=x onerror=alert(1)>{{7*7}}"
POLICY = """halfmask = 1
[columns.age]
role = "quasi_identifier"
kind = "numeric"
[columns.sex]
role = "quasi_identifier"
kind = "categorical"
[columns.occupation]
role = "sensitive"
kind = "categorical"
[[guarantees]]
model = "k-anonymity"
k = 5
"""
UNDER_EPSILON = """halfmask = 1
[columns]
age = { role = "identifier" }
sex = { role = "quasi_identifier", kind = "categorical" }
occupation = { role = "identifier" }
[synthesis]
kind = "full"
rows = 300
epsilon = 1.0
delta = 1e-6
[synthesis.domain.sex]
values = ["Female", "Male"]
"""
HOSTILE = [
    "",
    "../outside",
    "/tmp/outside",  # noqa: S108 # it isn't made
    "a/b",
    "a\\b",
    "a\0b",
    "x" * 300,
    "\N{CJK UNIFIED IDEOGRAPH-4E00}" * 90,
    ".hidden",
    "-rf",
    "..",
    "end.",
    "new\nline",
    "right\u202eleft",
]


def written(folder, policy=POLICY, columns=COLUMNS):
    """Write a small table with a policy into a folder, and open them."""
    folder.mkdir(exist_ok=True)
    with (ADULT / "adult.csv").open(encoding="utf-8", newline="") as whole:
        rows = [row for _, row in zip(range(ROWS), csv.DictReader(whole), strict=False)]
    with (folder / "people.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(columns)
        table.writerows([row[name] for name in COLUMNS] for row in rows)
    (folder / "policy.toml").write_text(policy, encoding="utf-8")
    return Bench(folder, table=str(folder / "people.csv"))


@pytest.fixture
def small(tmp_path):
    return written(tmp_path / "it's $HOME")


def names_in(folder):
    return sorted(it.name for it in folder.iterdir())


def files_of(folder):
    return {it.relative_to(folder).as_posix(): it.read_bytes() for it in folder.rglob("*.*")}


def release(bench, name="out", **fields):
    words = bench.post("/release/make", name=name, **fields)
    job = bench.finish("release")
    assert job.state == "done", (job.error, words[-500:])
    return bench.get("/release")


def compare(bench):
    """Make the candidate that Compare shows."""
    job = bench.desk.jobs.wait(start_candidate(bench.desk).id)
    assert job.state == "done", job.error
    return candidates.newest(bench)


def protect_here(bench):
    """Make a release as the terminal does, in this process."""
    protect_to(bench.project.table, bench.project.policy(), bench.folder / "out")


def claims_of(folder):
    return [each.to_dict() for each in read_manifest(folder).claims]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_leads_elsewhere_or_is_none_makes_nothing(small, name):
    before = names_in(small.folder), names_in(small.folder.parent)
    assert "This can't be the name of a release." in small.post("/release/make", name=name)
    assert small.desk.jobs.latest("release") is None
    assert (names_in(small.folder), names_in(small.folder.parent)) == before


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_what_is_there_is_never_overwritten(small, kind):
    taken = small.folder / "taken"
    if kind == "folder":
        taken.mkdir()
    elif kind == "file":
        taken.write_text("mine", encoding="utf-8")
    else:
        taken.symlink_to("nowhere")
    words = small.post("/release/make", name="taken")
    assert "Nothing was overwritten" in words
    assert small.desk.jobs.latest("release") is None


def test_the_proposed_name_is_free(small):
    def proposed():
        small.get("/release")
        return small.html.split('name="name" value="')[1].split('"')[0]

    first = proposed()
    assert first.startswith("people-")
    (small.folder / first).mkdir()
    (small.folder / f"{first}-2").mkdir()
    assert proposed() == f"{first}-3"


def test_a_release_is_made_verified_shown_and_listed(small):
    words = release(small)
    assert verify(small.folder / "out").holds
    assert "Everything that the release claims holds." in words
    assert "holds k-anonymity with k = 5" in words
    assert "in force" in words
    assert "byte for byte" not in words.partition("The next release")[0]
    # A release by another policy, and one whose manifest was changed, are no longer vouched for.
    text = small.project.policy_text().replace("k = 5", "k = 6")
    small.project.replace(text, "k = 6")
    assert "another" in small.get("/release")
    manifest = small.folder / "out" / "manifest.json"
    manifest.write_bytes(manifest.read_bytes() + b" ")
    words = small.get("/release?name=out")
    assert "Everything that the release claims holds." not in words
    assert "its manifest has changed since" in words


def test_what_was_compared_is_what_is_released(small):
    candidate = compare(small)
    assert "byte for byte" in small.get("/release")
    words = release(small)
    assert files_of(small.folder / "out") == files_of(candidate.folder)
    assert "byte for byte" in words.partition("The next release")[0]


def test_warnings_of_the_report_stand_under_the_verdict(tmp_path):
    policy = candidates.NUMBERED + candidates.CLASSES
    bench = Bench(tmp_path, str(candidates.lay_out(tmp_path, policy)))
    compare(bench)
    for kind in ("placed", "made"):
        if kind == "made":
            bench.project.replace(policy.replace("k = 5", "k = 4"), "k = 4")
        words = release(bench, kind).partition("Evidence")[0]
        assert "unique on number alone" in words
    report = (tmp_path / "made" / "report.html").read_text(encoding="utf-8")
    assert "Warning" in report


def test_a_stale_candidate_is_not_released(small):
    candidate = compare(small)
    release(small, format="csv")
    assert tomllib.loads(small.project.policy_text())["output"]["format"] == "csv"
    assert '<option value="csv" selected' in small.html
    made = read_manifest(small.folder / "out")
    assert made.policy_sha256 == small.project.any_policy().sha256
    assert made.policy_sha256 != read_manifest(candidate.folder).policy_sha256
    assert [it.format for it in made.files] == ["csv"]


def test_a_damaged_candidate_is_not_released(small):
    protect_here(small)
    made, out = small.folder / "out", small.folder / "placed"
    claims = [{"holds": True, "sentence": "It holds."}]
    facts: dict[str, object] = {"claims": claims, "warnings": []}

    def place():
        return place_candidate(
            lambda *_: None, small.folder, candidate=str(made), out=str(out), facts=facts
        )

    data = next((made / "data").iterdir())
    raw = data.read_bytes()
    data.write_bytes(raw[:-1])
    with pytest.raises(VerificationError, match="doesn't bear out what it claims"):
        place()
    assert not out.exists()
    data.write_bytes(raw)
    assert place()["found"]["style"] == "holds"
    assert out.exists()


def test_an_unmet_guarantee_leaves_no_folder(tmp_path):
    bench = written(tmp_path / "unmet", POLICY.replace("k = 5", "k = 301"))
    before = names_in(bench.folder)
    bench.post("/release/make", name="out")
    job = bench.finish("release")
    assert job.state == "failed"
    assert job.error.what in bench.get("/release")
    assert names_in(bench.folder) == before
    bench.project.replace(POLICY, "A smaller k")
    assert job.error.what not in bench.get("/release")


def test_a_booked_release_is_booked_exactly_once(small):
    vault = Vault.create(small.folder / "vault", lock=KeyFile.create(small.folder / "vault.key"))
    book = ReleaseBook.create(vault, dataset="people")
    words = small.post("/release/make", name="out", dataset="people", receiver="")
    assert "receiver" in words
    assert "book" not in tomllib.loads(small.project.policy_text())
    assert small.desk.jobs.latest("release") is None
    compare(small)
    words = release(small, dataset="people", receiver="A hospital")
    assert tomllib.loads(small.project.policy_text())["book"]["receiver"] == "A hospital"
    assert [(it.receiver, it.number) for it in book.releases()] == [("A hospital", 1)]
    assert "Checked against earlier releases, and booked" in words
    assert "--vault vault --vault-key-file vault.key" in words
    release(small, "next", dataset="", receiver="A hospital")
    assert "book" not in tomllib.loads(small.project.policy_text())


def test_a_candidate_under_a_budget_is_charged_exactly_once(tmp_path):
    bench = written(tmp_path / "private", UNDER_EPSILON)
    PrivacyLedger.create(
        bench.folder / "budget", bench.project.source(), dataset="people", epsilon=9.0, delta=1e-5
    )
    ledger = PrivacyLedger.open(bench.folder / "budget", dataset="people")
    compare(bench)
    release(bench)
    assert len(ledger.charges) == 1


def test_a_candidate_that_was_paid_for_is_not_lost(tmp_path, monkeypatch):
    bench = written(tmp_path / "private", UNDER_EPSILON)
    PrivacyLedger.create(
        bench.folder / "budget", bench.project.source(), dataset="people", epsilon=9.0, delta=1e-5
    )

    def fail(*_):
        raise RuntimeError(CANARY)

    monkeypatch.setattr(_making, "keep_attacks", fail)
    candidates.make_here(bench)
    assert candidates.newest(bench).is_fresh
    for page in ("compare", "attack"):
        words = bench.get(f"/{page}")
        assert "made and verified, but" in words
        assert "RuntimeError" in words
        assert CANARY not in words
    release(bench)
    ledger = PrivacyLedger.open(bench.folder / "budget", dataset="people")
    assert len(ledger.charges) == 1


def test_the_commands_run_and_make_the_same_claims(small):
    words = release(small, "clicked")
    assert "The same without the workbench" in words
    commands = {name: _pre(small.html, name) for name in ("shell", "python")}
    found, env = {}, {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    proposed = commands["python"].rsplit("folder / '", 1)[1].partition("'")[0]
    for name, text in commands.items():
        runs = ["sh", "-euc", text] if name == "shell" else [sys.executable, "-c", text]
        subprocess.run(runs, check=True, capture_output=True, timeout=300, env=env)
        found[name] = claims_of(small.folder / proposed)
        (small.folder / proposed).rename(small.folder / f"by-{name}")
    clicked = claims_of(small.folder / "clicked")
    assert found == {"shell": clicked, "python": clicked}


def _pre(html, name):
    return unescape(html.split(f'<pre id="{name}" tabindex="0">')[1].partition("</pre>")[0])


def test_a_report_is_shown_without_script(small):
    protect_here(small)
    answer = small.ask("GET", "/report/out")
    assert answer.text == (small.folder / "out" / "report.html").read_text(encoding="utf-8")
    policy = answer.headers["content-security-policy"].split("; ")
    assert {"default-src 'none'", "style-src 'unsafe-inline'", "sandbox"} <= {*policy}
    assert not any("script" in each or "allow" in each for each in policy)
    own = small.ask("GET", "/release").headers["content-security-policy"]
    assert "unsafe" not in own
    (small.folder / "out" / "report.html").unlink()
    (small.folder / "out" / "report.html").symlink_to(small.folder / "people.csv")
    for path in ("/report/out", "/report/none", "/report/.halfmask"):
        assert small.ask("GET", path).status_code == 404, path
    assert small.ask("GET", "/report/..%2Fpeople.csv").status_code == 404


def test_a_zip_holds_the_release_and_goes_when_it_was_sent(small):
    protect_here(small)
    fields = {"version": small.project.stamp, "name": "out"}
    answer = small.ask("POST", "/release/download", data=fields, headers=small.origin)
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        packed = {name: archive.read(name) for name in archive.namelist()}
    assert packed == {f"out/{name}": raw for name, raw in files_of(small.folder / "out").items()}
    downloads = small.project.hidden / "downloads"
    assert not any(it.is_file() for it in downloads.rglob("*"))


def test_two_downloads_at_a_time_do_not_share_a_file(small):
    protect_here(small)
    first, second = (zip_of(small.project, "out") for _ in range(2))
    assert first.name == second.name == "out.zip"
    second.unlink()
    with zipfile.ZipFile(first) as archive:
        assert archive.testzip() is None


def test_no_name_of_a_column_becomes_markup(tmp_path):
    policy = POLICY.replace("[columns.occupation]", f'[columns."{CANARY}"]')
    bench = written(tmp_path / "canary", policy, ("age", "sex", CANARY))
    protect_here(bench)
    words = bench.get("/release?name=out")
    assert CANARY in words
    assert "<img" not in bench.html
    assert all("img" not in str(it) for it in bench.project.hidden.rglob("*"))
