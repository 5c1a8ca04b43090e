"""Private files: on the disk before they have their name, and the name before we go on."""

from __future__ import annotations

import fcntl
import os
import stat
from pathlib import Path

import pytest

from halfmask._errors import IntegrityError, VaultError
from halfmask.vault import read_private_file
from halfmask.vault.private_files import (
    InUseError,
    hold_file,
    read_private,
    replace_private,
    write_private,
)


def test_data_reach_the_disk_before_the_name(tmp_path, monkeypatch):
    """Write, flush, rename, flush the folder: in this order (Pillai et al., OSDI 2014)."""
    done: list[str] = []
    flush, rename = os.fsync, Path.replace

    def fsync(descriptor):
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        done.append(f"flush {kind} of {os.fstat(descriptor).st_size if kind == 'file' else 0}")
        flush(descriptor)

    def replace(self, target):
        done.append("rename")
        return rename(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    replace_private(tmp_path / "file", b"whole")

    assert done == ["flush file of 5", "rename", "flush folder of 0"]
    assert (tmp_path / "file").read_bytes() == b"whole"


def test_what_cant_be_written_leaves_nothing(tmp_path, monkeypatch):
    write_private(tmp_path / "file", b"old")

    def refuse(*_):
        raise OSError(5, "no")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="no"):
        replace_private(tmp_path / "file", b"new")
    with pytest.raises(OSError, match="no"):
        write_private(tmp_path / "other", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_nothing_is_written_over(tmp_path):
    write_private(tmp_path / "file", b"old")
    with pytest.raises(FileExistsError):
        write_private(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"old"


def test_a_file_that_is_too_long(tmp_path):
    write_private(tmp_path / "file", b"12345")
    with pytest.raises(IntegrityError, match="longer"):
        read_private(tmp_path / "file", what="It", most=4)
    assert read_private(tmp_path / "file", what="It", most=5) == b"12345"


def test_a_file_that_others_may_read(tmp_path):
    write_private(tmp_path / "file", b"12345")
    (tmp_path / "file").chmod(0o644)
    with pytest.raises(VaultError, match="0644"):
        read_private(tmp_path / "file", what="It", most=5)


def test_a_file_of_a_caller_is_read_or_refused_without_its_path(tmp_path):
    """Absent, a link, or one that others may read: an error that names its role."""
    write_private(tmp_path / "mine", b"secret")
    assert read_private_file(tmp_path / "mine", what="The key file", most=6) == b"secret"

    (tmp_path / "link").symlink_to(tmp_path / "mine")
    (tmp_path / "open").write_bytes(b"secret")
    (tmp_path / "open").chmod(0o644)
    for name in ("absent", "link", "open"):
        with pytest.raises(VaultError, match="The key file") as refused:
            read_private_file(str(tmp_path / name), what="The key file", most=6)
        assert str(tmp_path) not in str(refused.value)


def test_a_file_is_held_by_one_and_free_when_its_holder_is_done(tmp_path, monkeypatch):
    """Also where a child that was forked meanwhile has its descriptor too."""
    copies: list[int] = []
    lock = fcntl.flock

    def copying(descriptor, how):
        copies.append(os.dup(descriptor))
        lock(descriptor, how)

    monkeypatch.setattr("fcntl.flock", copying)
    with (
        hold_file(tmp_path / "held", what="The file"),
        pytest.raises(InUseError, match=f"is in use.*pid {os.getpid()}"),
        hold_file(tmp_path / "held", what="The file"),
    ):
        pass
    with hold_file(tmp_path / "held", what="The file"):
        pass
    for descriptor in copies:
        os.close(descriptor)
