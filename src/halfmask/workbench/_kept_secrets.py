"""What a release needs besides a table and a policy: a vault, the book in it, and a ledger.

Only those in the folder of the workbench are taken, and of vaults only one whose key file lies
there. A passphrase is for the terminal: a page that asks for one could be imitated.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from halfmask._errors import HalfmaskError, ParameterError, VaultError
from halfmask.data.io.database_url import DatabaseUrl, is_database_url

if TYPE_CHECKING:
    from halfmask.book import ReleaseBook
    from halfmask.book.section import BookSection
    from halfmask.dp.ledger import PrivacyLedger
    from halfmask.release import Release
    from halfmask.release.booking import Booking, Departure
    from halfmask.vault import Vault

_MOST_BYTES: Final = 1024
_MAKE: Final = (
    "Make one in the terminal, in the folder of the workbench: "
    "halfmask vault create vault --key-file vault.key"
)


class Asked:
    """A book that is asked what would hold, and in which nothing is written: a `Booking`."""

    def __init__(self, booking: Booking) -> None:
        self._booking = booking

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 # all that a booking can say
        return getattr(self._booking, name)

    @contextmanager
    def leaving(self, release: Any, out: str | Path) -> Iterator[Departure]:  # noqa: ANN401 # of any kind
        """Check a release; it doesn't leave, so nothing is booked."""
        with self._booking.leaving(release, out) as departure:
            yield replace(departure, book=lambda *_: None)


def secrets_of(policy: Any, home: Path, table: str) -> dict[str, Any]:  # noqa: ANN401 # of any kind
    """Return vault and ledger as `protect_to` takes them, where a policy needs them."""
    found: dict[str, Any] = {}
    if needs_vault(policy):
        vault = find_vault(home)
        if vault is None:
            raise VaultError(
                "The policy needs a vault: for pseudonyms, cell keys or a book. The folder of the "
                "workbench has none that a key file in it opens.",
                hint=_MAKE,
            )
        found["vault"] = vault[2]
    if is_charged(policy):
        found["ledger"] = open_ledger(home, table)
    return found


def asked_book(vault: Vault, section: BookSection) -> Asked:
    """Return the book of a policy, to be asked."""
    from halfmask.book import ReleaseBook  # noqa: PLC0415 # as above

    return Asked(ReleaseBook.open(vault, dataset=section.dataset).booking(section))


def needs_vault(policy: Any) -> bool:  # noqa: ANN401 # of any kind
    """Return whether a policy has a book, or pseudonyms or cell keys of a vault."""
    from halfmask.masks.pseudonym import pseudonym_of  # noqa: PLC0415 # a job loads what it needs

    if getattr(policy, "book", None) is not None:
        return True
    if not hasattr(policy, "masks_of"):
        return getattr(policy.made_protection(), "record", None) is not None
    masks = (*policy.masks.values(), *policy.table_masks)
    return any(pseudonym_of(each).scope == "vault" for each in masks)


def is_charged(policy: Any) -> bool:  # noqa: ANN401 # of any kind
    """Return whether a release costs of a budget."""
    if not hasattr(policy, "masks_of"):
        return hasattr(policy.made_protection(), "epsilon")
    return policy.is_private or getattr(policy.synthesis, "epsilon", None) is not None


def find_vault(home: Path) -> tuple[Path, Path, Vault] | None:
    """Return the vault in a folder that a key file there opens: where both are, and the vault."""
    from halfmask.vault import KeyFile, Vault  # noqa: PLC0415 # as above

    files = (it for it in sorted(home.iterdir()) if it.is_file() and not it.is_symlink())
    keys = [it for it in files if 0 < it.stat().st_size <= _MOST_BYTES]
    for folder in sorted(it.parent for it in home.glob("*/current")):
        for key in keys:
            with suppress(VaultError):
                return folder, key, Vault.open(folder, lock=KeyFile(key))
    return None


def dataset_of(table: str) -> str:
    """Return what a table is called in SQL, which is the name of its ledger."""
    if is_database_url(table):
        where = DatabaseUrl.parse(table)
        return where.table or where.name
    return Path(table).name.partition(".")[0]


def find_ledger(home: Path, table: str) -> Path | None:
    """Return the folder below the workbench's in which a table has a ledger."""
    found = [it for it in home.glob("*/*.ledger") if it.stem == dataset_of(table)]
    if len(found) > 1:
        raise ParameterError(
            "The folder of the workbench has several ledgers of the table.",
            hint="Keep the one whose budget is in force, and move the others elsewhere.",
        )
    return found[0].parent if found else None


def open_ledger(home: Path, table: str) -> PrivacyLedger | None:
    """Open the ledger of a table; ``None`` without any."""
    from halfmask.dp.ledger import PrivacyLedger  # noqa: PLC0415 # as above

    where = find_ledger(home, table)
    return None if where is None else PrivacyLedger.open(where, dataset=dataset_of(table))


def ledgers_of(home: Path) -> list[PrivacyLedger]:
    """Return the ledgers of a folder, whether or not their tables are open."""
    from halfmask.dp.ledger import PrivacyLedger  # noqa: PLC0415 # as above

    files = sorted(home.glob("*/*.ledger"), key=lambda it: (it.stem, it.parent.name))
    return [PrivacyLedger.open(it.parent, dataset=it.stem) for it in files]


def books_of(home: Path) -> list[ReleaseBook]:
    """Return the books in the vault of a folder."""
    from halfmask.book import ReleaseBook  # noqa: PLC0415 # as above

    found = find_vault(home)
    names = [] if found is None else sorted(it.stem for it in found[0].glob("*.book"))
    return [ReleaseBook.open(found[2], dataset=name) for name in names] if found else []


def ask_books(release: Release[Any], home: Path) -> dict[str, dict[str, list[str]]]:
    """Return what each book keeps now, and what it says of a release, were it booked."""
    from halfmask.book.section import BookSection  # noqa: PLC0415 # as above

    said = {}
    own = None if release.booking is None else release.booking.section.dataset
    for book in books_of(home):
        section = BookSection(dataset=book.dataset, receiver="nobody yet")
        asked = Asked(book.booking(section)).leaving(release, home / "release")
        try:
            with nullcontext() if book.dataset == own else asked as departure:
                found = departure.sentences if departure else release.checked
        except HalfmaskError as error:
            found = [f"The release can't be compared: {error.what}"]
        said[book.dataset] = {"together": [*book.describe_together()], "found": [*found]}
    return said
