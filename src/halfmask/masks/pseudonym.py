"""Scope and domain of pseudonyms: where a value has the same pseudonym."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from halfmask._errors import ParameterError
from halfmask._random import KEY_BYTES, check_key
from halfmask.masks._checked_mask import CheckedMask

if TYPE_CHECKING:
    from halfmask.vault import Vault

#: How far a pseudonym of a value is the same.
PseudonymScope: TypeAlias = Literal["table", "release", "vault"]
#: The secret of a vault from which the keys of its pseudonyms are derived.
_SECRET = "pseudonyms"  # noqa: S105 # its name


@dataclass(frozen=True, slots=True, kw_only=True)
class Pseudonym(CheckedMask):
    """What masks that write pseudonyms have in common.

    Parameters
    ----------
    domain
        Columns of one domain share pseudonyms, so that keys of several tables still join. The
        default is the column's name.
    scope
        ``"table"``: pseudonyms of this table alone. ``"release"``: of all tables under one key.
        ``"vault"``: of all releases with the key in a vault.

    Examples
    --------
    >>> Pseudonym(domain="customer", scope="vault")
    Pseudonym(domain='customer', scope='vault')
    """

    domain: str | None = field(default=None, metadata={"min_length": 1})
    scope: PseudonymScope = "release"

    @property
    def draws_by_rows(self) -> bool:
        """Whether what a value gets depends on the other rows, too."""
        return False


_USUAL = Pseudonym()


def pseudonym_of(mask: object) -> Pseudonym:
    """Return scope and domain of a mask; the usual ones where it writes no pseudonyms."""
    return mask if isinstance(mask, Pseudonym) else _USUAL


def pseudonym_key(vault: Vault, *, create: bool = True) -> bytes:
    """Return the key of the pseudonyms of a vault; the first call makes its secret.

    Parameters
    ----------
    vault
        It gets a secret called ``pseudonyms``.
    create
        Whether to make the secret if there is none.

    Raises
    ------
    VaultError
        If there is none and none shall be made.
    """
    return vault.secret(_SECRET, create=create).key("masks", length=KEY_BYTES)


def scoped_key(mask: object, *, key: bytes, vault_key: bytes | None, table: str) -> bytes:
    """Return the key that a mask's own key is derived from."""
    scope = pseudonym_of(mask).scope
    if scope == "vault":
        if vault_key is None:
            raise ParameterError(
                f"The mask {getattr(mask, 'name', '')!r} has the scope 'vault', and no vault is "
                "given.",
                hint="Name the vault, as [[protect(vault=...)|halfmask protect --vault]].",
            )
        check_key(vault_key)
        return vault_key
    if scope == "table":
        made = hashlib.blake2b(key=key, digest_size=KEY_BYTES, person=b"halfmask/table")
        made.update(table.encode())
        return made.digest()
    return key


def keyed_by_column(mask: object, column: str, key: bytes) -> hashlib.blake2b:
    """Return a keyed hash of a column, or of the domain of its mask: its digest is a key."""
    domain = pseudonym_of(mask).domain
    made = hashlib.blake2b(
        key=key,
        digest_size=KEY_BYTES,
        person=b"halfmask/mask" if domain is None else b"halfmask/domain",
    )
    made.update((column if domain is None else domain).encode())
    return made
