"""The file of a book: entries in a chain that the vault knows the end of, and sealed parts.

Each entry has a MAC over its number, its text and the MAC before, so that none can be altered,
moved or taken out. The number and MAC of the newest are sealed in the vault: an end that was cut
off is found. The file is written first, so that a process that dies leaves it one entry ahead.
"""

from __future__ import annotations

import hmac
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

from halfmask._errors import IntegrityError, KeyMismatchError, VaultError
from halfmask.vault import framed, open_sealed, seal
from halfmask.vault.private_database import PATIENCE, PrivateDatabase, place_of
from halfmask.vault.private_files import InUseError, hold_file, keeping

if TYPE_CHECKING:
    from halfmask.vault import Secret, Vault

T = TypeVar("T")
Entry: TypeAlias = Mapping[str, Any]

_PAUSE: Final = 0.02  # seconds
_PART_BYTES: Final = 1 << 24
_HINT: Final = "Take the copy of the vault's folder that was made last."
_SCHEMA: Final = (
    "CREATE TABLE entries (position INTEGER PRIMARY KEY, entry TEXT NOT NULL, mac BLOB NOT NULL)",
    """
    CREATE TABLE parts (
        number INTEGER NOT NULL, name TEXT NOT NULL, part INTEGER NOT NULL, sealed BLOB NOT NULL,
        PRIMARY KEY (number, name, part)
    )
    """,
)


class _Newest(NamedTuple):
    position: int
    mac: str


