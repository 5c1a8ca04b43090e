# ruff: noqa: PT012 - what is tested is what a block leaves when it raises
from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from halfmask._errors import DataError, ParameterError, ReleaseError
from halfmask.data import atomic_file, atomic_folder
from halfmask.data.io import atomic as _atomic

CANARY = "canary-Zx81"


def path_of(descriptor):
    return str(Path(f"/proc/self/fd/{descriptor}").readlink())


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(params=["one step", "two steps"])
def renames(request, monkeypatch):
    """Both kinds of file systems: with and without renames that swap."""
    if request.param == "two steps":
        monkeypatch.setattr(_atomic, "_rename", lambda *_: False)
    return request.param


@pytest.mark.usefixtures("renames")
def test_a_file_is_written_whole(tmp_path):
    with atomic_file(tmp_path / "a.txt") as file:
        file.write(b"new")
        assert not (tmp_path / "a.txt").exists()

    assert (tmp_path / "a.txt").read_bytes() == b"new"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.usefixtures("renames")
def test_a_file_that_exists_stays_unless_it_may_be_overwritten(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"old")
    (tmp_path / "a.txt").chmod(0o640)

    with (
        pytest.raises(ReleaseError, match="The file to write exists"),
        atomic_file(tmp_path / "a.txt"),
    ):
        pass
    assert (tmp_path / "a.txt").read_bytes() == b"old"

    with atomic_file(tmp_path / "a.txt", overwrite=True) as file:
        file.write(b"new")
    assert (tmp_path / "a.txt").read_bytes() == b"new"
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o640
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.usefixtures("renames")
def test_a_file_that_appears_while_another_is_written_stays(tmp_path):
    with pytest.raises(ReleaseError, match="exists"), atomic_file(tmp_path / "a.txt") as file:
        file.write(b"mine")
        (tmp_path / "a.txt").write_bytes(b"theirs")

    assert (tmp_path / "a.txt").read_bytes() == b"theirs"
    assert names(tmp_path) == ["a.txt"]


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    with atomic_file(tmp_path / "a.txt"):
        pass

    assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("error", [DataError("no"), KeyboardInterrupt(), RuntimeError("x")])
def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, error):
    (tmp_path / "a.txt").write_bytes(b"old")

    with pytest.raises(type(error)), atomic_file(tmp_path / "a.txt", overwrite=True) as file:
        file.write(b"new")
        raise error

    assert (tmp_path / "a.txt").read_bytes() == b"old"
    assert names(tmp_path) == ["a.txt"]


def test_a_target_that_can_not_be_is_refused_without_its_path(tmp_path):
    (tmp_path / CANARY).mkdir()
    for path in (tmp_path / "none" / CANARY, tmp_path / CANARY, str(tmp_path / CANARY / "x" / "y")):
        for writer in (atomic_file, atomic_folder):
            with pytest.raises(ReleaseError) as caught, writer(path):
                pass
            assert CANARY not in repr(caught.value)


@pytest.mark.usefixtures("renames")
def test_a_folder_is_built_whole(tmp_path):
    with atomic_folder(tmp_path / "out") as folder:
        (folder / "data").mkdir()
        (folder / "data" / "part").write_bytes(b"new")
        assert not (tmp_path / "out").exists()

    assert (tmp_path / "out" / "data" / "part").read_bytes() == b"new"
    assert names(tmp_path) == ["out"]


@pytest.mark.usefixtures("renames")
def test_a_folder_that_exists_stays_unless_it_may_be_overwritten(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest").write_bytes(b"old")

    with (
        pytest.raises(ReleaseError, match="The folder to write exists"),
        atomic_folder(tmp_path / "out"),
    ):
        pass
    with atomic_folder(tmp_path / "out", overwrite=True, marker="manifest") as folder:
        (folder / "fresh").write_bytes(b"new")

    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == ["fresh"]


@pytest.mark.usefixtures("renames")
def test_a_folder_that_appears_while_another_is_built_stays(tmp_path):
    with pytest.raises(ReleaseError, match="exists"), atomic_folder(tmp_path / "out"):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "theirs").write_bytes(b"")

    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == ["theirs"]


def test_an_old_folder_that_was_set_aside_is_put_back_before_anything_else(tmp_path):
    aside = _atomic._aside(tmp_path / "out")
    aside.mkdir()
    (aside / "old").write_bytes(b"")

    with pytest.raises(ReleaseError, match="exists"), atomic_folder(tmp_path / "out"):
        pass

    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == ["old"]


