"""A lock that is a file: 32 random bytes that lie elsewhere than the vault."""

from __future__ import annotations

import hashlib
import os
import re
from typing import TYPE_CHECKING, ClassVar, Self

from halfmask._errors import IntegrityError
from halfmask.vault._envelope import KEY_BYTES, hkdf
from halfmask.vault._lock import SALT_BYTES, Parameters, salt_of
from halfmask.vault.private_files import (
    absolute,
    check_parent,
    keeping,
    read_private,
    sync_folder,
    write_private,
)

if TYPE_CHECKING:
    from pathlib import Path

_FORM = re.compile(rb"halfmask-key/1\n([0-9a-f]{64})\n")
_INFO = b"halfmask/lock/key-file/1"
MAX_BYTES = 1024


class KeyFile:
    """A lock that is a file of 32 random bytes, which only its owner may read.

    Parameters
    ----------
    path
        Where it lies. It is read when it is needed, not before.

    Notes
    -----
    **Guarantees.** It is refused if others may read it (a mode wider than 0600), if it is a link,
    if it is another user's, and if a byte of it was altered.

    **Edge cases.** Kept next to the vault, on the same disk or in the same backup, it locks
    nothing: carry it elsewhere. Two vaults may have the same key file; their keys differ.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lock = KeyFile.create(pathlib.Path(folder) / "key")
    ...     oct((pathlib.Path(folder) / "key").stat().st_mode & 0o777)
    '0o600'
    """

    __slots__ = ("_path",)
    kind: ClassVar[str] = "key-file"

    def __init__(self, path: str | Path) -> None:
        self._path = absolute(path)

    @classmethod
    def create(cls, path: str | Path) -> Self:
        """Make a new key file.

        Parameters
        ----------
        path
            The file to make; its folder must exist.

        Raises
        ------
        VaultError
            If something of that name is there, or it can't be written.
        """
        lock = cls(path)
        with keeping("The key file"):
            check_parent(lock._path, what="the key file")
            text = f"halfmask-key/1\n{os.urandom(KEY_BYTES).hex()}\n".encode()
            write_private(lock._path, with_checksum(text))
            sync_folder(lock._path.parent)
        return lock

    @property
    def path(self) -> Path:
        """Where it lies."""
        return self._path

    def fresh(self) -> dict[str, str | int]:
        """Return a new salt."""
        return {"salt": os.urandom(SALT_BYTES).hex()}

    def key(self, parameters: Parameters) -> bytes:
        """Return the key of these parameters.

        Parameters
        ----------
        parameters
            What the vault's header holds for this lock.

        Raises
        ------
        VaultError
            If the file isn't there, or isn't private.
        IntegrityError
            If it was altered, or is no key file.
        """
        with keeping("The key file"):
            text = read_private(self._path, what="The key file", most=MAX_BYTES)
        found = _FORM.fullmatch(checked(text, what="The key file"))
        if found is None:
            raise IntegrityError("The key file is none, or one of another version.")
        return hkdf(bytes.fromhex(found[1].decode()), salt=salt_of(parameters), info=_INFO)

    def forget(self, parameters: Parameters) -> None:
        """Do nothing: the file is its owner's, and may lock other vaults.

        Parameters
        ----------
        parameters
            What the vault's header holds for this lock.
        """

    def __repr__(self) -> str:
        return "KeyFile()"


def with_checksum(body: bytes) -> bytes:
    r"""Return the text with its checksum in a last line.

    Examples
    --------
    >>> checked(with_checksum(b"some words\n"), what="The note")
    b'some words\n'
    """
    return body + hashlib.sha256(body).hexdigest().encode() + b"\n"


def checked(text: bytes, *, what: str) -> bytes:
    """Return the text without its checksum, which must be right."""
    body = text[: -2 * hashlib.sha256().digest_size - 1]
    if with_checksum(body) != text:
        raise IntegrityError(
            f"{what} was altered or cut off: its checksum is wrong.",
            hint="Take the copy that was made after it was last written.",
        )
    return body
