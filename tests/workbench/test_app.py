"""What every page has: its frame, its forms, undo, and errors in words."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest

import halfmask.workbench
from halfmask import ParameterError
from halfmask.workbench import _app, _page
from halfmask.workbench._notices import Notice, notice_of
from halfmask.workbench.pages import PAGES, page_named

TEMPLATES = sorted(Path(halfmask.workbench.__file__).parent.glob("templates/*.html"))
CANARY = "canary-71c9"


@pytest.fixture
def broken(monkeypatch):
    """A page whose view and action fail as a library does, quoting a cell."""

    def fail(*_):
        raise ValueError(CANARY)

    page = _page.Page("verify", "Verify", fail, {"fail": fail}, needs="")
    monkeypatch.setattr(_app, "page_named", lambda name: page if name == "verify" else None)


@pytest.mark.parametrize("name", PAGES)
def test_each_page_is_named_as_its_module_is(name):
    page = page_named(name)
    assert page is not None
    assert (page.name, page.title) == (name, PAGES[name])


@pytest.mark.parametrize("name", PAGES)
def test_each_page_opens_in_an_empty_folder(bench, name):
    shown = bench.get(f"/{name}")
    assert PAGES[name] in shown
    assert "<h1>" in bench.html


@pytest.mark.parametrize("name", PAGES)
def test_each_page_opens_with_a_table_and_a_policy(adult_bench, name):
    adult_bench.get(f"/{name}")
    assert f'<a href="/{name}" aria-current="page">' in adult_bench.html


def test_the_start_leads_to_where_the_work_goes_on(bench, adult_bench):
    bench.get("/")
    assert bench.path == "/data"
    adult_bench.get("/")
    assert adult_bench.path == "/protect"


def test_undo_and_redo_are_on_each_page(adult_bench):
    with adult_bench.project.editing("Set k to 7") as document:
        document["guarantees"][0]["k"] = 7
    assert "Undone: Set k to 7." in adult_bench.post("/columns/undo")
    assert adult_bench.project.policy().guarantees()[0].k == 10
    assert "Done again: Set k to 7." in adult_bench.post("/columns/redo")
    assert adult_bench.project.policy().guarantees()[0].k == 7


def test_a_form_of_an_older_page_changes_nothing(adult_bench):
    older = adult_bench.project.stamp
    with adult_bench.project.editing("Set k to 7") as document:
        document["guarantees"][0]["k"] = 7
    shown = adult_bench.post("/columns/undo", version=older)
    assert "has changed since the page was opened" in shown
    assert adult_bench.project.policy().guarantees()[0].k == 7


@pytest.mark.parametrize("version", ["", "none"])
def test_a_form_without_the_stamp_changes_nothing(adult_bench, version):
    with adult_bench.project.editing("Set k to 7") as document:
        document["guarantees"][0]["k"] = 7
    adult_bench.post("/columns/undo", version=version)
    assert adult_bench.project.policy().guarantees()[0].k == 7


def test_a_notice_is_shown_once(adult_bench):
    assert "Nothing to undo." in adult_bench.post("/columns/undo")
    assert "Nothing to undo." not in adult_bench.get("/columns")


@pytest.mark.parametrize(
    "path", ["/nothing", "/data/nothing", "/static/nothing", "/static/../_app.py"]
)
def test_what_is_not_there_is_said(bench, path):
    answer = bench.ask("GET", path, headers={"Sec-Fetch-Site": "none"})
    assert answer.status_code in {404, 405}


def test_an_unknown_action_is_said(bench):
    assert "There is no such action." in bench.post("/data/nothing", status=404)


@pytest.mark.usefixtures("broken")
def test_a_failure_shows_a_way_out_and_no_word_of_a_library(bench):
    shown = bench.get("/verify", status=422)
    assert "(ValueError)" in shown
    assert CANARY not in bench.html
    shown = bench.post("/verify/fail", status=422)
    assert CANARY not in bench.html


def test_a_policy_that_someone_broke_is_said_on_each_page(adult_bench):
    adult_bench.project.policy_file.write_text("halfmask = 1\n[columns", encoding="utf-8")
    shown = adult_bench.get("/protect", status=422)
    assert "valid TOML" in shown
    adult_bench.post("/protect/undo")
    adult_bench.get("/protect")


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda it: it.name)
def test_templates_have_nothing_that_the_browser_would_refuse(template):
    text = template.read_text(encoding="utf-8")
    assert not re.search(r"<[^>{]*\s(style|on\w+)=|<style|<script(?! src)|javascript:", text)
    assert "|safe" not in text.replace("svg|safe", "")
    for form in re.findall(r"<form[^>]*>", text):
        assert template.name == "parts.html" or 'method="get"' in form


def test_another_page_takes_no_notice_of_an_action(adult_bench):
    """A job's page asks for itself again and again, and a second tab may be opened."""
    desk = adult_bench.desk
    desk.say(Notice("Only here."))
    said = desk.keep_notices()
    adult_bench.get("/verify")
    assert "Only here." not in adult_bench.html
    adult_bench.get(f"/verify?said={said}")
    assert "Only here." in adult_bench.html
    adult_bench.get(f"/verify?said={said}")
    assert "Only here." not in adult_bench.html


