"""A lock that is an entry in the system's keyring, which opens when its user logs in."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, ClassVar

from halfmask._errors import IntegrityError, KeyMismatchError, MissingDependencyError, VaultError
from halfmask.vault._envelope import KEY_BYTES, hkdf
from halfmask.vault._lock import SALT_BYTES, Parameters, salt_of

SERVICE = "halfmask-vault"
_INFO = b"halfmask/lock/keyring/1"


class Keyring:
    """A lock of 32 random bytes that the operating system keeps for its user.

    It needs the package ``keyring``, which is no dependency of halfmask, and a keyring that is
    unlocked: Keychain, the Credential Locker, or a Secret Service such as GNOME's.

    Notes
    -----
    **Guarantees.** Every vault, and every rotation, has an entry of its own under the service
    ``halfmask-vault``; the entry before is removed once the new one is in use.

    **Edge cases.** Whatever runs as the user while the keyring is unlocked can ask it, too. A vault
    that is copied to another machine doesn't open there: rewrap it to a key file first. On a
    machine without a keyring there is an error, never a file in the keyring's stead.

    Examples
    --------
    >>> Keyring()
    Keyring()
    """

    __slots__ = ()
    kind: ClassVar[str] = "keyring"

    def fresh(self) -> dict[str, str | int]:
        """Put a new entry into the keyring, and return its name and a salt."""
        item = os.urandom(8).hex()
        with _asking():
            _backend().set_password(SERVICE, item, os.urandom(KEY_BYTES).hex())
        return {"item": item, "salt": os.urandom(SALT_BYTES).hex()}

    def key(self, parameters: Parameters) -> bytes:
        """Return the key of these parameters.

        Parameters
        ----------
        parameters
            What the vault's header holds for this lock.

        Raises
        ------
        MissingDependencyError
            If the package ``keyring`` isn't installed.
        KeyMismatchError
            If this keyring has no entry for the vault.
        VaultError
            If the keyring can't be asked.
        """
        with _asking():
            found = _backend().get_password(SERVICE, str(parameters.get("item")))
        if found is None:
            raise KeyMismatchError(
                "This keyring has no key for the vault.",
                hint="Open it where it was made, or join its parts.",
            )
        if not isinstance(found, str) or not re.fullmatch(r"[0-9a-f]{64}", found):
            raise IntegrityError("The vault's entry in the keyring was altered.")
        return hkdf(bytes.fromhex(found), salt=salt_of(parameters), info=_INFO)

    def forget(self, parameters: Parameters) -> None:
        """Remove the entry; one that can't be removed opens nothing any more.

        Parameters
        ----------
        parameters
            What the vault's header holds for this lock.
        """
        with suppress(VaultError), _asking():
            _backend().delete_password(SERVICE, str(parameters.get("item")))

    def __repr__(self) -> str:
        return "Keyring()"


@contextmanager
def _asking() -> Iterator[None]:
    """Turn whatever a keyring raises into an error that repeats nothing of it."""
    try:
        yield
    except (VaultError, MissingDependencyError):
        raise
    except Exception as error:  # noqa: BLE001 # each system's keyring raises errors of its own
        raise VaultError(
            f"The system's keyring can't be asked ({type(error).__name__}).",
            hint="Unlock it, or take a key file or a passphrase.",
        ) from None


def _backend() -> Any:  # noqa: ANN401 # the package may not be there, and ships no types here
    try:
        return importlib.import_module("keyring")
    except ImportError:
        raise MissingDependencyError(
            "The system's keyring needs the package keyring.",
            hint="Run pip install keyring, or take a key file or a passphrase.",
        ) from None
