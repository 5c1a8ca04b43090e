"""A real browser, by keyboard alone: from a dropped CSV to a verified release, for everybody."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import halfmask as hm
from halfmask.workbench.pages import PAGES

playwright = pytest.importorskip("playwright.sync_api", reason="playwright isn't installed")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe isn't installed")
CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium isn't installed"),
    # playwright's own loop leaves a transport to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
SCRIPT = "import sys; from halfmask.cli import main; sys.exit(main())"
SERIOUS = {"serious", "critical"}
#: A release of a small table takes seconds; a machine that compiles takes longer.
WAIT = 180_000
MOST_TABS = 400


@contextlib.contextmanager
def started(folder, *words):
    """Start the command, and give the address that it prints."""
    command = [sys.executable, "-c", SCRIPT, "workbench", *words, "--no-open", "--folder", folder]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        lines = iter(process.stdout.readline, "")
        yield next(found[0] for line in lines if (found := re.search(r"http://\S+", line)))
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
        process.stdout.close()


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as started_playwright:
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = started_playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium):
    """Open pages; what the browser complains of fails the test."""
    contexts, complaints = [], []

    def page_of(address, **more):
        context = chromium.new_context(**{"reduced_motion": "reduce", **more})
        context.set_default_timeout(WAIT)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda it: complaints.append(it.text) if it.type == "error" else None)
        page.on("pageerror", lambda it: complaints.append(str(it)))
        page.goto(address)
        page.wait_for_selector("nav[aria-label=Pages]")
        return page

    yield page_of
    for context in contexts:
        context.close()
    # A page that says what is wrong has a status that browsers report, and a page may ask again.
    expected = ("status of 4", "ERR_CONNECTION_REFUSED")  # the workbench stops before the page
    assert [it for it in complaints if not any(word in it for word in expected)] == []


def focus_on(page, selector):
    """Press Tab until a control has the focus: a user without a mouse has no other way."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if page.evaluate("it => document.activeElement?.matches(it) ?? false", selector):
            return
    pytest.fail(f"Tab never reaches {selector}")


def press(page, selector, key="Enter"):
    focus_on(page, selector)
    page.keyboard.press(key)


def open_page(page, name):
    press(page, f'nav a[href="/{name}"]')
    page.wait_for_selector(f'nav a[href="/{name}"][aria-current]')


def text_of(page, name):
    """Return the words of a page, without what is different in each start."""
    page.goto(re.sub(r"(:\d+/).*", rf"\1{name}", page.url))
    page.wait_for_selector("main:not(:has(#waiting))")
    return page.inner_text("#main")


@pytest.fixture
def adult_folder(tmp_path, adult_table):
    assert adult_table.parent == tmp_path
    source = Path(__file__).parents[2] / "examples" / "adult"
    shutil.copy(source / "policy.toml", tmp_path)
    shutil.copytree(source / "hierarchies", tmp_path / "hierarchies")
    return tmp_path


def test_a_first_user_reaches_a_verified_release_by_keyboard(opened, tmp_path, adult_table):
    """And the policy that the clicks wrote has the same screens, and makes the same claims."""
    folder = tmp_path / "work"
    folder.mkdir()
    with started(folder) as address:
        page = opened(address)
        with page.expect_file_chooser() as chosen:
            press(page, "#file")
        chosen.value.set_files(adult_table)
        page.wait_for_selector("#table:has-text('2,000 rows')")
        open_page(page, "columns")
        press(page, "#propose")
        page.wait_for_selector("select[name=role]")
        open_page(page, "protect")
        focus_on(page, "input[type=range][name=k]")
        page.keyboard.press("ArrowRight")
        page.wait_for_selector("main:not([aria-busy])")
        open_page(page, "release")
        press(page, "#release")
        page.wait_for_selector("text=/holds|verified/i")
        shown = {name: text_of(page, name) for name in ("columns", "protect")}
    made = next(folder.glob("*/manifest.json")).parent
    assert hm.verify(made).holds
    other = tmp_path / "terminal"
    hm.protect(str(adult_table), hm.Policy.load(folder / "policy.toml")).write(other)
    claims = [
        [(it["model"], it["parameters"], it["about"]) for it in json.loads(text)["claims"]]
        for text in ((each / "manifest.json").read_text("utf-8") for each in (made, other))
    ]
    assert claims[0] == claims[1]
    with started(folder, str(folder / "policy.toml")) as address:
        page = opened(address)
        for name, words in shown.items():
            assert text_of(page, name) == words


def serious_in(page, name, **options):
    found = axe.Axe().run(page, options=options or None).response["violations"]
    return [
        (name, it["id"], [node["html"][:200] for node in it["nodes"][:3]])
        for it in found
        if it["impact"] in SERIOUS
    ]


