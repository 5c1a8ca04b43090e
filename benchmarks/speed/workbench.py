"""The workbench on Adult, by its command: how long a user waits for a page.

    python benchmarks/speed/workbench.py           # about two minutes
    python benchmarks/speed/workbench.py --quick   # without the frontier

Each kernel is compiled before. Requests go to the real server over loopback, as a browser's do.
Progress goes to stderr; the last line of stdout is one JSON object of bars.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

from statistics import median

import httpx  # after the path

import workloads
from bars import Bar, report, say

READY, DESCRIBED, SLIDER, FRONTIER = 1.0, 1.0, 0.5, 60.0
RUNS, CLICKS, WAIT = 3, 9, 300.0
SCRIPT = "import sys; from halfmask.cli import main; sys.exit(main())"


class FormFields(HTMLParser):
    """What a browser would send of a form that nobody touched."""

    def __init__(self, form: str, page: str) -> None:
        super().__init__()
        self.form, self.is_in, self.select = form, False, ""
        self.fields: dict[str, list[str]] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.is_in = given.get("id") == self.form
        elif self.is_in and tag == "select":
            self.select = given["name"]
        elif self.is_in and tag == "option" and ("selected" in given or self._is_first()):
            self.fields[self.select] = [given.get("value", "")]
        elif self.is_in and tag == "input" and self._is_sent(given):
            self.fields.setdefault(given["name"], []).append(given.get("value", "on"))

    def _is_first(self) -> bool:
        return self.select not in self.fields

    @staticmethod
    def _is_sent(given: dict[str, str]) -> bool:
        ticked = given.get("type") not in {"checkbox", "radio"} or "checked" in given
        return ticked and "name" in given


class Browser:
    """Asks for pages of a workbench and posts forms, with its cookie and the policy's stamp."""

    def __init__(self, address: str) -> None:
        base, _, token = address.partition("#")
        self.client = httpx.Client(base_url=base, timeout=WAIT, follow_redirects=True)
        self.client.headers.update({"Origin": base.rstrip("/"), "Sec-Fetch-Site": "same-origin"})
        self.page = self.client.post("/enter", data={"token": token}).raise_for_status().text

    def get(self, path: str) -> str:
        self.page = self.client.get(path).raise_for_status().text
        return self.page

    def until(self, path: str, words: str) -> None:
        """Open a page again and again until it has some words."""
        while words not in self.get(path):
            time.sleep(0.2)

    def post(self, path: str, *, file: Path | None = None, **fields: str | list[str]) -> str:
        stamp = re.search(r'name="version" value="(\w+)"', self.page)
        given = {"version": stamp[1] if stamp else "none", **fields}
        files = None if file is None else {"file": (file.name, file.read_bytes())}
        self.page = self.client.post(path, data=given, files=files).raise_for_status().text
        return self.page


@contextlib.contextmanager
def workbench(folder: Path, *words: str) -> Iterator[tuple[Browser, float]]:
    """Start the command, and give a browser and the seconds until its first page was there."""
    start = time.perf_counter()
    command = [sys.executable, "-c", SCRIPT, "workbench", *words, "--no-open", "--folder", folder]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None  # noqa: S101 # it is a pipe
        lines = iter(process.stdout.readline, "")
        address = next(found[0] for line in lines if (found := re.search(r"http://\S+", line)))
        browser = Browser(address)
        browser.get("/data")
        yield browser, time.perf_counter() - start
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=WAIT)


def seconds_to(ask: object, *given: object, **more: object) -> float:
    start = time.perf_counter()
    ask(*given, **more)  # type: ignore[operator] # a method of a browser
    return time.perf_counter() - start


def described() -> list[Bar]:
    """Start in an empty folder, and drop Adult."""
    ready, drops = [], []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as folder, workbench(Path(folder)) as (browser, seconds):
            ready.append(seconds)
            drops.append(seconds_to(browser.post, "/data/open", file=workloads.ADULT_CSV))
            assert "48,842" in browser.page  # noqa: S101 # the page says how many rows
    say(f"ready in {median(ready):.2f} s, Adult described in {median(drops):.2f} s")
    return [
        Bar(name="workbench ready: seconds", value=median(ready), goal=READY, side="at most"),
        Bar(
            name="Adult described after the drop: seconds",
            value=median(drops),
            goal=DESCRIBED,
            side="at most",
        ),
    ]


def clicked(*, quick: bool) -> list[Bar]:
    """Move the slider of k on Adult by the example's policy; then explore 60 policies."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(workloads.ADULT_CSV, folder)
        shutil.copy(workloads.ADULT_CSV.with_name("policy.toml"), folder)
        shutil.copytree(workloads.ADULT_CSV.parent / "hierarchies", folder / "hierarchies")
        with workbench(folder, str(folder / "adult.csv")) as (browser, _):
            browser.until("/protect", "measured-on")  # the server compiles first
            clicks = [
                seconds_to(browser.post, "/protect/guarantee", number="0", k=str(k))
                for k in range(11, 11 + CLICKS)
            ]
            assert "measured-on" in browser.page  # noqa: S101 # and not that it waits
            say(f"a slider answers in {median(clicks[1:]):.2f} s (the first in {clicks[0]:.2f} s)")
            slider = Bar(
                name="48,842 rows, a slider changed and measured: seconds",
                value=median(clicks[1:]),
                goal=SLIDER,
                side="at most",
                why=f"{max(clicks[1:]):.2f} s at most",
            )
            return [slider] if quick else [slider, frontier(browser)]


def frontier(browser: Browser) -> Bar:
    """Start exploring as the page proposes it."""
    fields = FormFields("start", browser.get("/explore")).fields
    fields.pop("version")
    start = time.perf_counter()
    browser.post("/explore/start", **fields)
    while "data-poll" in browser.page:
        time.sleep(0.2)
        browser.get("/explore")
    seconds = time.perf_counter() - start
    tried = re.search(r"Policies tried: (\d+)", browser.page)
    assert tried is not None  # noqa: S101 # the page says how many
    say(f"{tried[1]} policies explored in {seconds:.1f} s")
    return Bar(
        name="the frontier of the proposed grid on Adult: seconds",
        value=seconds,
        goal=FRONTIER,
        side="at most",
        why=f"{tried[1]} policies",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out the frontier")
    quick = parser.parse_args().quick
    report([*described(), *clicked(quick=quick)])


if __name__ == "__main__":
    main()
