"""A vault's life: whatever is done in whatever order, it holds what a dictionary would."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import halfmask
from halfmask._errors import HalfmaskError, VaultError
from halfmask.vault import KeyFile, Secret, Vault

NAMES = st.sampled_from(["a", "b", "é", "x" * 200])


class Life(RuleBasedStateMachine):
    """Compare a vault with a dictionary of what was put into it."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.lock = KeyFile.create(self.folder / "key")
        self.vault = Vault.create(self.folder / "vault", lock=self.lock)
        self.held: dict[str, Secret | bytes] = {}

    def teardown(self):
        shutil.rmtree(self.folder)

    @rule(name=NAMES)
    def ask_for_a_secret(self, name):
        if isinstance(self.held.get(name), bytes):
            with pytest.raises(VaultError):
                self.vault.secret(name)
        else:
            found = self.vault.secret(name)
            assert self.held.setdefault(name, found) == found

    @rule(name=NAMES, data=st.binary(max_size=40), overwrite=st.booleans())
    def seal(self, name, data, overwrite):
        old = self.held.get(name)
        if old is None or (overwrite and isinstance(old, bytes)):
            self.vault.seal(name, data, context=name, overwrite=overwrite)
            self.held[name] = data
        else:
            with pytest.raises(VaultError):
                self.vault.seal(name, data, context=name, overwrite=overwrite)

    @rule(name=NAMES)
    def destroy(self, name):
        if name in self.held:
            self.vault.destroy(name)
            del self.held[name]
        else:
            with pytest.raises(VaultError):
                self.vault.destroy(name)

    @rule()
    def rotate(self):
        self.vault.rotate()

    @rule()
    def rewrap(self):
        lock = KeyFile.create(self.folder / os.urandom(8).hex())
        self.vault.rewrap(lock)
        with pytest.raises(HalfmaskError):
            Vault.open(self.folder / "vault", lock=self.lock)
        self.lock = lock

    @rule()
    def lose_the_lock(self):
        parts = self.vault.split(parts=3, needed=2)
        joined = Vault.join(self.folder / "vault", parts[1:])
        joined.rewrap(self.lock)
        self.vault = joined

    @rule()
    def open_anew(self):
        self.vault = Vault.open(self.folder / "vault", lock=self.lock)

    @invariant()
    def holds_what_was_put_in(self):
        assert self.vault.names() == tuple(sorted(self.held))
        for name, held in self.held.items():
            if isinstance(held, Secret):
                assert self.vault.secret(name, create=False) == held
            else:
                assert self.vault.unseal(name, context=name) == held


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=12, stateful_step_count=12, deadline=None)

ROTATING = """
import sys
from halfmask.vault import KeyFile, Vault
vault = Vault.open(sys.argv[1], lock=KeyFile(sys.argv[2]))
while True:
    vault.rotate()
"""


def test_reading_goes_on_while_another_process_rotates(where, lock, tmp_path):
    """No reader ever sees a generation that is half there or half gone."""
    vault = Vault.open(where, lock=lock)
    secret = vault.secret("customers")
    other = subprocess.Popen(
        [sys.executable, "-c", ROTATING, where, tmp_path / "key"],
        env={**os.environ, "PYTHONPATH": str(Path(halfmask.__file__).parents[1])},
    )
    seen: set[str] = set()
    while len(seen) < 6:
        assert other.poll() is None
        assert vault.secret("customers", create=False) == secret
        assert Vault.open(where, lock=lock).names() == ("customers", "plan")
        seen.add(vault._opened.header.pointer.generation)
    other.kill()  # in the middle of it
    other.wait()

    vault.rotate()
    assert vault.secret("customers", create=False) == secret
