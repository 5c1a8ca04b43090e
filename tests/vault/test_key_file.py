"""Key files: private, whole, or refused."""

from __future__ import annotations

import os
import stat

import pytest

from halfmask._errors import IntegrityError, KeyMismatchError, ParameterError, VaultError
from halfmask.vault import KeyFile, Vault


def test_a_new_one_is_private_and_random(tmp_path):
    for name in ("one", "other"):
        KeyFile.create(tmp_path / name)

    assert stat.S_IMODE((tmp_path / "one").stat().st_mode) == 0o600
    assert (tmp_path / "one").read_bytes() != (tmp_path / "other").read_bytes()
    assert (tmp_path / "one").read_text().startswith("halfmask-key/1\n")


def test_it_is_private_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        KeyFile.create(tmp_path / "key")
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600


def test_what_is_there_stays(tmp_path, lock):
    text = (tmp_path / "key").read_bytes()
    with pytest.raises(VaultError, match="is there") as caught:
        KeyFile.create(tmp_path / "key")
    assert (tmp_path / "key").read_bytes() == text
    assert str(tmp_path) not in str(caught.value)
    with pytest.raises(VaultError, match="Create it first"):
        KeyFile.create(tmp_path / "absent" / "key")
    assert lock.key(lock.fresh())


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o666, 0o601, 0o610, 0o777])
def test_a_wide_mode_is_refused(tmp_path, vault, lock, mode):
    assert vault.names()
    (tmp_path / "key").chmod(mode)
    with pytest.raises(VaultError, match=f"{mode:04o}"):
        Vault.open(tmp_path / "vault", lock=lock)
    (tmp_path / "key").chmod(0o400)
    assert Vault.open(tmp_path / "vault", lock=lock).names()


def test_another_users_is_refused(monkeypatch, lock):
    me = os.geteuid()
    monkeypatch.setattr("os.geteuid", lambda: me + 1)
    with pytest.raises(VaultError, match="another user"):
        lock.key(lock.fresh())


def test_links_folders_and_pipes_are_refused(tmp_path, lock):
    """And a pipe doesn't make us wait."""
    (tmp_path / "link").symlink_to(tmp_path / "key")
    (tmp_path / "folder").mkdir(mode=0o700)
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name, said in {
        "link": "link",
        "folder": "no file",
        "pipe": "no file",
        "absent": "not there",
    }.items():
        with pytest.raises(VaultError, match=said) as caught:
            KeyFile(tmp_path / name).key(lock.fresh())
        assert str(tmp_path) not in str(caught.value)


def test_every_byte_counts(tmp_path, lock):
    """An altered key file is told from a wrong one."""
    parameters, text = lock.fresh(), (tmp_path / "key").read_bytes()
    for place in range(len(text)):
        for flip in (0x01, 0x20):
            altered = bytearray(text)
            altered[place] ^= flip
            (tmp_path / "key").write_bytes(bytes(altered))
            with pytest.raises(IntegrityError):
                lock.key(parameters)
    for wrong in (b"", text[:-1], text + b"\n", bytes(2000)):
        (tmp_path / "key").write_bytes(wrong)
        with pytest.raises(IntegrityError):
            lock.key(parameters)


def test_another_key_file_doesnt_open(tmp_path, where):
    with pytest.raises(KeyMismatchError, match="key file"):
        Vault.open(where, lock=KeyFile.create(tmp_path / "other"))


def test_one_key_file_gives_each_vault_a_key_of_its_own(lock):
    one, other = lock.fresh(), lock.fresh()
    assert lock.key(one) != lock.key(other)
    assert lock.key(one) == lock.key(one)


def test_a_key_in_its_own_vault_is_refused(tmp_path, vault, where):
    """Locked in with what it opens, it would lock nothing."""
    (tmp_path / "way round").symlink_to(where)
    for place in (where, where / "deeper", tmp_path / "way round"):
        with pytest.raises(ParameterError, match="lies in the vault"):
            vault.rewrap(KeyFile(place / "key"))
    with pytest.raises(ParameterError):
        Vault.create(tmp_path / "new", lock=KeyFile(tmp_path / "new" / "key"))
    assert not (tmp_path / "new").exists()


def test_nothing_shows(tmp_path, lock):
    assert str(tmp_path) not in repr(lock)