class BookFile:
    """The entries of a book and the parts of its releases, of which the vault has the keys."""

    def __init__(self, vault: Vault, dataset: str) -> None:
        self.vault = vault
        self.dataset = dataset
        self._database = PrivateDatabase(
            path=place_of(vault.folder, dataset, what="book", owner="ReleaseBook"),
            what="book",
            schema=_SCHEMA,
            version=1,
            unwritten="Nothing was booked.",
            made_by="[[ReleaseBook.create|halfmask book create]]",
        )

    def create(self) -> None:
        """Make the file, with an entry that says whose it is."""
        with self.locked():
            if self._sealed().position:
                raise VaultError(
                    "The vault has a book of that data set already.",
                    hint=f"Open it. If its file is gone: {_HINT[0].lower()}{_HINT[1:]}",
                )
            secret = self._patiently(lambda: self.vault.secret(self._name()))
            first = json.dumps({"entry": "created", "dataset": self.dataset, "key": secret.id})
            mac = _mac_of(secret.key("entries"), 1, first, "")
            self._database.create(
                lambda run: run("INSERT INTO entries VALUES (1, ?, ?)", (first, bytes.fromhex(mac)))
            )
            self._seal_newest(_Newest(1, mac))

    def secret(self) -> Secret:
        """Return the secret of the book; without it, nothing of it can be read."""
        if self._name() not in self.vault.names():
            raise VaultError(
                "The vault has no key of that book.",
                hint="Open the vault in which the book was made, or make a book there.",
            )
        return self.vault.secret(self._name(), create=False)

    def entries(self) -> list[Entry]:
        """Return all entries in order; raise if one is missing, or isn't what was written."""
        before = self._sealed()
        rows = self._database.rows("SELECT position, entry, mac FROM entries ORDER BY position")
        after = self._sealed()  # others may have written since
        macs = self._checked(rows)
        for known in (before, after):
            if 0 < known.position <= len(macs) and macs[known.position - 1] != known.mac:
                raise _altered()
        if len(macs) < before.position:
            raise IntegrityError(
                "The book lacks its newest entries: its end was cut off.", hint=_HINT
            )
        if len(macs) > after.position + 1:
            raise IntegrityError("The book has entries that the vault doesn't know.", hint=_HINT)
        return [json.loads(str(entry)) for _, entry, _ in rows]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only one who writes, until the context ends."""
        with ExitStack() as stack:
            with keeping("The book"):
                path = self._database.path.with_name(f"{self.dataset}.book.writing")
                self._patiently(lambda: stack.enter_context(hold_file(path, what="The book")))
            yield

    def append(
        self, entry: Entry, *, parts: Mapping[str, bytes] | None = None, drop: Sequence[int] = ()
    ) -> None:
        """Write an entry with the parts of its release, and without those of ``drop``.

        Only who holds the lock calls it. It is on the disk when this returns.
        """
        (last,) = self._database.rows(
            "SELECT position, mac FROM entries ORDER BY position DESC LIMIT 1"
        )
        newest = _Newest(int(str(last[0])), _hex(last[1]))
        if self._sealed() != newest:  # a process died between the file and the vault
            self._seal_newest(newest)
        number = entry.get("number", 0)
        sealed = {name: self._seal(number, name, raw) for name, raw in (parts or {}).items()}
        text = json.dumps(entry, allow_nan=False)
        position = newest.position + 1
        mac = _mac_of(self.secret().key("entries"), position, text, newest.mac)
        with self._database.writing() as run:
            run("INSERT INTO entries VALUES (?, ?, ?)", (position, text, bytes.fromhex(mac)))
            for name, raw in sealed.items():
                for part, start in enumerate(range(0, len(raw), _PART_BYTES)):
                    cut = raw[start : start + _PART_BYTES]
                    run("INSERT INTO parts VALUES (?, ?, ?, ?)", (number, name, part, cut))
            for each in drop:
                run("DELETE FROM parts WHERE number = ?", (each,))
        self._seal_newest(_Newest(position, mac))
        self.destroy_keys(drop)

    def destroy_keys(self, numbers: Sequence[int]) -> None:
        """Destroy the keys of releases, so that no copy of the file tells their parts."""
        held = set(self.vault.names()) if numbers else set()
        for name in map(self._name, numbers):
            if name in held:
                self._patiently(lambda name=name: self.vault.destroy(name))  # type: ignore[misc]

    def part(self, number: int, name: str) -> bytes:
        """Return a part of a release."""
        rows = self._database.rows(
            "SELECT sealed FROM parts WHERE number = ? AND name = ? ORDER BY part", (number, name)
        )
        key_name = self._name(number)
        if not rows or key_name not in self.vault.names():
            raise IntegrityError("The book lacks a part of a release.", hint=_HINT)
        key = self.vault.secret(key_name, create=False).key("parts")
        raw = b"".join(bytes(sealed) for (sealed,) in rows)  # type: ignore[call-overload]
        return open_sealed(raw, key=key, context=self._context(number, name))

    def _seal(self, number: int, name: str, raw: bytes) -> bytes:
        secret = self._patiently(lambda: self.vault.secret(self._name(number)))
        return seal(raw, key=secret.key("parts"), context=self._context(number, name))

    def _checked(self, rows: Sequence[Sequence[object]]) -> list[str]:
        """Return the MACs of the entries; raise unless they are those of the vault's key."""
        if not rows:
            raise _altered()
        self._check_owner(str(rows[0][1]))
        key, mac, macs = self.secret().key("entries"), "", list[str]()
        for expected, (position, entry, found) in enumerate(rows, 1):
            mac = _mac_of(key, expected, str(entry), mac)
            if position != expected or not hmac.compare_digest(mac, _hex(found)):
                raise _altered()
            macs.append(mac)
        return macs

    def _check_owner(self, first: str) -> None:
        """Raise if the first entry says that the book is of another data set or vault."""
        try:
            made = json.loads(first)
            dataset, key = made["dataset"], made["key"]
        except (ValueError, KeyError, TypeError):
            raise _altered() from None
        if dataset != self.dataset:
            raise KeyMismatchError(
                "The book is of another data set: its file was renamed.",
                hint="Give it the name that it was made with.",
            )
        if key != self.secret().id:
            raise KeyMismatchError(
                "The book is of another vault: its entries are under another key.",
                hint="Open the vault in which it was made.",
            )

    def _sealed(self) -> _Newest:
        """Return what the vault knows of the newest entry."""
        name = self._name("newest")
        if name not in self.vault.names():
            return _Newest(0, "")
        return _Newest(*json.loads(self.vault.unseal(name, context=self._name())))

    def _seal_newest(self, newest: _Newest) -> None:
        raw, name = json.dumps(newest).encode(), self._name("newest")
        self._patiently(lambda: self.vault.seal(name, raw, context=self._name(), overwrite=True))

    def _name(self, which: int | str | None = None) -> str:
        """Return the name in the vault: of the book, a release of it, or its newest entry."""
        return f"book/{self.dataset}" + ("" if which is None else f"/{which}")

    def _context(self, number: int, name: str) -> bytes:
        return framed(b"halfmask/book/1", self.dataset.encode(), b"%d" % number, name.encode())

    @staticmethod
    def _patiently(do: Callable[[], T]) -> T:
        """Do it, and wait for others who write the vault or the book."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                return do()
            except InUseError:
                if time.monotonic() >= until:
                    raise
            time.sleep(_PAUSE)


def _mac_of(key: bytes, position: int, entry: str, before: str) -> str:
    words = framed(b"%d" % position, entry.encode("utf-8", "surrogatepass"), before.encode())
    return hmac.digest(key, words, "sha256").hex()


def _hex(stored: object) -> str:
    return stored.hex() if isinstance(stored, bytes) else ""


def _altered() -> IntegrityError:
    return IntegrityError("An entry of the book was altered, moved or deleted.", hint=_HINT)
