"""The vault: a folder that must stay at home, and the key that opens it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Self, TypeVar

from halfmask._errors import ParameterError, VaultError
from halfmask.vault._envelope import utf8
from halfmask.vault._generation import (
    HEADER,
    POINTER,
    TRIES,
    WHAT,
    Generation,
    missing,
    read_pointer,
    sole_writer,
    sweep,
    write_generation,
)
from halfmask.vault._index import VaultEntry, check_name
from halfmask.vault._making import check_apart, leave, make_vault
from halfmask.vault._part import join_parts, split_key
from halfmask.vault._secret import SECRET_BYTES, Secret
from halfmask.vault.private_files import (
    absolute,
    check_private_folder,
    keeping,
    overwrite,
    sync_folder,
)

if TYPE_CHECKING:
    from halfmask.vault._lock import Lock

T = TypeVar("T")


class Vault:
    """A folder that stays at home: secrets, sealed plans and mappings.

    Make one by `Vault.create`, open one by `Vault.open`, or by `Vault.join` from its parts.

    Parameters
    ----------
    folder
        The folder of the vault.
    opened
        The opened generation of its files.
    lock
        The lock that opened it; ``None`` if parts did.

    Notes
    -----
    **Guarantees.** Without the lock, or enough parts, nobody learns what the vault holds but how
    many things and how long each is, and nobody alters one unnoticed. A wrong lock, an altered
    byte, another context: an error, before anything is returned. Whatever ends a process, the
    vault holds what it held before or what it was to hold, whole. Files have the mode 0600, the
    folder 0700; where others may read them, the vault refuses to open.

    **Edge cases.** A copy of the whole folder that was made earlier opens with the lock that it had
    then, and putting it back isn't noticed. Python can't wipe memory: keys live in it until the
    process ends. What is destroyed may stay on the disk, sealed; see `destroy`.

    Sources: the forms are described in ``docs/explanation/vault.md``.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from halfmask.vault import KeyFile
    >>> folder = tempfile.TemporaryDirectory()
    >>> where = pathlib.Path(folder.name)
    >>> lock = KeyFile.create(where / "key")
    >>> vault = Vault.create(where / "vault", lock=lock)
    >>> names = vault.secret("customers").key("names")
    >>> vault.seal("plan", b"how it was done", context="customers")
    >>> again = Vault.open(where / "vault", lock=lock)
    >>> again.secret("customers").key("names") == names
    True
    >>> again.unseal("plan", context="customers")
    b'how it was done'
    >>> again.names()
    ('customers', 'plan')
    >>> folder.cleanup()
    """

    __slots__ = ("_folder", "_lock", "_opened")

    def __init__(self, folder: Path, opened: Generation, lock: Lock | None) -> None:
        self._folder = folder
        self._opened = opened
        self._lock = lock

    @classmethod
    def create(cls, where: str | Path, *, lock: Lock) -> Self:
        """Make a vault.

        Parameters
        ----------
        where
            The folder to make; the one that it lies in must be there. One that is there must be
            empty, or hold what an interrupted making left.
        lock
            A `Passphrase`, a `KeyFile` or a `Keyring`.

        Raises
        ------
        VaultError
            If something is there, or it can't be written.
        """
        folder = absolute(where)
        with keeping(WHAT):
            return cls(folder, make_vault(folder, lock), lock)

    @classmethod
    def open(cls, where: str | Path, *, lock: Lock) -> Self:
        """Open a vault by its lock.

        Parameters
        ----------
        where
            The folder of the vault.
        lock
            What opens it.

        Raises
        ------
        KeyMismatchError
            If it isn't the lock.
        IntegrityError
            If a byte of the vault, or of the key file, was altered.
        VaultError
            If there is no vault, or others may read it.
        """
        folder = absolute(where)
        with keeping(WHAT):
            return cls(folder, Generation.unlock(folder, lock), lock)

    @classmethod
    def join(cls, where: str | Path, parts: Sequence[bytes]) -> Self:
        """Open a vault whose lock is lost, by enough of the parts that `split` made.

        Give it a new lock by `rewrap`; without, it can be read and written, but not rotated.

        Parameters
        ----------
        where
            The folder of the vault.
        parts
            Parts that `split` made, in any order.

        Raises
        ------
        IntegrityError
            If a part was altered; the message says which.
        KeyMismatchError
            If a part is of another vault or splitting, or from before the last rotation.
        VaultError
            If there are too few parts, or there is no vault.
        """
        folder = absolute(where)
        with keeping(WHAT):
            pointer = read_pointer(folder)
            header = Generation.read_header(folder, pointer)
            root_key = join_parts(parts, header=header)
            opened = Generation(
                folder=folder / pointer.generation, header=header, root_key=root_key
            )
            opened.index()
        return cls(folder, opened, None)

    @property
    def id(self) -> str:
        """Sixteen hexadecimal digits that stay the same as long as the vault is there."""
        return self._opened.header.pointer.vault

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return self._folder

    @property
    def lock_kind(self) -> str:
        """The kind of its lock: ``passphrase``, ``key-file`` or ``keyring``."""
        return self._opened.header.kind

    def names(self) -> tuple[str, ...]:
        """Return the names of all that it holds, in order."""
        return tuple(entry.name for entry in self.entries())

    def entries(self) -> tuple[VaultEntry, ...]:
        """Return the name, kind, context and size of each entry, sorted by name."""
        found = self._reading(lambda opened: opened.index().entries)
        return tuple(found[name] for name in sorted(found))

    def secret(self, name: str, *, create: bool = True) -> Secret:
        """Return the secret of a name; the first call makes it.

        Parameters
        ----------
        name
            Its name, 1 to 200 letters.
        create
            Whether to make one if there is none.

        Raises
        ------
        VaultError
            If there is none and none shall be made, or the name is that of sealed bytes.
        """
        check_name(name)
        found = self._reading(lambda opened: opened.find(name, kind="secret", context=""))
        if found is None and not create:
            raise VaultError("The vault has no secret of that name.", hint="See names().")
        if found is None:
            found = self._new_secret(name)
        return Secret.from_bytes(found)

    def seal(self, name: str, data: bytes, *, context: str, overwrite: bool = False) -> None:
        """Seal bytes under a name, bound to a context.

        Parameters
        ----------
        name
            Their names, 1 to 200 letters.
        data
            At most 1 GiB.
        context
            What they belong to, such as a fingerprint of the data set; unsealing needs the same.
        overwrite
            Whether to replace sealed bytes of that name. A secret is never replaced.

        Raises
        ------
        VaultError
            If the name is taken.
        """
        check_name(name)
        utf8(context, "A context")
        if type(data) is not bytes:
            raise ParameterError(f"Only bytes can be sealed. Got {type(data).__name__}.")
        with self._writing() as opened:
            index = opened.index()
            old = index.entries.get(name)
            if old is not None and (old.kind == "secret" or not overwrite):
                raise VaultError(
                    "The name is taken in the vault.",
                    hint="Choose another, or allow sealed bytes to be overwritten.",
                )
            entry = opened.write(data, name=name, kind="sealed", context=context)
            opened.put_index(index.with_entry(entry))
            if old is not None:
                (opened.folder / old.file).unlink(missing_ok=True)

    def unseal(self, name: str, *, context: str) -> bytes:
        """Return the bytes that were sealed under a name, for the same context.

        Parameters
        ----------
        name
            The name that it was sealed under.
        context
            The context that it was sealed for.

        Raises
        ------
        KeyMismatchError
            If they were sealed for another context.
        VaultError
            If there are none of that name.
        IntegrityError
            If a byte was altered.
        """
        found = self._reading(lambda opened: opened.find(name, kind="sealed", context=context))
        if found is None:
            raise VaultError("Nothing is sealed under that name.", hint="See names().")
        return found

    def rotate(self) -> None:
        """Make a new root key, and seal everything again under it.

        The secrets stay what they are, so that what they encoded is decoded as before. Parts that
        were split before no longer open the vault, nor does the old root key.

        Raises
        ------
        VaultError
            If it was opened by its parts and has no lock: then `rewrap` it.
        """
        if self._lock is None:
            raise VaultError(
                "The vault was opened by its parts and has no lock.", hint="Rewrap it to a lock."
            )
        self.rewrap(self._lock)

    def rewrap(self, lock: Lock) -> None:
        """Rotate the root key to another lock; the old lock no longer opens it.

        Parameters
        ----------
        lock
            The new lock.

        Notes
        -----
        **Guarantees.** A death at any point leaves the vault unchanged, under the lock before, or
        whole under the new one.

        **Edge cases.** An earlier copy of the folder still opens with the earlier lock.
        """
        check_apart(self._folder, lock)
        with self._writing() as old:
            self._opened = write_generation(
                self._folder, vault_id=old.header.pointer.vault, lock=lock, old=old
            )
            before, self._lock = self._lock, lock
            shutil.rmtree(old.folder)
            if before is not None:
                before.forget(old.header.parameters)

    def split(self, *, parts: int, needed: int) -> list[bytes]:
        """Split the root key into parts; some of them open the vault without its lock.

        Parameters
        ----------
        parts
            How many to make, at most 255.
        needed
            How many of them open the vault, at least 2. Fewer reveal nothing about the key.

        Returns
        -------
        list of bytes
            One line of text for each part, to be kept in different places. They are secret.
        """
        with self._writing() as opened:
            made = split_key(opened.root_key, vault=self.id, parts=parts, needed=needed)
        return [part.to_bytes() for part in made]

    def destroy(self, name: str | None = None) -> None:
        """Destroy what is kept under a name, or the whole vault.

        Only the way to it is destroyed: the index no longer names it, or the wrapped root key is
        gone. That old blocks of a disk, a snapshot or a backup are overwritten can't be guaranteed.

        Parameters
        ----------
        name
            Whose; without, the whole vault goes, and with it whatever its secrets encoded.

        Raises
        ------
        VaultError
            If there is nothing of that name.
        """
        with self._writing() as opened:
            if name is not None:
                index = opened.index()
                if name not in index.entries:
                    raise VaultError("The vault holds nothing of that name.", hint="See names().")
                opened.put_index(index.without(name))
                (opened.folder / index.entries[name].file).unlink(missing_ok=True)
                return
            (self._folder / POINTER).unlink()
            sync_folder(self._folder)
            overwrite(opened.folder / HEADER)
            shutil.rmtree(opened.folder)
            if self._lock is not None:
                self._lock.forget(opened.header.parameters)
            leave(self._folder)

    def _new_secret(self, name: str) -> bytes:
        with self._writing() as opened:
            # Another process may have made it since we looked.
            made = opened.find(name, kind="secret", context="")
            if made is None:
                made = os.urandom(SECRET_BYTES)
                entry = opened.write(made, name=name, kind="secret", context="")
                opened.put_index(opened.index().with_entry(entry))
        return made

    def _current(self) -> Generation:
        """Return the generation that counts: another process may have rotated the vault."""
        if read_pointer(self._folder) != self._opened.header.pointer:
            if self._lock is None:
                raise VaultError(
                    "The vault was rotated since it was opened.", hint="Open it again."
                )
            self._opened = Generation.unlock(self._folder, self._lock)
        return self._opened

    def _reading(self, read: Callable[[Generation], T]) -> T:
        with keeping(WHAT):
            for _ in range(TRIES):
                opened = self._current()
                with suppress(FileNotFoundError):
                    return read(opened)
        raise missing()

    @contextmanager
    def _writing(self) -> Iterator[Generation]:
        with keeping(WHAT):
            check_private_folder(self._folder, what=WHAT)
            with sole_writer(self._folder):
                opened = self._current()
                sweep(self._folder, keep=opened)
                yield opened

    def __repr__(self) -> str:
        return f"Vault(id={self.id!r})"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("A vault can't be pickled: open it where it is needed.")
