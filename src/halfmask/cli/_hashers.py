"""Hashers where the command line keeps them: sealed in a vault, by name, with their secret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask._errors import VaultError
from halfmask.cli._option_groups import required
from halfmask.cli._vault_lock import LockOptions  # noqa: TC001 # typer reads it

if TYPE_CHECKING:
    from halfmask.hashing import FileHasher
    from halfmask.vault import Secret, Vault


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredHasher:
    """Where a hasher is: the vault, its lock, and a name."""

    vault: str = required("--vault VAULT", "The vault that holds the hasher.")
    hasher: str = required("--hasher NAME", "The hasher's name in the vault.")
    lock: LockOptions


def check_hasher_free(vault: Vault, name: str) -> None:
    """Refuse a name that is taken, before a long reading: what it hashed needs that hasher."""
    if _entry(name) in vault.names():
        raise VaultError(
            "The vault holds a hasher of that name already.",
            hint="Leave --fit away to hash by it, or choose another name for a new one.",
        )


def hasher_secret(vault: Vault, name: str) -> Secret:
    """Return the secret of a hasher that is to be fitted: made when it is first asked for."""
    return vault.secret(f"{_entry(name)}/key")


def seal_hasher(vault: Vault, name: str, hasher: FileHasher) -> None:
    """Seal a fitted hasher under a name that is free."""
    vault.seal(_entry(name), hasher.to_bytes(), context=_entry(name))


def unseal_hasher(vault: Vault, name: str) -> FileHasher:
    """Return the hasher of a name."""
    from halfmask.hashing import FileHasher  # noqa: PLC0415 # polars takes half a second

    if _entry(name) not in vault.names():
        raise VaultError(
            "The vault holds no hasher of that name.",
            hint="halfmask vault list shows what it holds; halfmask hash --fit makes hashers.",
        )
    data = vault.unseal(_entry(name), context=_entry(name))
    return FileHasher.from_bytes(data, secret=vault.secret(f"{_entry(name)}/key", create=False))


def _entry(name: str) -> str:
    return f"hasher/{name}"
