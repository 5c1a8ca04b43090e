"""One generation of a vault on disk: a header, an index, and a file for each thing.

::

    VAULT/                       0700
      current                    the pointer: which generation counts
      writing                    locked by the one who writes
      0123456789abcdef/          0700, the generation
        header                   its lock and the root key, wrapped
        index                    names, contexts, digests: sealed
        89abcdef01234567.sealed  a secret, or sealed bytes
"""

from __future__ import annotations

import os
import re
import shutil
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from halfmask._errors import IntegrityError, KeyMismatchError, VaultError
from halfmask.vault._envelope import MAX_BYTES, OVERHEAD
from halfmask.vault._header import Pointer, VaultHeader, fresh_root
from halfmask.vault._index import SUFFIX, Index, Kind, VaultEntry
from halfmask.vault.private_files import (
    TEMPORARY,
    check_private_folder,
    hold_file,
    read_private,
    replace_private,
    sync_folder,
    write_private,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from halfmask.vault._lock import Lock


POINTER = "current"
HEADER = "header"
_INDEX = "index"
#: What may lie in a vault's folder, and in a generation's, besides what has a fixed name.
_IN_VAULT = re.compile(rf"[0-9a-f]{{16}}({re.escape(TEMPORARY)})?")
_IN_GENERATION = re.compile(rf"[0-9a-f]{{16}}({re.escape(SUFFIX)}|{re.escape(TEMPORARY)})")
_SMALL = 1 << 16
#: Reading is tried again where another process rotated the vault in between.
TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """A generation that was opened."""

    folder: Path = field(repr=False)
    header: VaultHeader
    root_key: bytes = field(repr=False)

    @classmethod
    def read_header(cls, vault: Path, pointer: Pointer) -> VaultHeader:
        """Read the header of the generation that the pointer names."""
        folder = vault / pointer.generation
        check_private_folder(folder, what="A folder of the vault")
        text = read_private(folder / HEADER, what="The vault's header", most=_SMALL)
        header = VaultHeader.from_bytes(text)
        if header.pointer != pointer:
            raise IntegrityError("The vault's header is of another vault or generation.")
        return header

    @classmethod
    def unlock(cls, vault: Path, lock: Lock) -> Self:
        """Open the generation that counts; another process may write a new one meanwhile."""
        for _ in range(TRIES):
            pointer = read_pointer(vault)
            with suppress(FileNotFoundError):
                header = cls.read_header(vault, pointer)
                root_key = header.unwrap(lock)
                opened = cls(folder=vault / pointer.generation, header=header, root_key=root_key)
                opened.index()
                return opened
        raise missing()

    def index(self) -> Index:
        """Read what the generation holds."""
        sealed = read_private(
            self.folder / _INDEX, what="The vault's index", most=MAX_BYTES + OVERHEAD
        )
        return Index.from_bytes(sealed, header=self.header.to_bytes(), root_key=self.root_key)

    def put_index(self, index: Index) -> None:
        """Write what the generation holds, in one step."""
        sealed = index.to_bytes(header=self.header.to_bytes(), root_key=self.root_key)
        replace_private(self.folder / _INDEX, sealed)

    def read(self, entry: VaultEntry) -> bytes:
        """Open the file of an entry."""
        path = self.folder / entry.file
        sealed = read_private(path, what="A file of the vault", most=MAX_BYTES + OVERHEAD)
        return entry.open(sealed, vault=self.header.pointer.vault, root_key=self.root_key)

    def find(self, name: str, *, kind: Kind, context: str) -> bytes | None:
        """Open what lies under a name, or return None; it must be of the kind and context."""
        entry = self.index().entries.get(name)
        if entry is None:
            return None
        if entry.kind != kind:
            raise VaultError(
                "The entry of that name is "
                f"{'a secret' if entry.kind == 'secret' else 'sealed bytes'}.",
                hint="Choose another name.",
            )
        if entry.context != context:
            raise KeyMismatchError(
                "What is sealed under that name belongs to another context.",
                hint="Unseal it with the data set or the policy that it was sealed for.",
            )
        return self.read(entry)

    def write(self, data: bytes, *, name: str, kind: Kind, context: str) -> VaultEntry:
        """Write the file of a new entry; until an index names it, it is nobody's."""
        entry, sealed = VaultEntry.seal(
            data,
            name=name,
            kind=kind,
            context=context,
            vault=self.header.pointer.vault,
            root_key=self.root_key,
        )
        write_private(self.folder / entry.file, sealed)
        return entry

    def copy_to(self, other: Generation) -> Index:
        """Seal all that this generation holds again, under the other's root key."""
        return Index(
            entries={
                name: other.write(
                    self.read(entry), name=name, kind=entry.kind, context=entry.context
                )
                for name, entry in self.index().entries.items()
            }
        )


def missing() -> IntegrityError:
    """Return the error for a file that is missing."""
    return IntegrityError(
        "A file of the vault is missing.", hint="Take the copy that was made last."
    )


def read_pointer(vault: Path) -> Pointer:
    """Return which generation counts."""
    check_private_folder(vault, what="The vault")
    try:
        text = read_private(vault / POINTER, what="The vault's pointer", most=_SMALL)
    except FileNotFoundError:
        raise VaultError(
            "The folder holds no vault: it has no pointer to a generation.",
            hint="If making or destroying one was interrupted there, remove what is left.",
        ) from None
    return Pointer.from_bytes(text)


def write_generation(
    vault: Path, *, vault_id: str, lock: Lock, old: Generation | None = None
) -> Generation:
    """Write a generation with a new root key, and let it be the one that counts.

    Whatever ends this before its last step leaves the generation before, whole; after it, the new
    one. All of the new one is on the disk before the pointer is.
    """
    pointer = Pointer(vault=vault_id, generation=os.urandom(8).hex())
    root_key = fresh_root()
    folder = vault / pointer.generation
    folder.mkdir(mode=0o700)
    try:
        header = VaultHeader.wrap(root_key, pointer=pointer, lock=lock)
        new = Generation(folder=folder, header=header, root_key=root_key)
        write_private(folder / HEADER, header.to_bytes())
        new.put_index(Index() if old is None else old.copy_to(new))
        sync_folder(folder)
        sync_folder(vault)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    # From here on the new one may be the one that counts, whatever is raised: it stays.
    replace_private(vault / POINTER, pointer.to_bytes())
    return new


def sweep(vault: Path, *, keep: Generation | None) -> None:
    """Remove what writers that died have left, and nothing that isn't ours."""
    for path in _leftovers(vault, keep):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def is_ours(path: Path) -> bool:
    """Return whether a thing in a vault's folder is one that a dead writer may have left."""
    if path.name == LOCK_FILE:
        return True
    if not _IN_VAULT.fullmatch(path.name):
        return False
    if path.is_symlink() or not path.is_dir():
        return path.name.endswith(TEMPORARY)
    fixed = {HEADER, _INDEX}
    return all(it.name in fixed or _IN_GENERATION.fullmatch(it.name) for it in path.iterdir())


def _leftovers(vault: Path, keep: Generation | None) -> Iterator[Path]:
    for path in list(vault.iterdir()):
        kept = path.name == LOCK_FILE or (keep is not None and path == keep.folder)
        if not kept and is_ours(path):
            yield path
    if keep is None:
        return
    named = {entry.file for entry in keep.index().entries.values()}
    for path in list(keep.folder.iterdir()):
        if _IN_GENERATION.fullmatch(path.name) and path.name not in named:
            yield path


LOCK_FILE = "writing"
WHAT = "The vault"


@contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Hold a vault for writing."""
    with hold_file(folder / LOCK_FILE, what=WHAT):
        yield
