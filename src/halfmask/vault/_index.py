"""What a vault holds: the names and where each lies, sealed under the root key.

The index is what counts: a file that it doesn't name is none of the vault's, and one that it names
must be byte for byte what was written, so that nobody without the key can add, swap or remove one.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from dataclasses import asdict, dataclass, field
from typing import Literal, Self, TypeAlias

from halfmask._errors import IntegrityError, ParameterError
from halfmask.vault._envelope import framed, open_sealed, seal, utf8

Kind: TypeAlias = Literal["secret", "sealed"]

_ENTRY, _INDEX = b"halfmask/vault/1/entry", b"halfmask/vault/1/index"
LONGEST_NAME = 200
SUFFIX = ".sealed"


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultEntry:
    """One thing that a vault holds.

    Parameters
    ----------
    name
        What its owner calls it.
    kind
        ``secret`` or ``sealed``.
    context
        What it is bound to.
    file
        The name of its file; random, so that it says nothing.
    sha256
        The digest of that file.
    size
        How many bytes are sealed.
    """

    name: str
    kind: Kind
    context: str
    file: str
    sha256: str
    size: int

    @classmethod
    def seal(
        cls, data: bytes, *, name: str, kind: Kind, context: str, vault: str, root_key: bytes
    ) -> tuple[Self, bytes]:
        """Seal data under the root key; return the entry and what its file shall hold.

        Parameters
        ----------
        data
            The bytes to seal.
        name, kind, context
            The name, the kind and the context that the entry is bound to.
        vault
            The identity of the vault.
        root_key
            The key of the vault.
        """
        bound = _bound(vault, kind, name, context)
        sealed = seal(data, key=root_key, context=bound)
        entry = cls(
            name=name,
            kind=kind,
            context=context,
            file=os.urandom(8).hex() + SUFFIX,
            sha256=hashlib.sha256(sealed).hexdigest(),
            size=len(data),
        )
        return entry, sealed

    def open(self, sealed: bytes, *, vault: str, root_key: bytes) -> bytes:
        """Return what was sealed, if the file holds what was written.

        Parameters
        ----------
        sealed
            The content of the file.
        vault
            The identity of the vault.
        root_key
            The key of the vault.
        """
        if not hmac.compare_digest(hashlib.sha256(sealed).hexdigest(), self.sha256):
            raise IntegrityError(
                "A file of the vault was altered, cut off or swapped.",
                hint="Take the copy that was made after it was last written.",
            )
        bound = _bound(vault, self.kind, self.name, self.context)
        return open_sealed(sealed, key=root_key, context=bound)


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """The entries of a vault by their names."""

    entries: dict[str, VaultEntry] = field(default_factory=dict, hash=False)

    def with_entry(self, entry: VaultEntry) -> Index:
        """Return the index with an entry more, or another of the same name."""
        return Index(entries={**self.entries, entry.name: entry})

    def without(self, name: str) -> Index:
        """Return the index without an entry."""
        return Index(entries={key: each for key, each in self.entries.items() if key != name})

    def to_bytes(self, *, header: bytes, root_key: bytes) -> bytes:
        """Return the index file: sealed under the root key, for this header and no other."""
        entries = [asdict(self.entries[name]) for name in sorted(self.entries)]
        return seal(json.dumps(entries).encode(), key=root_key, context=_of(header))

    @classmethod
    def from_bytes(cls, sealed: bytes, *, header: bytes, root_key: bytes) -> Self:
        """Open an index file."""
        stored = json.loads(open_sealed(sealed, key=root_key, context=_of(header)))
        return cls(entries={each["name"]: VaultEntry(**each) for each in stored})


def check_name(name: str) -> None:
    """Raise unless it can be the name of a secret."""
    if not utf8(name, "A name in the vault") or len(name) > LONGEST_NAME:
        raise ParameterError(f"A name in the vault has 1 to {LONGEST_NAME} letters.")


def _bound(vault: str, kind: Kind, name: str, context: str) -> bytes:
    words = (vault.encode(), kind.encode(), name.encode(), context.encode())
    return framed(_ENTRY, *words)


def _of(header: bytes) -> bytes:
    return framed(_INDEX, hashlib.sha256(header).digest())
