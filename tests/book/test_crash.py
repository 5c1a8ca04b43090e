"""kill -9 before any step on a file or a database: what has left is booked, and no more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import halfmask

# Forks a child for each step, which ends by its own hand before it takes that step; then another
# process books a release, as the next writer would, and looks at what is there.
SCRIPT = """
import os, shutil, signal, sqlite3, sys
from itertools import count
from pathlib import Path

sys.path.insert(0, sys.argv[3])
from book.conftest import publish
from halfmask import VaultError
from halfmask.book import ReleaseBook
from halfmask.release.booking import Leaving
from halfmask.vault import KeyFile, Vault
from halfmask.vault.private_database import PrivateDatabase

place, job = Path(sys.argv[1]), sys.argv[2]
work, kept = place / "work", place / "kept"
WATCHED = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate"}


def vault():
    return Vault.open(work / "vault", lock=KeyFile(place / "key"))


def book():
    return ReleaseBook.open(vault(), dataset="people")


def run():
    if job == "create":
        ReleaseBook.create(vault(), dataset="people")
    elif job == "publish":
        publish(book(), work / "out", leaving=Leaving(plan=b"new"))
    else:
        book().forget(1)


def count_steps(limit):
    seen = 0

    def step():
        nonlocal seen
        seen += 1
        if seen == limit:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(event, arguments):
        if event not in WATCHED or not any(str(place) in str(it) for it in arguments[:2]):
            return
        if event == "open" and not (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            return
        step()

    class Watched(sqlite3.Connection):
        def execute(self, *arguments):
            step()
            return super().execute(*arguments)

    def opened(self):
        uri = f"{self.path.as_uri()}?mode=rw"
        return sqlite3.connect(uri, uri=True, isolation_level=None, factory=Watched)

    sys.addaudithook(watch)
    PrivateDatabase._open = opened
    for name in ("fsync", "write", "pwrite", "fchmod"):
        def wrapped(*arguments, plain=getattr(os, name)):
            step()
            return plain(*arguments)

        setattr(os, name, wrapped)


def go_on():
    # The next writer isn't in the way of what the dead one left, and settles it.
    if job == "create":
        try:
            ReleaseBook.create(vault(), dataset="people")
            found = "old"
        except VaultError:
            found = "new"
        assert book().releases() == ()
        return found
    shutil.rmtree(work / ".out", ignore_errors=True)
    publish(book(), work / "next", leaving=Leaving(plan=b"next"))
    releases = {each.number: each for each in book().releases()}
    last = releases[book().find("last")]
    assert (last.number, last.out) == (len(releases), str(work / "next"))
    plans = {each.number for each in releases.values() if book().plan_of_all(each)}
    assert {f"book/people/{number}" for number in plans} == {
        name for name in vault().names() if name[-1].isdecimal()
    }
    if job == "forget":
        return "new" if releases[1].forgotten else "old"
    states = [each.state for each in releases.values() if each.out == str(work / "out")]
    has_left = (work / "out").exists()
    assert states in ([["left"]] if has_left else [[], ["void"]]), states
    assert not has_left or book().plan_of(2) == b"new"
    return "new" if has_left else "old"


def plan_of_all(self, release):
    return not release.forgotten and self.plan_of(release.number) is not None


ReleaseBook.plan_of_all = plan_of_all


def main():
    work.mkdir()
    KeyFile.create(place / "key")
    Vault.create(work / "vault", lock=KeyFile(place / "key"))
    if job != "create":
        publish(ReleaseBook.create(vault(), dataset="people"), work / "1",
                leaving=Leaving(plan=b"old"))
    work.rename(kept)
    for limit in count(1):
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(kept, work)
        child = os.fork()
        if not child:
            count_steps(limit)
            run()
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        print(go_on())
        if status == 0:
            break
        assert os.WTERMSIG(status) == signal.SIGKILL, status


main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("job", "fewest"), [("create", 30), ("publish", 60), ("forget", 30)])
def test_killed_at_any_step(tmp_path, job, fewest):
    """Old until it is new, and new from then on."""
    tests = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path), job, tests],
        check=False,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(Path(halfmask.__file__).parents[1])},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    seen = done.stdout.split()
    assert seen == sorted(seen, key=lambda word: word == "new"), "old, and then new"
    assert (seen[0], seen[-1]) == ("old", "new")
    assert len(seen) > fewest, "the hook must have seen the writing"
