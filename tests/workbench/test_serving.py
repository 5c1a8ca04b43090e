"""The pages on a port of this machine: who reaches it, how it is opened, and when it stops."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import webbrowser
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from types import ModuleType

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

import halfmask
from halfmask._errors import HalfmaskError, MissingDependencyError, ParameterError
from halfmask.workbench import _server, run_workbench
from halfmask.workbench._guard import PageGuard

#: No test takes so long; one that does fails by name.
LONG = 60


class Bench:
    """A workbench in a thread, with a clock and a job of the test's."""

    def __init__(self):
        self.now, self.runs_job, self.fails, self.ends_jobs = 0.0, False, False, True
        self.looked: SimpleQueue[float] = SimpleQueue()
        self.said: SimpleQueue[str] = SimpleQueue()
        self.ended: list[str] = []
        self.was_idle: list[bool] = []

    def create(self, folder, table, policy, *, token, port):
        """Stand in for `create_workbench`."""
        self.given, self.token = (folder, table, policy, port), token
        static = StaticFiles(packages=[("halfmask.workbench", "static")])
        routes = [Route("/data", self.page), Mount("/static", static)]
        app = Starlette(routes=routes, lifespan=self.lifespan)
        return PageGuard(
            app,
            token=token,
            port=port,
            most_bytes=1_000,
            working=self.look,
            close=self.close,
            clock=lambda: self.now,
        )

    def close(self):
        if not self.ends_jobs:
            raise OSError("CANARY")
        self.ended.append("jobs")

    @staticmethod
    async def page(_):
        return PlainTextResponse("inside")

    @asynccontextmanager
    async def lifespan(self, _):
        if self.fails:
            raise OSError("CANARY")
        yield
        self.ended.append("application")

    def look(self):
        self.looked.put(self.now)
        return self.runs_job

    def run(self, **more):
        self.was_idle.append(
            run_workbench("folder", announce=self.said.put, opens_browser=False, **more)
        )

    @contextmanager
    def running(self, **more):
        """Run it in a thread until the block ends; yield its address and what stops it."""
        thread = threading.Thread(target=self.run, kwargs=more)
        thread.start()
        try:
            yield self.said.get(timeout=LONG)
        finally:
            self.runs_job, self.now = False, self.now + 1e6
            thread.join(timeout=LONG)
            assert not thread.is_alive()


@pytest.fixture
def bench(monkeypatch):
    """A workbench whose pages are one, which says "inside"."""
    bench, module = Bench(), ModuleType("halfmask.workbench._app")
    module.create_workbench = bench.create  # type: ignore[attr-defined] # the stand-in
    monkeypatch.setitem(sys.modules, "halfmask.workbench._app", module)
    monkeypatch.setattr(_server, "_TICKS", 1)
    return bench


@contextmanager
def entered(address):
    """Yield a client that has opened the address, as a browser does."""
    page, _, token = address.partition("#")
    own = {"origin": page.rstrip("/")}
    with httpx.Client(base_url=page, headers=own, trust_env=False) as client:
        assert client.post("/enter", data={"token": token}).status_code == 303
        yield client


def test_the_address_opens_the_pages_and_no_log_holds_its_token(bench, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    with bench.running() as address, entered(address) as client:
        answer = client.get("/data")

    assert answer.text == "inside"
    assert not {"server", "date"} & set(answer.headers)
    assert bench.given[:3] == (Path("folder"), None, None)
    assert address == f"http://127.0.0.1:{bench.given[3]}/#{bench.token}"
    assert len(bench.token) >= 43, "256 bits"
    assert bench.token not in caplog.text + "".join(capfd.readouterr())
    assert "uvicorn" not in caplog.text


def test_each_run_has_another_token(bench):
    with bench.running():
        first = bench.token
    with bench.running():
        assert bench.token != first


def test_only_this_machines_own_address_is_listened_on(bench):
    """127.0.0.2 leads to whatever listens on all addresses."""
    with bench.running() as address:
        port = httpx.URL(address).port
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.2", port), timeout=LONG)


def test_the_table_and_the_policy_are_handed_on(bench):
    with bench.running(table="a.csv", policy="p.toml"):
        assert bench.given[:3] == (Path("folder"), "a.csv", Path("p.toml"))


@pytest.mark.slow
def test_it_stops_after_an_idle_hour_and_not_before(bench):
    with bench.running(idle_seconds=3_600) as address, entered(address) as client:
        bench.now = 3_599
        looks_at(bench, 3_599)
        assert client.get("/data").text == "inside"
        bench.now = 3_599 + 3_599  # the request counts
        looks_at(bench, bench.now)
        assert client.get("/data").text == "inside"
        assert not bench.was_idle

    assert bench.was_idle == [True]
    assert bench.ended == ["jobs", "application"]


def test_jobs_that_cant_be_ended_dont_keep_it(bench):
    bench.ends_jobs = False
    with bench.running():
        pass

    assert bench.ended == ["application"]
    assert bench.was_idle == [True]


def looks_at(bench, now):
    """Wait until the server has looked for work twice at this time."""
    for _ in range(2):
        while bench.looked.get(timeout=LONG) != now:
            pass


@pytest.mark.slow
def test_a_running_job_keeps_it_awake(bench):
    with bench.running(idle_seconds=3_600) as address, entered(address) as client:
        bench.runs_job, bench.now = True, 50_000
        looks_at(bench, 50_000)
        bench.runs_job, bench.now = False, 50_000 + 3_599  # an hour is left to see what came of it
        looks_at(bench, bench.now)
        assert client.get("/data").text == "inside"

    assert bench.was_idle == [True]


def test_a_port_that_is_taken_is_named(bench):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ParameterError, match=f"can't listen on port {port}") as refused:
            bench.run(port=port)

    assert "0 is one that is free" in str(refused.value.hint)
    assert bench.said.empty(), "no address is said that leads elsewhere"