def test_only_a_folder_with_the_marker_is_ever_replaced(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.txt").write_bytes(b"years")
    (tmp_path / "link").symlink_to(tmp_path / "home")
    (tmp_path / "file").write_bytes(b"")

    for name, marker in (("home", "manifest"), ("link", None), ("file", None)):
        with (
            pytest.raises(ReleaseError, match="so it stays"),
            atomic_folder(tmp_path / name, overwrite=True, marker=marker),
        ):
            pass

    assert names(tmp_path) == ["file", "home", "link"]
    assert names(tmp_path / "home") == ["thesis.txt"]


@pytest.mark.parametrize("error", [DataError("no"), KeyboardInterrupt(), RuntimeError("x")])
def test_an_error_leaves_the_old_folder_and_nothing_else(tmp_path, error):
    (tmp_path / "out").mkdir()

    with pytest.raises(type(error)), atomic_folder(tmp_path / "out", overwrite=True) as folder:
        (folder / "half").write_bytes(b"new")
        raise error

    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == []


def test_a_rename_that_fails_midway_puts_the_old_folder_back(tmp_path, monkeypatch):
    monkeypatch.setattr(_atomic, "_rename", lambda *_: False)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").write_bytes(b"")
    rename = Path.rename

    def fails_for_new(self, target):
        if self.suffix == ".tmp":
            raise OSError(errno.EIO, "x", CANARY)
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails_for_new)
    with pytest.raises(ReleaseError) as caught, atomic_folder(tmp_path / "out", overwrite=True):
        pass

    assert CANARY not in repr(caught.value)
    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == ["old"]


@pytest.mark.parametrize("call", ["fsync", "fchmod"])
def test_a_full_disk_leaves_the_old_and_nothing_else(tmp_path, monkeypatch, call):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left", CANARY)

    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "out").mkdir()
    monkeypatch.setattr(os, call, full)

    with (
        pytest.raises(ReleaseError, match="disk is full") as caught,
        atomic_file(tmp_path / "a", overwrite=True) as file,
    ):
        file.write(b"new")
    assert CANARY not in repr(caught.value)
    if call == "fsync":
        with (
            pytest.raises(ReleaseError, match="disk is full"),
            atomic_folder(tmp_path / "b") as new,
        ):
            (new / "part").write_bytes(b"new")

    assert names(tmp_path) == ["a", "out"]
    assert (tmp_path / "a").read_bytes() == b"old"


@pytest.mark.slow
def test_a_limit_of_file_size_is_a_full_disk(tmp_path):
    script = (
        "import resource, signal, sys\n"
        "from halfmask._errors import ReleaseError\n"
        "from halfmask.data import atomic_file\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try:\n"
        "    with atomic_file(sys.argv[1]) as file:\n"
        "        file.write(bytes(10_000_000))\n"
        "except ReleaseError as error:\n"
        "    print(error)\n"
    )
    assert resource.RLIMIT_FSIZE is not None
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "a"], capture_output=True, check=True, text=True
    )

    assert "disk is full" in done.stdout
    assert names(tmp_path) == []


def test_data_reaches_the_disk_before_the_name_and_the_name_before_the_end(tmp_path, monkeypatch):
    calls = []
    fsync, rename = os.fsync, _atomic._rename

    def noting_fsync(descriptor):
        calls.append(("fsync", path_of(descriptor)))
        fsync(descriptor)

    def noting_rename(source, target, flag):
        calls.append(("rename", str(source)))
        return rename(source, target, flag)

    monkeypatch.setattr(os, "fsync", noting_fsync)
    monkeypatch.setattr(_atomic, "_rename", noting_rename)
    with atomic_file(tmp_path / "a") as file:
        temporary = path_of(file.fileno())
    assert calls == [("fsync", temporary), ("rename", temporary), ("fsync", str(tmp_path))]

    calls.clear()
    with atomic_folder(tmp_path / "b") as folder:
        (folder / "sub").mkdir()
        (folder / "sub" / "part").write_bytes(b"x")
    inside = [calls.index(("fsync", str(folder / part))) for part in ("sub/part", "sub", "")]
    renamed = calls.index(("rename", str(folder)))
    assert max(inside) < renamed < calls.index(("fsync", str(tmp_path)))


def test_what_a_living_process_writes_is_not_swept(tmp_path):
    with atomic_folder(tmp_path / "out") as folder, atomic_file(tmp_path / "a") as file:
        (folder / "part").write_bytes(b"x")
        with atomic_file(tmp_path / "b"), atomic_folder(tmp_path / "c"):
            pass
        file.write(b"y")

    assert names(tmp_path) == ["a", "b", "c", "out"]
    assert names(tmp_path / "out") == ["part"]


def test_only_what_bears_our_mark_is_swept(tmp_path):
    mine = tmp_path / ".halfmask-0123456789abcdef.tmp"
    mine.mkdir()
    (mine / "part").write_bytes(b"x")
    for name in (".halfmask-xyz.tmp", "halfmask-0123456789abcdef.tmp", ".other.tmp"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "kept").write_bytes(b"")
    (tmp_path / ".halfmask-fedcba9876543210.tmp").symlink_to(tmp_path / "elsewhere")

    with atomic_file(tmp_path / "a"):
        pass

    assert not mine.exists()
    assert (tmp_path / "elsewhere" / "kept").exists()
    assert len(names(tmp_path)) == 6


