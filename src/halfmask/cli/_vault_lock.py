"""Locks for the commands of the vault: which kind, and where it lies.

A passphrase is never a word on the command line, where every process of the machine could read it:
it is asked for at the terminal without showing it, or read from a private file.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import typer

from halfmask._errors import ParameterError, VaultError
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import flag, option

if TYPE_CHECKING:
    from halfmask.vault import KeyFile, Keyring, Passphrase, Vault


@dataclass(frozen=True, slots=True, kw_only=True)
class PseudonymVault:
    """A vault and its lock, where a policy has pseudonyms with the scope ``"vault"``."""

    vault: str | None = option(
        '--vault VAULT: The vault with the key of pseudonyms, for masks with scope = "vault". '
        "Its releases have the same pseudonyms; halfmask reverse turns them back."
    )
    vault_key_file: str | None = option(
        "--vault-key-file FILE: Use this key file as the vault's lock."
    )
    vault_passphrase_file: str | None = option(
        "--vault-passphrase-file FILE: Use the passphrase in this file as the vault's lock; - "
        "reads standard input. Without a lock option, the terminal asks for a passphrase."
    )
    vault_keyring: bool = flag("--vault-keyring: Use an entry in the system's keyring as the lock.")

    def open(self, *inputs: str) -> Vault | None:
        """Open the vault, if one is named."""
        lock = LockOptions(
            key_file=self.vault_key_file,
            passphrase_file=self.vault_passphrase_file,
            keyring=self.vault_keyring,
        )
        if self.vault is None:
            if lock:
                raise UsageError("The lock of a vault is given, and no vault.", hint="Add --vault.")
            return None
        if lock.passphrase_file in {"-"} & {*inputs}:
            raise UsageError(
                "The passphrase and an input both want standard input.", hint="Give one as a file."
            )
        return lock.open(self.vault)


_MOST_BYTES = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class LockOptions:
    """The lock of a vault."""

    key_file: str | None = option(
        "--key-file FILE: Use this key file as the lock; its mode must be 0600."
    )
    passphrase_file: str | None = option(
        "--passphrase-file FILE: Use the passphrase in this file, of mode 0600, as the lock; - "
        "reads standard input. Without a lock option, the terminal asks for a passphrase."
    )
    keyring: bool = flag("--keyring: Use an entry in the system's keyring as the lock.")

    def __bool__(self) -> bool:
        return bool(self.key_file or self.passphrase_file or self.keyring)

    def open(self, vault: str) -> Vault:
        """Open a vault by the given lock."""
        lock = self.chosen()
        from halfmask.vault import Vault  # noqa: PLC0415 # --help needs none

        return Vault.open(vault, lock=lock)

    def chosen(self, *, new: bool = False) -> KeyFile | Passphrase | Keyring:
        """Return the lock; a passphrase is asked for if nothing else is given.

        For what is made, a key file is made where it is missing, a passphrase asked for twice.
        """
        if sum((self.key_file is not None, self.passphrase_file is not None, self.keyring)) > 1:
            raise UsageError(
                "A vault has one lock, and more than one was given.",
                hint="Give one of --key-file, --passphrase-file and --keyring.",
            )
        from halfmask.vault import KeyFile, Keyring  # noqa: PLC0415 # --help needs none

        if self.key_file is not None:
            there = Path(self.key_file).is_symlink() or Path(self.key_file).exists()
            return KeyFile(self.key_file) if there or not new else KeyFile.create(self.key_file)
        if self.keyring:
            return Keyring()
        return _passphrase(self.passphrase_file, confirm=new)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLockOptions:
    """The lock that a vault is to get in place of its own."""

    new_key_file: str | None = option(
        "--new-key-file FILE: Change the lock to this key file. A missing file is created."
    )
    new_passphrase_file: str | None = option(
        "--new-passphrase-file FILE: Change the lock to the passphrase in this file."
    )
    new_passphrase: bool = flag(
        "--new-passphrase: Change the lock to a passphrase. The terminal asks for it."
    )
    new_keyring: bool = flag("--new-keyring: Change the lock to an entry in the keyring.")

    def check(self) -> bool:
        """Return whether there is a new lock; more than one is refused."""
        given = (
            self.new_key_file is not None,
            self.new_passphrase_file is not None,
            self.new_passphrase,
            self.new_keyring,
        )
        if sum(given) > 1:
            raise UsageError("A vault has one lock, and more than one new one was given.")
        return any(given)

    def new(self) -> KeyFile | Passphrase | Keyring:
        """Return the new lock, which is made where it isn't there."""
        return LockOptions(
            key_file=self.new_key_file,
            passphrase_file=self.new_passphrase_file,
            keyring=self.new_keyring,
        ).chosen(new=True)


class _Sealable(Protocol):
    def to_bytes(self) -> bytes: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A kind of thing that a vault keeps sealed, by name: how entries begin, and what makes one."""

    before: str
    called: str
    made_by: str

    def entry(self, name: str) -> str:
        """Return the entry of a name, which is also what it is bound to."""
        return f"{self.before}/{name}"

    def is_in(self, vault: Vault, name: str) -> bool:
        """Return whether the vault holds one of that name."""
        return self.entry(name) in vault.names()

    def seal(self, vault: Vault, name: str, made: _Sealable) -> None:
        """Seal one under a name that is free."""
        vault.seal(self.entry(name), made.to_bytes(), context=self.entry(name))

    def unseal(self, vault: Vault, name: str) -> bytes:
        """Return the bytes of the one of a name."""
        if not self.is_in(vault, name):
            raise VaultError(
                f"The vault holds no {self.called} of that name.",
                hint=f"halfmask vault list shows what it holds; {self.made_by}.",
            )
        return vault.unseal(self.entry(name), context=self.entry(name))


def _passphrase(file: str | None, *, confirm: bool) -> Passphrase:
    from halfmask.vault import Passphrase  # noqa: PLC0415 # the same

    words = _asked(confirm=confirm) if file is None else _read(file)
    try:
        return Passphrase(words.decode().rstrip("\r\n") if isinstance(words, bytes) else words)
    except UnicodeDecodeError:
        raise ParameterError("The passphrase isn't text in UTF-8.") from None


def _asked(*, confirm: bool) -> str:
    if not sys.stdin.isatty():
        raise UsageError(
            "Nobody is there to be asked for the passphrase: no terminal.",
            hint="Give --key-file, --passphrase-file or --keyring.",
        )
    given = typer.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm, err=True)
    return str(given)


def _read(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read(_MOST_BYTES)
    from halfmask.vault import read_private_file  # noqa: PLC0415 # the same as above

    return read_private_file(file, what="The passphrase file", most=_MOST_BYTES)
