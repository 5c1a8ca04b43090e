"""A vault behind a key file, which opens at once."""

from __future__ import annotations

import json
import stat

import pytest

from halfmask.vault import KeyFile, Vault

#: Stands in names, contexts, secrets and sealed bytes: no file, message or repr may hold it.
CANARY = "CANARY"


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    """A test's folder needn't survive a power cut; that there is a flush is tested by itself."""
    monkeypatch.setattr("os.fsync", lambda _: None)


@pytest.fixture
def lock(tmp_path):
    return KeyFile.create(tmp_path / "key")


@pytest.fixture
def vault(tmp_path, lock):
    """A vault with a secret and some sealed bytes."""
    made = Vault.create(tmp_path / "vault", lock=lock)
    made.secret("customers")
    made.seal("plan", b"CANARY-plan", context="CANARY-context")
    return made


@pytest.fixture
def where(tmp_path, vault):  # noqa: ARG001 # the vault has to be there
    return tmp_path / "vault"


@pytest.fixture
def files():
    """List the files of a vault with their contents."""

    def files(folder):
        return {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }

    return files


@pytest.fixture
def modes():
    """List the modes of all that lies in a folder, and of the folder."""

    def modes(folder):
        return {
            stat.S_IMODE(path.lstat().st_mode)
            for path in (folder, *folder.rglob("*"))
            if path.is_dir()
        }, {stat.S_IMODE(path.lstat().st_mode) for path in folder.rglob("*") if path.is_file()}

    return modes


@pytest.fixture
def header_of():
    """Return what a vault's header says, and a function that writes it altered, checksum right."""
    from halfmask.vault._key_file import checked, with_checksum  # noqa: PLC0415 # only here

    def header_of(folder):
        generation = (folder / "current").read_text().splitlines()[2]
        path = folder / generation / "header"
        said = json.loads(checked(path.read_bytes(), what="header"))

        def write(changed):
            text = json.dumps(changed, sort_keys=True, separators=(",", ":")) + "\n"
            path.write_bytes(with_checksum(text.encode()))

        return said, write

    return header_of