def test_axe_finds_nothing_serious_on_any_page_and_none_scrolls_sideways(opened, adult_folder):
    """In both colour schemes, of which only contrasts differ; on 400 pixels, and at 200 % zoom."""
    with started(adult_folder, str(adult_folder / "adult.csv")) as address:
        page = opened(address)
        usual = page.viewport_size
        for name in PAGES:
            text_of(page, name)
            page.wait_for_selector("main:not([aria-busy])")
            assert serious_in(page, name) == []
            page.emulate_media(color_scheme="dark")
            assert serious_in(page, name, runOnly=["color-contrast"]) == []
            page.emulate_media(color_scheme="light")
            for width, height in ((400, 800), (640, 400)):
                page.set_viewport_size({"width": width, "height": height})
                wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
                assert (name, width, max(wide, 0)) == (name, width, 0)
            page.set_viewport_size(usual)


def test_pages_work_without_script(adult_folder, chromium):
    with started(adult_folder, str(adult_folder / "adult.csv")) as address:
        base, _, token = address.partition("#")
        context = chromium.new_context(java_script_enabled=False)
        page = context.new_page()
        page.goto(base)
        page.fill("#token", token)
        page.press("#token", "Enter")
        page.wait_for_selector("nav[aria-label=Pages]")
        for name in PAGES:
            page.goto(f"{base}{name}")
            assert PAGES[name] in page.inner_text("h1")
        page.goto(f"{base}protect")
        before = page.input_value("input[type=range][name=k]")
        page.fill("input[type=range][name=k]", str(int(before) + 3))
        page.click("form:has(input[type=range][name=k]) button")
        assert page.input_value("input[type=range][name=k]") == str(int(before) + 3)
        context.close()


def k_of(policy):
    """Return k of a policy file."""
    return tomllib.loads(policy.read_text("utf-8"))["guarantees"][0]["k"]


def test_changes_that_follow_each_other_are_all_kept(opened, adult_folder):
    """Keys repeat faster than a page answers, and a link may be pressed before it has."""
    policy = adult_folder / "policy.toml"
    with started(adult_folder, str(adult_folder / "adult.csv")) as address:
        page = opened(address)
        text_of(page, "protect")
        before = k_of(policy)
        k = page.locator("input[type=range][name=k]")
        k.focus()
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        page.fill("input[type=number][name=max_fraction]", "0.04")
        page.fill("input[type=number][name=max_fraction]", "0.05")
        page.locator('nav a[href="/release"]').click()
        page.wait_for_selector('nav a[href="/release"][aria-current]')
        assert k_of(policy) == before + 3
        assert hm.Policy.load(policy).suppression.max_fraction == 0.05
        text_of(page, "protect")
        box = page.locator("input[type=number][name=k]")
        box.fill("5")
        box.press("Enter")  # changes the box, and sends its form
        page.wait_for_selector("main:not([aria-busy])")
        assert "Nothing was done" not in page.inner_text("#notices")
        assert k_of(policy) == 5


def test_what_is_typed_and_not_sent_stays_when_a_page_changes(opened, adult_folder):
    with started(adult_folder, str(adult_folder / "adult.csv")) as address:
        page = opened(address)
        text_of(page, "data")
        page.fill("#text", "for-the-mayor")
        page.evaluate(
            "fetch(location.href).then((it) => it.text()).then((it) => "
            "swap(new DOMParser().parseFromString(it, 'text/html'), null, {stays: true}))"
        )
        assert page.input_value("#text") == "for-the-mayor"
        assert page.evaluate("document.activeElement.id") == "text"


def test_another_site_gets_nothing(opened, adult_folder):
    """A page of another origin can neither read nor post, though the cookie is there."""
    with started(adult_folder, str(adult_folder / "adult.csv")) as address:
        page = opened(address)
        base = address.partition("#")[0]
        policy = (adult_folder / "policy.toml").read_bytes()
        evil = page.context.new_page()
        form = f'<form id="f" method="post" action="{base}protect/undo"></form>'
        body = f'{form}<iframe src="{base}data"></iframe>'
        evil.route(
            "http://evil.example/", lambda it: it.fulfill(content_type="text/html", body=body)
        )
        evil.goto("http://evil.example/")
        fetched = "it => fetch(it, {credentials: 'include'}).then(() => 'read', () => 'refused')"
        read = evil.evaluate(fetched, f"{base}data")
        assert read == "refused"
        evil.evaluate("document.getElementById('f').submit()")
        evil.wait_for_load_state()
        assert "Another site" in evil.inner_text("body")
        assert (adult_folder / "policy.toml").read_bytes() == policy