@pytest.mark.parametrize("port", [-1, 65_536, "80"])
def test_a_port_that_cant_be_is_refused(bench, port):
    with pytest.raises(ParameterError):
        bench.run(port=port)


def test_a_chosen_port_is_used(bench):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    with bench.running(port=port) as address:
        assert httpx.URL(address).port == port


def test_pages_that_cant_start_are_an_error(bench, caplog):
    bench.fails = True

    with pytest.raises(HalfmaskError, match="failed to start"):
        bench.run()

    assert bench.said.empty()
    assert "CANARY" not in caplog.text


def test_the_browser_gets_the_address_once_it_leads_to_the_pages(bench, monkeypatch):
    opened: SimpleQueue[tuple[str, int]] = SimpleQueue()

    def look(address):
        opened.put((address, httpx.get(address, trust_env=False).status_code))
        bench.now += 1e6

    monkeypatch.setattr(webbrowser, "open", look)

    run_workbench("folder", announce=bench.said.put)

    assert opened.get(timeout=LONG) == (bench.said.get(timeout=LONG), 200)


@pytest.fixture
def chromium():
    """Debian's browser; the test skips by name where it is absent."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright isn't installed")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("chromium isn't installed")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.mark.slow
@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_a_browser_enters_by_the_address_and_a_second_one_doesnt(bench, chromium, script):
    with bench.running() as address:
        page = chromium.new_context(java_script_enabled=script).new_page()
        page.goto(address)
        if not script:
            page.get_by_label("Address or token").fill(address)
            page.get_by_role("button").click()
        start = address.partition("#")[0]
        page.wait_for_url(lambda url: url == start)  # the token isn't in it
        page.goto(f"{start}data")
        assert page.inner_text("body") == "inside"

        other = chromium.new_context().new_page()
        other.goto(address)
        other.wait_for_url("**/enter")
        assert "was used before" in other.inner_text("main")


def test_without_the_extra_it_is_named(monkeypatch):
    monkeypatch.setattr("halfmask._foreign.find_spec", lambda name: None)  # noqa: ARG005 # as it

    with pytest.raises(MissingDependencyError, match=r"starlette, uvicorn, python-multipart"):
        run_workbench("folder")


STOPPED = """
import sys
from types import ModuleType

from starlette.applications import Starlette

from halfmask.workbench import run_workbench
from halfmask.workbench._guard import PageGuard


def create(folder, table, policy, *, token, port):
    close = lambda: print("jobs ended", flush=True)
    return PageGuard(Starlette(), token=token, port=port, most_bytes=9, close=close)


module = sys.modules["halfmask.workbench._app"] = ModuleType("halfmask.workbench._app")
module.create_workbench = create
said = lambda address: print(address, flush=True)
print("idle" if run_workbench(".", opens_browser=False, announce=said) else "asked")
"""


@pytest.mark.slow
@pytest.mark.parametrize(("blow", "status"), [("SIGINT", 0), ("SIGTERM", -signal.SIGTERM)])
def test_it_stops_with_the_terminal_and_ends_its_jobs(blow, status, tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", STOPPED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(halfmask.__file__).parents[1])},
        cwd=tmp_path,
        text=True,
        # A shell that runs the tests in the background turns the interrupt key off.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509 # no thread of ours runs
    )
    with process:
        try:
            assert process.stdout is not None
            with entered(process.stdout.readline().strip()) as client:  # stays connected
                assert client.get("/").status_code == 404
                process.send_signal(getattr(signal, blow))
                out, err = process.communicate(timeout=LONG)
        finally:
            process.kill()

    assert (process.returncode, err) == (status, "")
    assert out == ("jobs ended\nasked\n" if status == 0 else "jobs ended\n")


STUCK = """
import sys
import threading
from halfmask.workbench import _app, _page, run_workbench

def show(desk, query):
    print("reading", flush=True)
    threading.Event().wait()

page = _page.Page("data", "Data", show, needs="")
_app.page_named = lambda name: page
run_workbench(sys.argv[1], opens_browser=False, announce=lambda it: print(it, flush=True))
print("stopped")
"""


@pytest.mark.slow
def test_a_read_that_never_ends_doesnt_keep_the_terminal(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", STUCK, str(tmp_path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(halfmask.__file__).parents[1])},
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509 # as above
    )
    with process:
        try:
            assert process.stdout is not None
            with entered(process.stdout.readline().strip()) as client:
                asking = threading.Thread(target=ask_in_vain, args=[client])
                asking.start()
                assert process.stdout.readline() == "reading\n"
                process.send_signal(signal.SIGINT)
                out, _ = process.communicate(timeout=LONG)
                asking.join(timeout=LONG)
        finally:
            process.kill()

    assert (process.returncode, out) == (0, "stopped\n")


def ask_in_vain(client):
    with suppress(httpx.HTTPError):
        client.get("/data", timeout=LONG)
