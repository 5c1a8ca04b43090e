"""kill -9 before any step on a file: the vault is as it was, or as it was to be, never neither."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import halfmask

# Forks a child for each step, which ends by its own hand before it takes that step; then looks at
# what is left, and lets the next writer go on from there.
SCRIPT = """
import os, shutil, signal, sys
from itertools import count
from pathlib import Path
from halfmask import HalfmaskError
from halfmask.vault import KeyFile, Vault

place, job = Path(sys.argv[1]), sys.argv[2]
where, kept = place / "vault", place / "kept"
old, new = KeyFile(place / "old"), KeyFile(place / "new")
WATCHED = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate"}
BIG = b"x" * 5000


def work():
    if job == "create":
        Vault.create(where, lock=old)
    else:
        vault = Vault.open(where, lock=old)
        {
            "rotate": vault.rotate,
            "rewrap": lambda: vault.rewrap(new),
            "secret": lambda: vault.secret("new"),
            "seal": lambda: vault.seal("plan", b"new", context="c", overwrite=True),
            "destroy one": lambda: vault.destroy("plan"),
            "destroy": vault.destroy,
        }[job]()


def state():
    if not (where / "current").exists():
        return "none"
    found = None
    for name, lock in (("old", old), ("new", new)):
        try:
            vault = Vault.open(where, lock=lock)
        except HalfmaskError as error:
            assert error.code == "key-mismatch", (job, error)
            continue
        assert found is None, "two locks open it"
        held = [
            vault.secret("customers", create=False).id if "customers" in vault.names() else "",
            str(len(vault.unseal("plan", context="c"))) if "plan" in vault.names() else "",
            vault.secret("new", create=False).id[:0] + "+" if "new" in vault.names() else "",
            vault._opened.header.pointer.generation,
        ]
        found = " ".join([name, *held])
    assert found is not None, "no lock opens it"
    return found


def restore():
    shutil.rmtree(where, ignore_errors=True)
    if kept.exists():
        shutil.copytree(kept, where)


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

    sys.addaudithook(watch)
    for name in ("fsync", "write", "pwrite", "fchmod"):
        def wrapped(*arguments, plain=getattr(os, name)):
            step()
            return plain(*arguments)

        setattr(os, name, wrapped)


def half_write():
    plain = os.write
    os.write = lambda descriptor, data: plain(descriptor, bytes(data)[: max(300, len(data) // 2)])


def main():
    KeyFile.create(old.path), KeyFile.create(new.path)
    if job != "create":
        vault = Vault.create(where, lock=old)
        vault.secret("customers")
        vault.seal("plan", BIG, context="c")
        shutil.copytree(where, kept)
    before = state()
    seen = []
    for limit in count(1):
        restore()
        child = os.fork()
        if not child:
            half_write()
            count_steps(limit)
            work()
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        after = state()
        print("old" if after == before else "new", after.replace(" ", "_"))
        if status == 0:
            break
        assert os.WTERMSIG(status) == signal.SIGKILL, status
        go_on(after)


def go_on(after):
    # The next writer isn't in the way of what the dead one left, and removes it.
    if after == "none":
        Vault.create(where, lock=old).secret("next")
        lock = old
    else:
        lock = old if after.startswith("old") else new
        Vault.open(where, lock=lock).secret("next")
    vault = Vault.open(where, lock=lock)
    there = {it.relative_to(where).as_posix() for it in where.rglob("*") if it.is_file()}
    generation = vault._opened.folder.name
    named = {f"{generation}/{it.file}" for it in vault.entries()}
    assert there == {"current", "writing", f"{generation}/header", f"{generation}/index", *named}


main()
"""


def _steps(tmp_path, job):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path), job],
        check=False,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(Path(halfmask.__file__).parents[1])},
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()]


FEWEST = {
    "create": 20,
    "rotate": 30,
    "rewrap": 30,
    "seal": 12,
    "secret": 10,
    "destroy one": 8,
    "destroy": 8,
}


@pytest.mark.slow
@pytest.mark.parametrize("job", FEWEST)
def test_killed_at_any_step(tmp_path, job):
    """Old until it is new, and new from then on; what is between the two is never seen."""
    steps = _steps(tmp_path, job)

    which = [word for word, _ in steps]
    assert which[0] == "old"
    assert which == sorted(which, key=lambda word: word == "new"), "old, and then new"
    assert which[-1] == "new"
    assert len(which) > FEWEST[job], "the hook must have seen the writing"
    if job not in {"rotate", "rewrap", "create"}:
        assert len({held for word, held in steps if word == "new"}) == 1