def test_an_action_that_never_ends_leaves_the_others_an_answer(adult_bench, monkeypatch):
    monkeypatch.setattr(_app, "PATIENCE", 0.0)
    held, done = threading.Event(), threading.Event()

    def hold():
        with adult_bench.desk.lock:
            held.set()
            done.wait(60)

    other = threading.Thread(target=hold)
    other.start()
    held.wait(60)
    try:
        assert "isn't done yet" in adult_bench.post("/columns/undo")
    finally:
        done.set()
        other.join()


def test_a_broken_policy_names_undo_and_sends_nobody_around(adult_bench):
    adult_bench.project.policy_file.write_text("halfmask = 1\n[columns", encoding="utf-8")
    shown = adult_bench.get("/columns", status=422)
    assert 'Press Undo to take back "Changed outside of the workbench"' in shown
    assert 'class="button"' not in adult_bench.html


def test_a_policy_in_another_encoding_is_said_and_undone(adult_bench):
    adult_bench.project.policy_file.write_bytes(b"halfmask = 1 # \xe4\n")
    assert "isn't in UTF-8" in adult_bench.get("/protect", status=422)
    assert "Undone" in adult_bench.post("/protect/undo")


def test_what_a_killed_workbench_left_of_tables_is_removed(tmp_path, bench_in):
    hidden = tmp_path / ".halfmask"
    for name in ("waiting", "upload-x", "received-x", "downloads"):
        (hidden / name).mkdir(parents=True)
        (hidden / name / "people.csv").write_text("secret", encoding="utf-8")
    bench_in(tmp_path)
    assert not list(hidden.rglob("people.csv"))
    (hidden / "waiting").mkdir()
    bench_in(tmp_path)  # a second workbench
    assert (hidden / "waiting").is_dir()


@pytest.mark.parametrize("text", ["nan", "inf", "1e400", "x", ""])
def test_what_is_no_number_is_said(bench, text):
    assert "wants a number" in bench.post("/data/read", skip_rows=text or "x", marks="")


@pytest.mark.parametrize(
    ("hint", "shown"),
    [
        (
            "Say its encoding, such as utf-16: --encoding, or [input].",
            "Say its encoding, such as utf-16.",
        ),
        ("Use --more. Or go on.", "Or go on."),
        ("Use --more.", None),
        ("Choose: a or b.", "Choose: a or b."),
    ],
)
def test_a_hint_has_no_options_of_the_command_line(hint, shown):
    assert notice_of(ParameterError("It is wrong.", hint=hint)).hint == shown
