"""Passphrases: slow to guess, by bounds that a header can't lower."""

from __future__ import annotations

import pickle

import pytest
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.kdf import argon2

from halfmask._errors import (
    IntegrityError,
    KeyMismatchError,
    MissingDependencyError,
    ParameterError,
    VaultError,
)
from halfmask.vault import Passphrase, Vault

WORDS = "CANARY six words drawn by dice"


def _cheap(words=WORDS):
    return Passphrase(words, memory_mib=64, passes=3)


@pytest.mark.parametrize(
    "words",
    ["", "short", "fourteen-chars", "a" * 30, "abcdabcdabcdabcd", "x" * 1000 + "abcde" * 10],
)
def test_weak_ones_are_refused(words):
    """Length and a few different letters: nothing is said of which letters."""
    with pytest.raises(ParameterError) as caught:
        Passphrase(words)
    assert len(words) < 2 or words not in str(caught.value)


@pytest.mark.parametrize(
    "words", ["exactly15letter", "correct horse battery staple", "é" * 11 + "abcd"]
)
def test_long_ones_are_taken(words):
    assert Passphrase(words).kind == "passphrase"


@pytest.mark.parametrize(
    "cost",
    [
        {"memory_mib": 63},
        {"memory_mib": 4097},
        {"passes": 2},
        {"passes": 65},
        {"passes": 3.0},
        {"memory_mib": True},
    ],
)
def test_costs_out_of_bounds(cost):
    with pytest.raises(ParameterError):
        Passphrase(WORDS, **cost)


@pytest.mark.parametrize("words", [None, b"bytes of fifteen letters", "\ud800" * 20])
def test_what_is_no_text(words):
    with pytest.raises(ParameterError):
        Passphrase(words)


@pytest.mark.slow
def test_the_key_is_that_of_argon2id():
    """The parameters are those of RFC 9106, and 256 MiB and 3 passes unless asked otherwise."""
    lock = _cheap()
    parameters = lock.fresh()
    expected = argon2.Argon2id(
        salt=bytes.fromhex(str(parameters["salt"])),
        length=32,
        iterations=3,
        lanes=4,
        memory_cost=64 * 1024,
    ).derive(WORDS.encode())

    assert lock.key(parameters) == expected
    assert {**Passphrase(WORDS).fresh(), "salt": ""} == {
        "salt": "",
        "memory_mib": 256,
        "passes": 3,
        "lanes": 4,
    }
    assert lock.fresh()["salt"] != parameters["salt"]


@pytest.mark.slow
def test_two_forms_of_a_letter_are_one():
    """A passphrase typed on another keyboard is the same: é is é."""
    composed, decomposed = (
        _cheap("caf\u00e9 and fifteen more"),
        _cheap("cafe\u0301 and fifteen more"),
    )
    parameters = composed.fresh()

    assert composed.key(parameters) == decomposed.key(parameters)


@pytest.mark.parametrize(
    "changed",
    [
        {"memory_mib": 8},
        {"memory_mib": 1 << 20},
        {"passes": 1},
        {"passes": 10**9},
        {"lanes": 1},
        {"passes": "3"},
        {"salt": ""},
        {"salt": "zz"},
        {"salt": "00" * 8},
    ],
)
def test_a_header_cant_make_guessing_cheap_nor_opening_endless(changed):
    lock = _cheap()
    with pytest.raises(IntegrityError):
        lock.key({**lock.fresh(), **changed})


@pytest.mark.slow
def test_a_vault_behind_one(tmp_path, header_of):
    """It opens with the words, not with others; the cost stands in the header, bound to the key."""
    where = tmp_path / "vault"
    Vault.create(where, lock=_cheap()).secret("a")

    assert Vault.open(where, lock=Passphrase(WORDS)).names() == ("a",)
    with pytest.raises(KeyMismatchError):
        Vault.open(where, lock=_cheap(WORDS + "!"))
    said, write = header_of(where)
    assert {**said["parameters"], "salt": ""} == {
        "salt": "", "memory_mib": 64, "passes": 3, "lanes": 4,
    }  # fmt: skip
    said["parameters"]["memory_mib"] = 8
    write(said)
    with pytest.raises(IntegrityError, match="cost"):
        Vault.open(where, lock=_cheap())
    said["parameters"]["memory_mib"] = 65
    write(said)
    with pytest.raises(KeyMismatchError):
        Vault.open(where, lock=_cheap())


@pytest.mark.parametrize(
    ("error", "ours"), [(UnsupportedAlgorithm, MissingDependencyError), (MemoryError, VaultError)]
)
def test_a_machine_that_cant(monkeypatch, error, ours):
    """No Argon2id, or no memory for it, is an error that says so, and never a cheaper way."""

    def refuse(*_args, **_named):
        raise error("CANARY")

    monkeypatch.setattr(argon2, "Argon2id", refuse)
    lock = _cheap()
    with pytest.raises(ours) as caught:
        lock.key(lock.fresh())
    assert "CANARY" not in str(caught.value)


def test_nothing_shows():
    lock = _cheap()
    assert "CANARY" not in repr(lock) + str(lock) + str(lock.fresh())
    assert not hasattr(lock, "__dict__")
    with pytest.raises(TypeError):
        pickle.dumps(lock)
