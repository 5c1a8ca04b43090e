"""What a release needs besides a table and a policy: a vault, the book in it, and a ledger.

Only those in the folder of the workbench are taken, and of vaults only one whose key file lies
there. A passphrase is for the terminal: a page that asks for one could be imitated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from halfmask._errors import HalfmaskError, ParameterError, VaultError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from halfmask.book import ReleaseBook
    from halfmask.dp.ledger import PrivacyLedger
    from halfmask.release import Release
    from halfmask.release.booking import Booking, Departure, LeavingRows
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
        self.section = booking.section

    def reused(self) -> bytes | None:
        """Return the plan of the earlier release that is to be reused."""
        return self._booking.reused()

    def waiting(self, rows: LeavingRows) -> NDArray[np.bool_]:
        """Return which rows must wait."""
        return self._booking.waiting(rows)

    def earlier_files(self) -> AbstractContextManager[Sequence[Path]]:
        """Yield folders with the tables that were released before."""
        return self._booking.earlier_files()

    @contextmanager
    def leaving(self, release: Any, out: str | Path) -> Iterator[Departure]:  # noqa: ANN401 # of any kind
        """Check a release; it doesn't leave, so nothing is booked."""
        with self._booking.leaving(release, out) as departure:
            yield replace(departure, book=lambda *_: None)


def secrets_of(policy: Any, home: Path, table: str) -> dict[str, Any]:  # noqa: ANN401 # of any kind
    """Return vault, ledger and book as `protect_to` takes them, where a policy needs them."""
    found: dict[str, Any] = {}
    section = getattr(policy, "book", None)
    if section is not None or needs_vault(policy):
        found["vault"] = vault = open_vault(home)
        if vault is None:
            raise VaultError(
                "The policy needs a vault: for pseudonyms, cell keys or a book. The folder of the "
                "workbench has none that a key file in it opens.",
                hint=_MAKE,
            )
        if section is not None:
            found["book"] = Asked(_book(vault, section.dataset).booking(section))
    if is_charged(policy):
        found["ledger"] = open_ledger(home, table)
    return found


def needs_vault(policy: Any) -> bool:  # noqa: ANN401 # of any kind
    """Return whether pseudonyms or cell keys of a policy are those of a vault."""
    from halfmask.masks.pseudonym import pseudonym_of  # noqa: PLC0415 # a job loads what it needs

    if not hasattr(policy, "masks_of"):
        return getattr(policy.made_protection(), "record", None) is not None
    masks = (*policy.masks.values(), *policy.table_masks)
    return any(pseudonym_of(each).scope == "vault" for each in masks)


def is_charged(policy: Any) -> bool:  # noqa: ANN401 # of any kind
    """Return whether a release costs of a budget."""
    if not hasattr(policy, "masks_of"):
        return hasattr(policy.made_protection(), "epsilon")
    return policy.is_private or getattr(policy.synthesis, "epsilon", None) is not None


def open_vault(home: Path) -> Vault | None:
    """Open the vault in a folder by a key file in it; ``None`` if there is none."""
    return next((vault for _, _, vault in _vaults(home)), None)


def find_vault(home: Path) -> tuple[Path, Path] | None:
    """Return where that vault and its key file are."""
    return next(((folder, key) for folder, key, _ in _vaults(home)), None)


def _vaults(home: Path) -> Iterator[tuple[Path, Path, Vault]]:
    from halfmask.vault import KeyFile, Vault  # noqa: PLC0415 # as above

    keys = [it for it in sorted(home.iterdir()) if it.is_file() and _is_small(it)]
    for folder in sorted(it.parent for it in home.glob("*/current")):
        for key in keys:
            with suppress(VaultError):
                yield folder, key, Vault.open(folder, lock=KeyFile(key))


def _is_small(file: Path) -> bool:
    return not file.is_symlink() and 0 < file.stat().st_size <= _MOST_BYTES


def open_ledger(home: Path, table: str) -> PrivacyLedger | None:
    """Open the ledger of a table in a folder below the workbench's; ``None`` without any."""
    from halfmask.dp.ledger import PrivacyLedger  # noqa: PLC0415 # as above

    name = Path(table).name.partition(".")[0]
    found = [it for it in sorted(home.glob("*/*.ledger")) if it.name == f"{name}.ledger"]
    if len(found) > 1:
        raise ParameterError(
            "The folder of the workbench has several ledgers of the table.",
            hint="Keep the one whose budget is in force, and move the others elsewhere.",
        )
    return PrivacyLedger.open(found[0].parent, dataset=name) if found else None


def _book(vault: Vault, dataset: str) -> ReleaseBook:
    from halfmask.book import ReleaseBook  # noqa: PLC0415 # as above

    return ReleaseBook.open(vault, dataset=dataset)


def books_of(home: Path) -> list[ReleaseBook]:
    """Return the books in the vault of a folder."""
    vault = open_vault(home)
    names = [] if vault is None else sorted(it.stem for it in Path(vault.folder).glob("*.book"))
    return [] if vault is None else [_book(vault, name) for name in names]


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
