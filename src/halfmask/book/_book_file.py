"""The file of a book: entries in a chain whose end the vault knows, and sealed parts of releases.

Each entry has a MAC over its text and the MAC before, so that none can be altered, moved or taken
out. The vault has the MAC of the newest, so that none can be cut off. It learns it after
the file: a process that dies in between leaves the file ahead, which is no fault.
"""

from __future__ import annotations

import hmac
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeAlias, TypeVar

from halfmask._errors import IntegrityError, KeyMismatchError, VaultError
from halfmask.vault import open_sealed, seal
from halfmask.vault.private_database import PATIENCE, PrivateDatabase, place_of
from halfmask.vault.private_files import InUseError, hold_file, keeping

if TYPE_CHECKING:
    from halfmask.vault import Secret, Vault

T = TypeVar("T")
Args = ParamSpec("Args")
Part: TypeAlias = tuple[int, str]  # of which release, and its name

_NONE: Final[Mapping[Part, bytes]] = MappingProxyType({})
_PAUSE: Final = 0.02  # seconds
_PART: Final = "SELECT CAST(ifnull(sealed, '') AS BLOB) FROM parts WHERE number = ? AND name = ?"
_INSERT: Final = "INSERT INTO entries VALUES (?, ?, ?)"
HINT: Final = "Take the copy of the vault's folder that was made last."
_SCHEMA: Final = (
    "CREATE TABLE entries (position INTEGER PRIMARY KEY, entry TEXT NOT NULL, mac TEXT NOT NULL)",
    "CREATE TABLE parts (number INTEGER, name TEXT, sealed BLOB, PRIMARY KEY (number, name))",
)


class BookFile:
    """The entries of a book and the parts of its releases, of which the vault has the keys."""

    def __init__(self, vault: Vault, dataset: str) -> None:
        self.vault, self.dataset = vault, dataset
        self._database = PrivateDatabase(
            path=place_of(vault.folder, dataset, what="book", owner="ReleaseBook"),
            what="book",
            schema=_SCHEMA,
            version=1,
            unwritten="Nothing was booked.",
            made_by="[[ReleaseBook.create|halfmask book create]]",
        )

    def create(self) -> None:
        """Make the file, with a first entry under the vault's key."""
        with self.locked():
            if self._newest():
                raise VaultError(
                    "The vault has a book of that data set already.",
                    hint=f"Open it. Is its file gone? {HINT}",
                )
            secret = _do_patiently(self.vault.secret, self._name())
            mac = _mac_of(secret.key("entries"), "{}", "")
            self._database.create(lambda run: run(_INSERT, (1, "{}", mac)))
            self._seal_newest(mac)

    def secret(self) -> Secret:
        """Return the secret of the book; without it, nothing of it can be read."""
        if self._name() in self.vault.names():
            return self.vault.secret(self._name(), create=False)
        raise _other_key()

    def entries(self) -> list[Any]:
        """Return all entries in order; raise if one is missing, or isn't what was written."""
        newest, rows = self._newest(), self._rows()
        key, before = self.secret().key("entries"), ""
        for place, (position, entry, mac) in enumerate(rows, 1):
            before = _mac_of(key, str(entry), before)
            if mac != before and place == 1:
                raise _other_key()
            if mac != before or position != place:
                raise IntegrityError("An entry of the book was altered or deleted.", hint=HINT)
        if newest and newest not in (mac for _, _, mac in rows):
            raise IntegrityError("The newest entries of the book are missing.", hint=HINT)
        return [json.loads(entry) for _, entry, _ in rows]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only one who writes, until the context ends."""
        path = self.vault.folder / f"{self.dataset}.book.writing"
        with ExitStack() as stack:
            with keeping("The book"):
                _do_patiently(lambda: stack.enter_context(hold_file(path, what="The book")))
            yield

    def append(
        self,
        entry: Mapping[str, Any],
        *,
        parts: Mapping[Part, bytes] = _NONE,
        drop: Sequence[int] = (),
    ) -> None:
        """Write an entry and parts of its release, and drop others; only who holds the lock may."""
        ((position, _, before),) = self._rows("position DESC LIMIT 1")
        text = json.dumps(entry, allow_nan=False)
        mac = _mac_of(self.secret().key("entries"), text, before)
        sealed = [(*which, self._seal(raw, *which)) for which, raw in parts.items()]
        with self._database.writing() as run:
            run(_INSERT, (position + 1, text, mac))
            for part in sealed:
                run("INSERT INTO parts VALUES (?, ?, ?)", part)
            for number in drop:
                run("DELETE FROM parts WHERE number = ?", (number,))
        self._seal_newest(mac)

    def destroy_keys(self, numbers: Sequence[int]) -> None:
        """Destroy the keys of releases, so that no copy of the file shows their parts."""
        for name in set(map(self._name, numbers)) & set(self.vault.names()):
            _do_patiently(self.vault.destroy, name)

    def part(self, number: int, name: str) -> bytes | None:
        """Return a part of a release, or ``None`` if the file has none."""
        found = self._database.rows(_PART, (number, name))
        if not found:
            return None
        key = self.vault.secret(self._name(number), create=False).key("parts")
        return open_sealed(found[0][0], key=key, context=name.encode())

    def _seal(self, raw: bytes, number: int, name: str) -> bytes:
        key = _do_patiently(self.vault.secret, self._name(number)).key("parts")
        return seal(raw, key=key, context=name.encode())

    def _rows(self, order: str = "position") -> list[tuple[Any, ...]]:
        return self._database.rows(f"SELECT position, entry, mac FROM entries ORDER BY {order}")  # noqa: S608 - no values

    def _newest(self) -> str:
        """Return the MAC of the newest entry that the vault knows, or nothing."""
        if self._name("newest") not in self.vault.names():
            return ""
        return self.vault.unseal(self._name("newest"), context=self._name()).decode()

    def _seal_newest(self, mac: str) -> None:
        name, context = self._name("newest"), self._name()
        _do_patiently(self.vault.seal, name, mac.encode(), context=context, overwrite=True)

    def _name(self, which: int | str = "") -> str:
        """Return a name in the vault: of the book, of a release of it, or of its newest entry."""
        return f"book/{self.dataset}/{which}".removesuffix("/")


def _do_patiently(do: Callable[Args, T], *args: Args.args, **more: Args.kwargs) -> T:
    """Do it, and wait for others who write the vault or the book."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return do(*args, **more)
        except InUseError:
            if time.monotonic() >= until:
                raise
        time.sleep(_PAUSE)


def _mac_of(key: bytes, entry: str, before: str) -> str:
    return hmac.digest(key, f"{before} {entry}".encode(), "sha256").hex()


def _other_key() -> KeyMismatchError:
    return KeyMismatchError(
        "The book is of another vault or data set, or its first entry was altered.",
        hint="Open the vault in which it was made, and leave the file the name that it had.",
    )
