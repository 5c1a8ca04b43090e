"""Whatever ends the process, OUT holds the old release or the new one, complete, or nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import halfmask

COMMAND = "import sys; from halfmask.cli import main; sys.exit(main())"

# Ends the process at the n-th thing that it is about to do to a file beside OUT, or to OUT.
KILLED = """
import os, signal, sys
limit, folder = int(sys.argv.pop(1)), sys.argv.pop(1)
blow, seen = getattr(signal, sys.argv.pop(1)), 0
WATCHED = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree"}

def watch(event, arguments):
    global seen
    if event not in WATCHED or not any(folder in str(each) for each in arguments[:2]):
        return
    if event == "open" and not (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        return
    seen += 1
    if seen == limit:
        os.kill(os.getpid(), blow)

sys.addaudithook(watch)
from halfmask.cli import main
status = main()
sys.stderr.write(f"seen {seen}")
sys.exit(status)
"""
# The same, but where Python can't raise what the request becomes: while an object ends. Then the
# program waits for the system, for half a minute at most.
LOST = KILLED.replace(
    "        os.kill(os.getpid(), blow)\n",
    """        class Ending:
            def __del__(self):
                os.kill(os.getpid(), blow)
                for _ in range(1000):
                    pass
                sys.stderr.write("still here")

        Ending()
        sys.stderr.write("lost")
        import select
        select.select([os.pipe()[0]], [], [], 30)
        sys.stderr.write("waited")
""",
)
# Interrupts where no command runs yet, or no more: while the command's own modules are imported,
# and while a failure is said.
EARLY = """
import os, signal, sys

def watch(event, arguments):
    if event == "import" and arguments[0] == "halfmask.cli._vault":
        os.kill(os.getpid(), signal.SIGINT)

sys.addaudithook(watch)
from halfmask.cli import main
sys.exit(main())
"""
LATE = """
import os, signal, sys
from halfmask.cli import _app, main

def failure_of(error):
    os.kill(os.getpid(), signal.SIGINT)

_app.failure_of = failure_of
sys.exit(main())
"""
# A file may not grow beyond this many bytes: to the program, the disk is full.
FULL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
del sys.argv[1]
from halfmask.cli import main
sys.exit(main())
"""


def _k_of(desk, run) -> int | None:
    """Return the k of the release in OUT, which must hold, or None where there is nothing."""
    if not desk.out.exists():
        return None
    answer = run("verify", desk.out, "--json")
    assert answer.status == 0, "half a release"
    assert (desk.out / "report.html").stat().st_size > 0
    return int(answer.json["claims"][0]["parameters"]["k"])


@pytest.mark.slow
@pytest.mark.parametrize("old", [False, True], ids=["nothing there", "an old release there"])
def test_killed_at_any_point(run, start, desk, old):
    """kill -9 before each step leaves all or nothing, and the next run cleans up."""
    if old:
        assert run(*desk.protect()).status == 0
        desk.policy.write_text(desk.policy.read_text().replace("k = 4", "k = 5"))
    before, after = (4, 5) if old else (None, 4)
    kept = desk.folder.parent / "kept"
    shutil.copytree(desk.folder, kept)
    found: list[int | None] = []
    status, limit = -9, 0
    while status:
        limit += 1
        shutil.rmtree(desk.folder)
        shutil.copytree(kept, desk.folder)
        status = start(
            limit, desk.folder, "SIGKILL", *desk.protect("--overwrite"), code=KILLED
        ).status
        found.append(_k_of(desk, run))
        assert found[-1] in {before, after}
        assert status in {0, -9}
        assert run(*desk.protect("--overwrite")).status == 0
        names = ["out", "out.owner.html", "people.csv", "policy.toml"]
        assert desk.names() == names, "leftovers stay"

    assert limit > 5, "the hook must have seen the writing"
    assert found == sorted(found, key=lambda k: k == after), "old until it is new"
    assert found[0] == before


@pytest.mark.slow
@pytest.mark.parametrize("blow", ["SIGTERM", "SIGINT"])
def test_asked_to_stop(start, desk, blow):
    """A polite end cleans up after itself, says so in a line, and is exit code 130."""
    answer = start(3, desk.folder, blow, *desk.protect("--json"), code=KILLED)

    assert (answer.status, answer.json["code"]) == (130, "interrupted")
    assert "CANARY" not in answer.out + answer.err
    assert desk.names() == ["people.csv", "policy.toml"]


@pytest.mark.slow
@pytest.mark.parametrize("blow", ["SIGTERM", "SIGINT"])
def test_asked_to_stop_where_nothing_can_be_raised(start, desk, blow):
    """The request is lost in a callback, as of a weak reference, and is made again."""
    answer = start(1, desk.folder, blow, *desk.protect("--json"), code=LOST)

    assert answer.err.startswith("lostseen"), "nothing is said of what was lost"
    assert (answer.status, answer.json["code"]) == (130, "interrupted")
    assert desk.names() == ["people.csv", "policy.toml"]


@pytest.mark.parametrize("code", [EARLY, LATE], ids=["imports", "failure"])
def test_an_interrupt_before_and_after_the_command(start, desk, code):
    """One error and its hint, and no traceback; the table isn't there, which is the failure."""
    answer = start("describe", desk.folder / "nothing.csv", code=code)

    assert (answer.status, answer.out) == (130, "")
    assert re.fullmatch(r"Error: Stopped before it was done\.\nHint: [^\n]+\n", answer.err)


@pytest.mark.slow
def test_an_interrupt_while_kernels_are_compiled(desk, tmp_path):
    """In a process that has no kernels yet, at the line that says so; nothing is left."""
    source = Path(halfmask.__file__).parents[1]
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *map(str, desk.protect())],
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(source), "NUMBA_CACHE_DIR": str(tmp_path)},
        text=True,
    )
    assert process.stderr is not None
    first = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=300)

    assert first.startswith("Compiling")
    assert process.returncode == 130
    assert "Error: Stopped before it was done." in said
    assert "Traceback" not in said
    assert "Exception ignored" not in said
    assert desk.names() == ["people.csv", "policy.toml"]


@pytest.mark.slow
@pytest.mark.parametrize("room", [0, 100, 2_000, 10_000])
def test_a_full_disk(run, start, desk, room):
    """A disk that is full is an error, exit code 1, and nothing is left."""
    run(*desk.protect())  # so that the kernels' cache needs no room
    assert (desk.out / "report.html").stat().st_size > room, "the report must not fit"
    shutil.rmtree(desk.out)
    desk.out.with_name("out.owner.html").unlink()

    answer = start(room, *desk.protect("--json"), code=FULL)

    assert answer.status == 1, answer.err
    # The system's own word for this stand-in of a full disk is that the file is too large.
    assert re.search("full|large", json.loads(answer.out)["error"])
    assert "CANARY" not in answer.out + answer.err
    assert desk.names() == ["people.csv", "policy.toml"]


@pytest.mark.slow
def test_a_full_disk_for_the_policy(start, desk):
    """The same for describe: no half of a policy."""
    answer = start(100, "describe", desk.table, "--out", desk.folder / "new.toml", code=FULL)

    assert answer.status == 1
    assert "full" in answer.err
    assert desk.names() == ["people.csv", "policy.toml"]
