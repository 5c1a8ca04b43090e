"""``halfmask workbench``: what is opened and where, how its address is said, and how it stops."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

import halfmask
from halfmask import workbench

SOURCE = Path(halfmask.__file__).parents[1]
ADDRESS = "http://127.0.0.1:4711/#token-of-the-test"
COMMAND = "import sys; from halfmask.cli import main; sys.exit(main())"


@pytest.fixture
def asked(monkeypatch):
    """What the workbench was asked for; it says its address and stops at once."""
    found: dict[str, object] = {}

    def run_workbench(folder, *, announce, **more):
        found.update(more, folder=folder)
        announce(ADDRESS)
        return False

    monkeypatch.setattr(workbench, "run_workbench", run_workbench)
    return found


def test_by_default_the_current_folder_is_opened_in_a_browser(run, asked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    answer = run("workbench")

    assert answer.status == 0
    assert answer.out.splitlines()[0] == ADDRESS, "the address on a line of its own, to click"
    assert "Ctrl+C" in answer.out
    assert asked == {
        "folder": Path(),
        "table": None,
        "policy": None,
        "port": 0,
        "opens_browser": True,
        "idle_seconds": 3_600,
    }


def test_options_are_handed_on(run, asked, desk, tmp_path):
    folder = tmp_path / "new"

    options = ["--folder", folder, "--port", "4711", "--idle", "5", "--no-open"]
    answer = run("workbench", desk.table, *options, "--policy", folder / "p.toml", "--json")

    assert answer.json == {"ok": True, "address": ADDRESS}
    assert asked == {
        "folder": folder,
        "table": str(desk.table),
        "policy": str(folder / "p.toml"),
        "port": 4_711,
        "opens_browser": False,
        "idle_seconds": 300,
    }
    assert folder.is_dir()


def test_a_policy_may_stand_in_the_place_of_the_table(run, asked, desk):
    assert run("workbench", desk.policy).status == 0

    assert (asked["table"], asked["policy"]) == (None, str(desk.policy))
    assert asked["folder"] == desk.folder, "where it lies"


def test_a_table_is_found_from_any_folder(run, asked, desk, monkeypatch):
    monkeypatch.chdir(desk.folder)

    assert run("workbench", desk.table.name).status == 0

    assert asked["table"] == str(desk.table)


def test_a_database_is_handed_on_unchanged(run, asked):
    url = "postgresql://localhost/shop?table=people"

    assert run("workbench", url).status == 0

    assert asked["table"] == url


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["nope.csv"], 1, "The table to read is not there."),
        (["nope.toml"], 1, "The policy file is not there."),
        (["-"], 2, "standard input can't be"),
        (["policy.toml", "--policy", "other.toml"], 2, "Two policies are given."),
        (["--port", "70000"], 2, "--port"),
        (["--idle", "0"], 2, "--idle"),
    ],
)
def test_what_cant_be_opened_is_named(run, asked, desk, monkeypatch, words, status, says):
    monkeypatch.chdir(desk.folder)

    answer = run("workbench", *words)

    assert answer.status == status
    assert says in answer.err
    assert "CANARY" not in answer.err
    assert not asked


def test_a_port_that_is_taken_is_named(run, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        answer = run("workbench", "--folder", tmp_path, "--port", port, "--no-open", "--json")

    assert (answer.status, answer.json["code"]) == (1, "parameter")
    assert f"port {port}" in answer.json["error"]


WITHOUT = """
import sys
sys.modules["starlette"] = sys.modules["uvicorn"] = None  # as if they weren't installed
from halfmask.cli import main
sys.exit(main())
"""


@pytest.mark.slow
def test_a_missing_extra_is_named(start, tmp_path):
    answer = start("workbench", "--folder", tmp_path, "--no-open", "--json", code=WITHOUT)

    assert (answer.status, answer.json["code"]) == (1, "missing-dependency")
    assert "pip install 'halfmask[workbench]'" in answer.json["hint"]


@pytest.mark.slow
def test_help_needs_no_server(start):
    """Whoever reads the help waits for no library."""
    answer = start("workbench", "--help", code=WITHOUT)

    assert answer.status == 0
    assert "--no-open" in answer.out


@pytest.mark.slow
@pytest.mark.parametrize("blow", ["SIGINT", "SIGTERM"])
def test_it_stops_with_the_terminal(desk, blow):
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "workbench", desk.table, "--no-open", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        cwd=desk.folder,
        text=True,
    )
    with process:
        try:
            assert process.stdout is not None
            address = json.loads(process.stdout.readline())["address"]
            page, _, token = address.partition("#")
            with httpx.Client(base_url=page, trust_env=False) as client:
                assert client.get("/data").status_code == 401
                own = {"origin": page.rstrip("/")}
                assert client.post("/enter", data={"token": token}, headers=own).status_code == 303
                process.send_signal(getattr(signal, blow))
                out, err = process.communicate(timeout=60)
        finally:
            process.kill()

    assert (process.returncode, out, err) == (0, "", "")
    assert desk.names() == [".halfmask", "people.csv", "policy.toml"]
    kept = [each for each in (desk.folder / ".halfmask").rglob("*") if each.is_file()]
    assert not any(token in each.read_text("utf-8") for each in kept), "nor is the token on disk"
