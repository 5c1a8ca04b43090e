"""What a vault says of itself in the open: its id, its lock, and the root key, wrapped.

The pointer names the generation that counts. A new generation is written next to the old one and
the pointer takes its name in one step, so that there is always one that is whole.
"""

from __future__ import annotations

import hmac
import json
import os
import re
from dataclasses import dataclass, field
from typing import Self

from halfmask._errors import IntegrityError, KeyMismatchError, VaultError
from halfmask.vault._envelope import KEY_BYTES, framed, hkdf, open_sealed, seal
from halfmask.vault._key_file import checked, with_checksum
from halfmask.vault._lock import KINDS, Lock, Parameters

FORMAT = "halfmask-vault/1"
_POINTER = re.compile(rb"halfmask-vault/1\n([0-9a-f]{16})\n([0-9a-f]{16})\n")
_FAMILY = b"halfmask-vault/"
_ROOT_ID = b"halfmask/vault/1/root id"
_WRAPPED = b"halfmask/vault/1/root"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """Which generation of a vault counts."""

    vault: str
    generation: str

    def to_bytes(self) -> bytes:
        """Return the pointer file."""
        return with_checksum(f"{FORMAT}\n{self.vault}\n{self.generation}\n".encode())

    @classmethod
    def from_bytes(cls, text: bytes) -> Self:
        """Read a pointer file."""
        body = checked(text, what="The vault's pointer")
        found = _POINTER.fullmatch(body)
        if found is None and body.startswith(_FAMILY):
            raise _other_version()
        if found is None:
            raise IntegrityError("The vault's pointer is none.")
        return cls(vault=found[1].decode(), generation=found[2].decode())


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultHeader:
    """What opens one generation of a vault."""

    pointer: Pointer
    kind: str
    parameters: Parameters = field(hash=False)
    root: str
    wrapped: bytes = field(repr=False)

    @classmethod
    def wrap(cls, root_key: bytes, *, pointer: Pointer, lock: Lock) -> Self:
        """Wrap a root key under a lock, with new parameters."""
        parameters = lock.fresh()
        authenticated = _authenticated(pointer, lock.kind, parameters, root_id(root_key))
        wrapped = seal(root_key, key=lock.key(parameters), context=framed(_WRAPPED, authenticated))
        return cls(
            pointer=pointer,
            kind=lock.kind,
            parameters=parameters,
            root=root_id(root_key),
            wrapped=wrapped,
        )

    def unwrap(self, lock: Lock) -> bytes:
        """Return the root key."""
        if lock.kind != self.kind:
            raise KeyMismatchError(
                f"The vault is locked by {KINDS[self.kind]}, not by {KINDS[lock.kind]}."
            )
        authenticated = _authenticated(self.pointer, self.kind, self.parameters, self.root)
        key = lock.key(self.parameters)
        try:
            root_key = open_sealed(self.wrapped, key=key, context=framed(_WRAPPED, authenticated))
        except KeyMismatchError:
            raise KeyMismatchError(
                f"The vault doesn't open: {KINDS[self.kind]} of another vault, or a wrong one.",
                hint="Nothing was read. Use the lock that the vault has, or join its parts.",
            ) from None
        self.check_root(root_key)
        return root_key

    def check_root(self, root_key: bytes) -> None:
        """Raise unless it is the root key of this generation."""
        if len(root_key) != KEY_BYTES or not hmac.compare_digest(root_id(root_key), self.root):
            raise KeyMismatchError(
                "The key isn't the vault's root key.",
                hint="A rotation makes a new root key: take the parts that were split after it.",
            )

    def to_bytes(self) -> bytes:
        """Return the header file."""
        fields = json.loads(_authenticated(self.pointer, self.kind, self.parameters, self.root))
        return with_checksum(_canonical({**fields, "wrapped": self.wrapped.hex()}) + b"\n")

    @classmethod
    def from_bytes(cls, text: bytes) -> Self:
        """Read a header file."""
        body = checked(text, what="The vault's header")
        try:
            fields = json.loads(body)
            if fields["format"] != FORMAT:
                raise _other_version()
            header = cls(
                pointer=Pointer(vault=fields["vault"], generation=fields["generation"]),
                kind=fields["lock"],
                parameters=dict(fields["parameters"]),
                root=fields["root"],
                wrapped=bytes.fromhex(fields["wrapped"]),
            )
            whole = header.kind in KINDS and header.to_bytes() == text
        except (KeyError, TypeError, AttributeError, RecursionError):
            raise _no_header() from None
        except ValueError as error:
            if isinstance(error, VaultError):
                raise
            raise _no_header() from None
        if not whole:
            raise _no_header()
        return header


def root_id(root_key: bytes) -> str:
    """Return a commitment to a root key, by which it is recognised and from which none is found."""
    return hkdf(root_key, info=_ROOT_ID).hex()


def fresh_root() -> bytes:
    """Return a new root key from the operating system's random bytes."""
    return os.urandom(KEY_BYTES)


def _authenticated(pointer: Pointer, kind: str, parameters: Parameters, root: str) -> bytes:
    return _canonical(
        {
            "format": FORMAT,
            "vault": pointer.vault,
            "generation": pointer.generation,
            "lock": kind,
            "parameters": dict(parameters),
            "root": root,
        }
    )


def _canonical(value: dict[str, object]) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _no_header() -> IntegrityError:
    return IntegrityError("The vault's header is none: it isn't what halfmask writes.")


def _other_version() -> VaultError:
    return VaultError(
        "The vault was made by another version of halfmask.",
        hint="Open it with the version that made it.",
    )
