"""Making a vault's folder, and leaving it: what is there of somebody else stays."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from halfmask._errors import ParameterError, VaultError
from halfmask.vault._generation import (
    LOCK_FILE,
    POINTER,
    Generation,
    is_ours,
    sole_writer,
    sweep,
    write_generation,
)
from halfmask.vault._key_file import KeyFile
from halfmask.vault.private_files import check_parent, check_private_folder, sync_folder

if TYPE_CHECKING:
    from halfmask.vault._lock import Lock


def make_vault(folder: Path, lock: Lock) -> Generation:
    """Make an empty vault where there is none, or where making one was interrupted."""
    check_apart(folder, lock)
    check_parent(folder, what="the vault")
    made = False
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        made = True
        sync_folder(folder.parent)
    check_private_folder(folder, what="The vault")
    _check_unused(folder)
    with sole_writer(folder):
        _check_unused(folder)
        sweep(folder, keep=None)
        try:
            opened = write_generation(folder, vault_id=os.urandom(8).hex(), lock=lock)
        except BaseException:
            if made:
                leave(folder)
            raise
    return opened


def _check_unused(folder: Path) -> None:
    if any(not is_ours(path) for path in folder.iterdir()):
        raise VaultError(
            "A vault can't be made there: the folder isn't empty.", hint="Choose another name."
        )


def leave(folder: Path) -> None:
    """Remove a folder that holds no vault any more, unless it holds something of somebody else."""
    if not (folder / POINTER).exists():
        (folder / LOCK_FILE).unlink(missing_ok=True)
        with suppress(OSError):
            folder.rmdir()


def check_apart(folder: Path, lock: Lock) -> None:
    """Refuse a key that would lie next to what it locks."""
    if isinstance(lock, KeyFile) and lock.path.parent.resolve().is_relative_to(folder.resolve()):
        raise ParameterError(
            "The key file lies in the vault that it is to lock.", hint="Keep it elsewhere."
        )
