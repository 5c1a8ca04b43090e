"""Codecs where the command line keeps them: sealed in a vault, by name."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask._errors import VaultError
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import required
from halfmask.cli._vault_lock import LockOptions  # noqa: TC001 # typer reads it

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.encode import Codec, EncodingReceipt, SeriesCodec
    from halfmask.vault import Vault

_RECEIPT = "receipt/"
_ID = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCodec:
    """Where a codec is: the vault, its lock, and a name."""

    vault: str = required("--vault VAULT", "The vault that holds the codec.")
    codec: str = required("--codec NAME", "The codec's name in the vault.")
    lock: LockOptions

    def open(self) -> Vault:
        """Open the vault."""
        return self.lock.open(self.vault)


def check_markers(marks: Sequence[str]) -> None:
    """Refuse the words of 0.1's --missing: as markers they would have no effect at all."""
    word = next((mark for mark in marks if mark in {"visible", "hidden"}), None)
    if word is not None:
        raise UsageError(
            f"--missing {word} would take the text {word} for a marker of missing cells.",
            hint=f"Write --missing-cells {word}. --missing is for markers, such as ?.",
        )


def check_free(vault: Vault, name: str) -> None:
    """Refuse a name that is taken, before a long reading: what it encoded needs that codec."""
    if not {_entry(name), _series_entry(name)}.isdisjoint(vault.names()):
        raise VaultError(
            "The vault holds a codec of that name already.",
            hint="Choose another name; what the other one encoded can't be decoded without it.",
        )


def seal_codec(vault: Vault, name: str, codec: Codec) -> None:
    """Seal a fitted codec under a name that is free."""
    vault.seal(_entry(name), codec.to_bytes(), context=_entry(name))


def seal_series_codec(vault: Vault, name: str, codec: SeriesCodec) -> None:
    """Seal a fitted codec of series under a name that is free."""
    vault.seal(_series_entry(name), codec.to_bytes(), context=_series_entry(name))


def holds_series_codec(vault: Vault, name: str) -> bool:
    """Return whether the codec of a name is one of series."""
    return _series_entry(name) in vault.names()


def unseal_series_codec(vault: Vault, name: str) -> SeriesCodec:
    """Return the codec of series of a name."""
    from halfmask.encode import SeriesCodec  # noqa: PLC0415 # polars takes half a second

    if _entry(name) in vault.names():
        raise VaultError(
            "The codec of that name isn't one of time series.",
            hint="halfmask encode apply encodes by it.",
        )
    if not holds_series_codec(vault, name):
        raise VaultError(
            "The vault holds no codec of that name.",
            hint="halfmask vault list shows what it holds; halfmask encode series fit makes one.",
        )
    entry = _series_entry(name)
    return SeriesCodec.from_bytes(vault.unseal(entry, context=entry))


def seal_receipt(vault: Vault, name: str, codec: Codec, receipt: EncodingReceipt) -> None:
    """Seal what finds the order of an encoded file's rows again, for that codec."""
    context = _context(name, codec)
    ours = hashlib.sha256(f"{context}/{receipt.name}".encode()).hexdigest()[:_ID]
    vault.seal(f"{_RECEIPT}{ours}", receipt.to_bytes(), context=context, overwrite=True)


def unseal_codec(vault: Vault, name: str) -> Codec:
    """Return the codec of a name, with the receipts of what it encoded."""
    from halfmask.encode import Codec, EncodingReceipt  # noqa: PLC0415 # polars takes half a second

    if holds_series_codec(vault, name):
        raise VaultError(
            "The codec of that name is one of time series.",
            hint="halfmask encode series apply and halfmask decode take it.",
        )
    if _entry(name) not in vault.names():
        raise VaultError(
            "The vault holds no codec of that name.",
            hint="halfmask vault list shows what it holds; halfmask encode fit makes codecs.",
        )
    codec = Codec.from_bytes(vault.unseal(_entry(name), context=_entry(name)))
    context = _context(name, codec)
    for entry in vault.entries():
        if entry.name.startswith(_RECEIPT) and entry.context == context:
            codec.remember(EncodingReceipt.from_bytes(vault.unseal(entry.name, context=context)))
    return codec


def check_streams(table: str, out: str, lock: LockOptions, *, as_json: bool) -> None:
    """Refuse two readers of standard input and two writers of standard output."""
    if table == lock.passphrase_file == "-":
        raise UsageError(
            "The table and the passphrase both want standard input.", hint="Give one as a file."
        )
    if out == "-" and as_json:
        raise UsageError("--json and OUT - both want standard output.", hint="Choose one.")


def _entry(name: str) -> str:
    return f"codec/{name}"


def _series_entry(name: str) -> str:
    return f"series/{name}"


def _context(name: str, codec: Codec) -> str:
    """Return what receipts of a codec are bound to: another one of its name isn't their codec."""
    which = hashlib.sha256("/".join(codec.plan_.tokens).encode()).hexdigest()[:_ID]
    return f"{_entry(name)}/{which}"
