"""A workbench in the process of the test: requests as a browser makes them, and pages to read."""

from __future__ import annotations

import asyncio
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette

from halfmask.data import open_table
from halfmask.description import describe
from halfmask.workbench._app import create_workbench
from halfmask.workbench._warming import WARMING

ADULT = Path(__file__).parents[2] / "examples" / "adult"
PORT = 8000
TOKEN = "the-token-of-the-tests"  # noqa: S105 # of a server in this process
ROWS = 2_000


class _Text(HTMLParser):
    """Gathers the words of a page."""

    def __init__(self):
        super().__init__()
        self.words = []

    def handle_data(self, data):
        self.words.append(data)


def text_of(html: str) -> str:
    """Return the words of a page, with single blanks."""
    reader = _Text()
    reader.feed(html)
    return re.sub(r"\s+", " ", " ".join(reader.words)).strip()


class Bench:
    """A browser of one page: it keeps the cookie and the stamp of the policy."""

    def __init__(self, folder: Path, table: str | None = None, policy: Path | None = None):
        self.folder = folder
        self.app = create_workbench(folder, table, policy, token=TOKEN, port=PORT)
        self.cookies = httpx.Cookies()
        self.origin = {"Origin": f"http://127.0.0.1:{PORT}", "Sec-Fetch-Site": "same-origin"}
        # The page that this leads to is for the tests of it.
        self.ask("POST", "/enter", leads=False, data={"token": TOKEN}, headers=self.origin)
        self.html = ""
        self.path = ""

    @property
    def desk(self):
        app = self.app.app
        assert isinstance(app, Starlette)
        return app.state.desk

    @property
    def project(self):
        return self.desk.project

    def ask(self, method: str, path: str, *, leads: bool = True, **given) -> httpx.Response:
        """Send a request as a browser does: with its cookies, and on to where the answer leads."""

        async def answered() -> httpx.Response:
            async with httpx.AsyncClient(
                transport=httpx.ASGITransport(app=self.app),
                base_url=f"http://127.0.0.1:{PORT}",
                cookies=self.cookies,
                follow_redirects=leads,
            ) as client:
                answer = await client.request(method, path, **given)
                self.cookies = client.cookies
                return answer

        return asyncio.run(answered())

    def get(self, path: str, status: int = 200) -> str:
        """Open a page and return its words."""
        return self._read(self.ask("GET", path, headers={"Sec-Fetch-Site": "none"}), status)

    def post(self, path: str, /, files=None, status: int = 200, **fields) -> str:
        """Post a form with the stamp of the policy, and return the words of the page after."""
        fields = {"version": self.project.stamp, **fields}
        answer = self.ask("POST", path, data=fields, files=files, headers=self.origin)
        return self._read(answer, status)

    def _read(self, answer, status: int) -> str:
        assert answer.status_code == status, text_of(answer.text)[:2000]
        self.path = answer.url.path
        self.html = answer.text
        return text_of(answer.text)

    def finish(self, kind: str):
        """Wait until the latest job of a kind ends, and return it."""
        job = self.desk.jobs.latest(kind)
        assert job is not None
        return self.desk.jobs.wait(job.id, seconds=300)


@pytest.fixture(autouse=True)
def _cold(monkeypatch):
    """Compile nothing in the background of tests that serve pages."""
    monkeypatch.setattr(WARMING, "start", lambda: None)


@pytest.fixture
def bench(tmp_path):
    """A workbench in an empty folder."""
    return Bench(tmp_path)


@pytest.fixture
def bench_in():
    """Make a workbench in a folder of the test."""
    return Bench


def copy_rows(folder):
    """Write the first rows of Adult into a folder, and return the file."""
    with (ADULT / "adult.csv").open(encoding="utf-8") as whole:
        lines = [next(whole) for _ in range(ROWS + 1)]
    table = folder / "adult.csv"
    table.write_text("".join(lines), encoding="utf-8")
    return table


@pytest.fixture
def adult_table(tmp_path):
    """The first rows of Adult in the folder of the test."""
    return copy_rows(tmp_path)


@pytest.fixture(scope="session")
def described_policy(tmp_path_factory):
    """The policy that is proposed for the first rows of Adult."""
    return describe(open_table(copy_rows(tmp_path_factory.mktemp("described")))).policy_toml()


@pytest.fixture
def adult_bench(tmp_path, adult_table):
    """A workbench with a table and the policy of the example."""
    shutil.copy(ADULT / "policy.toml", tmp_path / "policy.toml")
    shutil.copytree(ADULT / "hierarchies", tmp_path / "hierarchies")
    return Bench(tmp_path, table=str(adult_table))


@pytest.fixture
def described_bench(tmp_path, adult_table, described_policy):
    """A workbench with a table and the policy that is proposed for it."""
    (tmp_path / "policy.toml").write_text(described_policy, encoding="utf-8")
    return Bench(tmp_path, table=str(adult_table))
