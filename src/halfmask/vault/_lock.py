"""What opens a vault: a passphrase, a key file or the system's keyring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Protocol, TypeAlias

from halfmask._errors import IntegrityError

#: What the header of a vault says of its lock; none of it is secret.
Parameters: TypeAlias = Mapping[str, str | int]

#: What each kind is called in a sentence.
KINDS = {
    "passphrase": "a passphrase",
    "key-file": "a key file",
    "keyring": "the system's keyring",
}
SALT_BYTES = 32


class Lock(Protocol):
    """Gives the key that the root key of a vault is wrapped under."""

    kind: ClassVar[str]

    def fresh(self) -> dict[str, str | int]:
        """Return new public parameters, a salt among them: no two vaults have the same key."""

    def key(self, parameters: Parameters) -> bytes:
        """Return the 32 bytes of these parameters, the same each time."""

    def forget(self, parameters: Parameters) -> None:
        """Remove what the lock keeps somewhere for these parameters, if it keeps anything."""


def salt_of(parameters: Parameters) -> bytes:
    """Return the salt that the parameters hold."""
    try:
        salt = bytes.fromhex(str(parameters["salt"]))
    except (KeyError, ValueError):
        salt = b""
    if len(salt) != SALT_BYTES:
        raise IntegrityError("What the vault says of its lock has no salt.")
    return salt
