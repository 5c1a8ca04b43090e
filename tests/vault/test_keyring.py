"""The system's keyring: asked through a package that may not be there."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from halfmask._errors import IntegrityError, KeyMismatchError, MissingDependencyError, VaultError
from halfmask.vault import KeyFile, Keyring, Vault


@pytest.fixture
def entries(monkeypatch):
    """A keyring in memory, in the package's place."""
    held: dict[tuple[str, str], str] = {}

    def delete_password(service, name):
        del held[service, name]

    backend = SimpleNamespace(
        get_password=lambda service, name: held.get((service, name)),
        set_password=lambda service, name, word: held.update({(service, name): word}),
        delete_password=delete_password,
    )
    monkeypatch.setitem(sys.modules, "keyring", backend)
    return held


def test_a_vault_behind_one(tmp_path, entries, files):
    vault = Vault.create(tmp_path / "vault", lock=Keyring())
    key = vault.secret("a").key("x")

    assert Vault.open(tmp_path / "vault", lock=Keyring()).secret("a").key("x") == key
    assert {service for service, _ in entries} == {"halfmask-vault"}
    (word,) = entries.values()
    for text in files(tmp_path).values():
        assert word.encode() not in text
        assert bytes.fromhex(word) not in text


def test_rotation_takes_a_new_entry_and_removes_the_old(tmp_path, entries):
    vault = Vault.create(tmp_path / "vault", lock=Keyring())
    before = set(entries)
    vault.rotate()

    assert len(entries) == 1
    assert not before & set(entries)
    vault.rewrap(KeyFile.create(tmp_path / "key"))
    assert not entries


def test_destroying_removes_the_entry(tmp_path, entries):
    Vault.create(tmp_path / "vault", lock=Keyring()).destroy()
    assert not entries


def test_a_keyring_without_it(tmp_path, entries):
    Vault.create(tmp_path / "vault", lock=Keyring())
    kept = dict(entries)
    entries.clear()
    with pytest.raises(KeyMismatchError, match="no key"):
        Vault.open(tmp_path / "vault", lock=Keyring())
    for wrong in ("", "CANARY", 7):
        entries.update(dict.fromkeys(kept, wrong))
        with pytest.raises(IntegrityError) as caught:
            Vault.open(tmp_path / "vault", lock=Keyring())
        assert "CANARY" not in str(caught.value)
    entries.update(dict.fromkeys(kept, "00" * 32))
    with pytest.raises(KeyMismatchError):
        Vault.open(tmp_path / "vault", lock=Keyring())


def test_without_the_package(tmp_path, monkeypatch):
    """It is said what is missing, and no vault is left behind."""
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(MissingDependencyError, match="keyring") as caught:
        Vault.create(tmp_path / "vault", lock=Keyring())
    assert caught.value.hint is not None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("entries")
def test_a_keyring_that_fails(tmp_path, monkeypatch):
    """A machine without a keyring raises errors of its own: none of their words is passed on."""

    def fail(*_):
        raise RuntimeError("CANARY")

    vault = Vault.create(tmp_path / "vault", lock=Keyring())
    for call in ("get_password", "set_password", "delete_password"):
        monkeypatch.setattr(sys.modules["keyring"], call, fail)
    for work in (
        lambda: Vault.open(tmp_path / "vault", lock=Keyring()),
        lambda: Vault.create(tmp_path / "new", lock=Keyring()),
        vault.rotate,
    ):
        with pytest.raises(VaultError, match="RuntimeError") as caught:
            work()
        assert "CANARY" not in str(caught.value)
    vault.destroy()
    assert list(tmp_path.iterdir()) == []
