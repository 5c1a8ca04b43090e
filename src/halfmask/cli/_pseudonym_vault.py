"""Options of `protect` for the vault that keeps the key of pseudonyms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import flag, option
from halfmask.cli._vault_lock import LockOptions

if TYPE_CHECKING:
    from halfmask.vault import Vault


@dataclass(frozen=True, slots=True, kw_only=True)
class PseudonymVault:
    """A vault and its lock, where a policy has pseudonyms with the scope ``"vault"``."""

    vault: str | None = option(
        "--vault VAULT",
        'The vault with the key of pseudonyms, for masks with scope = "vault". Its releases '
        "have the same pseudonyms; halfmask reverse turns them back.",
    )
    vault_key_file: str | None = option(
        "--vault-key-file FILE", "Use this key file as the vault's lock."
    )
    vault_passphrase_file: str | None = option(
        "--vault-passphrase-file FILE",
        "Use the passphrase in this file as the vault's lock; - reads standard input. Without "
        "a lock option, the terminal asks for a passphrase.",
    )
    vault_keyring: bool = flag(
        "--vault-keyring", "Use an entry in the system's keyring as the lock."
    )

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