def test_a_name_that_another_process_swept_is_made_again(tmp_path, monkeypatch):
    taken: list[Path] = []
    locked = _atomic._locked_and_there

    def swept_once(descriptor, path):
        if not taken:
            taken.append(path)
            _atomic._remove(path)
        return locked(descriptor, path)

    monkeypatch.setattr(_atomic, "_locked_and_there", swept_once)
    with atomic_file(tmp_path / "a"):
        pass
    taken.clear()
    with atomic_folder(tmp_path / "b"):
        pass

    assert names(tmp_path) == ["a", "b"]


# The process is killed at each line of our own code in turn, in a fork of a small process.
KILLED = """
import os, signal, sys
from pathlib import Path
from halfmask.data import atomic_file, atomic_folder
from halfmask.data.io import atomic as _atomic

where, kind, one_step = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "one step"
if not one_step:
    _atomic._rename = lambda *_: False
OURS = {_atomic.__file__}


def work():
    if kind == "file":
        with atomic_file(where / "out", overwrite=True) as file:
            file.write(b"new" * 5)
    else:
        with atomic_folder(where / "out", overwrite=True, marker="one") as folder:
            (folder / "one").write_bytes(b"new")
            (folder / "two").write_bytes(b"new")


def state():
    out = where / "out"
    if kind == "file":
        return out.read_bytes() if out.exists() else None
    if not out.exists():
        return None
    return b" ".join(path.read_bytes() for path in sorted(out.iterdir()))


def die_at(line):
    seen = 0
    def trace(frame, event, arg):
        nonlocal seen
        if frame.f_code.co_filename not in OURS:
            return None
        if event == "line":
            seen += 1
            if seen == line:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace
    sys.settrace(trace)
    work()
    os._exit(0)


def reset():
    for path in where.iterdir():
        _atomic._remove(path)
    if kind == "file":
        (where / "out").write_bytes(b"old")
    else:
        (where / "out").mkdir()
        (where / "out" / "one").write_bytes(b"old")
        (where / "out" / "two").write_bytes(b"old")


OLD, NEW = ((b"old", b"new" * 5) if kind == "file" else (b"old old", b"new new"))
found, line = [], 0
while True:
    line += 1
    reset()
    child = os.fork()
    if not child:
        die_at(line)
    status = os.waitpid(child, 0)[1]
    found.append({OLD: "old", NEW: "new", None: "none"}.get(state(), "HALF"))
    if not os.WIFSIGNALED(status):
        break
    # The next one to write there clears up, and first puts back what was set aside.
    if kind == "folder":
        _atomic._put_back(where / "out")
        found.append({OLD: "old again", NEW: "new again"}.get(state(), "LOST"))
    with atomic_file(where / "next"):
        pass
    left = sorted(path.name for path in where.iterdir())
    assert left == ["next", "out"], left
print(line, *found, sep="\\n")
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "folder"])
@pytest.mark.parametrize("step", ["one step", "two steps"])
def test_a_process_killed_at_any_line_leaves_the_old_or_the_new(tmp_path, kind, step):
    done = subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path, kind, step],
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    line, *found = done.stdout.split("\n")[:-1]

    assert int(line) > 40
    assert not {"HALF", "LOST"} & set(found)
    assert {"old", "new"} <= set(found)
    assert found[-1] == "new"
    if step == "one step" or kind == "file":
        assert "none" not in found
    else:
        # Between its two renames the old folder lies aside, and is put back.
        assert 0 < found.count("none") < 8


@pytest.mark.slow
def test_a_kill_in_the_block_leaves_the_old(tmp_path):
    script = (
        "import os, signal, sys\n"
        "from halfmask.data import atomic_folder\n"
        "with atomic_folder(sys.argv[1], overwrite=True) as folder:\n"
        "    (folder / 'half').write_bytes(b'x')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    (tmp_path / "out").mkdir()
    done = subprocess.run([sys.executable, "-c", script, tmp_path / "out"], check=False)

    assert done.returncode == -signal.SIGKILL
    assert names(tmp_path / "out") == []
    assert len(names(tmp_path)) == 2
    with atomic_folder(tmp_path / "out", overwrite=True):
        pass
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("write", [atomic_file, atomic_folder])
@pytest.mark.parametrize("path", [None, 5, b"out", "a\0b"])
def test_what_is_no_path_is_refused(tmp_path, monkeypatch, write, path):
    """The system ends a name at a NUL: another folder got it."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParameterError, match="must be given by a path"), write(path):
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("write", [atomic_file, atomic_folder])
def test_a_text_allows_no_overwriting(tmp_path, write):
    with pytest.raises(ParameterError, match="'overwrite'"), write(tmp_path / "a", overwrite="no"):
        pass
