"""ReleaseBook: what left of a data set, in the vault; and the pen, which writes into it."""

from __future__ import annotations

import datetime as dt
import hashlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from halfmask._errors import IntegrityError, ParameterError, VaultError
from halfmask.book._book_file import HINT, BookFile, Part
from halfmask.book._booked_release import BookedRelease, add_entry
from halfmask.book._people import BookedRows, digest_rows
from halfmask.claims import MANIFEST_NAME
from halfmask.data.io.formats import is_object_address
from halfmask.release.booking import Leaving
from halfmask.vault import Vault

if TYPE_CHECKING:
    from halfmask.book.section import BookSection
    from halfmask.claims import Manifest
    from halfmask.release.booking import Booking, LeavingRows

_PEOPLE, _PLAN, _FILE = "people", "plan", "file:"


class ReleaseBook:
    """What left of a data set, for whom: the next release is checked against it.

    Make one by `ReleaseBook.create`, open one by `ReleaseBook.open`.

    Parameters
    ----------
    file
        The file of the book.

    Notes
    -----
    **Guarantees.** Entries are only added, and each is on the disk before its release gets its
    name. An entry that was altered, moved or deleted is an error, the newest too. Processes that
    book at the same time take turns. Without the lock of the vault nobody learns who is in a
    release: persons and values are kept as keyed digests, sealed under a key of each release.

    **Edge cases.** Receivers, columns, claims and verdicts aren't sealed: the file has the mode
    0600. Putting back an earlier copy of the whole vault isn't noticed.
    """

    __slots__ = ("_file",)

    def __init__(self, file: BookFile) -> None:
        self._file = file

    def __repr__(self) -> str:
        return f"ReleaseBook(dataset={self.dataset!r})"

    @classmethod
    def create(cls, vault: Vault, *, dataset: str) -> Self:
        """Make the book of a data set in the vault's folder: ``DATASET.book``.

        Parameters
        ----------
        vault
            The vault, which gets the keys of the book.
        dataset
            The name of the data set: up to 64 letters, digits and ``_.-``.
        """
        file = _file_of(vault, dataset)
        file.create()
        return cls(file)

    @classmethod
    def open(cls, vault: Vault, *, dataset: str) -> Self:
        """Open the book of a data set.

        Parameters
        ----------
        vault, dataset
            The vault in which it was made, and the name of the data set.

        Raises
        ------
        VaultError
            If there is none, it is of another data set or vault, or an entry was altered.
        """
        file = _file_of(vault, dataset)
        file.entries()
        return cls(file)

    @property
    def dataset(self) -> str:
        """The name of the data set."""
        return self._file.dataset

    def releases(self) -> tuple[BookedRelease, ...]:
        """Return all releases in order, also those that didn't leave."""
        return tuple(self._known().values())

    def find(self, release: int | str | Path) -> int:
        """Return the number of a release.

        Parameters
        ----------
        release
            A number, ``"last"`` for the newest that left, or the folder of a release.
        """
        known, text = self.releases(), str(release)
        left = {each.number: each.manifest_sha256 for each in known if each.state == "left"}
        if text == "last" and left:
            return max(left)
        if text in {str(each.number) for each in known}:
            return int(text)
        found = _hash_of(Path(text) / MANIFEST_NAME)
        place = _written(text)
        gone = [it.number for it in known if it.number in left and it.out == place]
        if found is None and gone and not place.endswith("://"):  # it was deleted since
            return max(gone)
        if found not in left.values():
            raise _unknown()
        return max(number for number, sha256 in left.items() if sha256 == found)

    def people_of(self, number: int) -> BookedRows | None:
        """Return the rows of a release as digests, or ``None`` if nobody's rows left.

        Parameters
        ----------
        number
            The number of the release; one that was forgotten is an error.
        """
        raw = self._part(number, _PEOPLE)
        return None if raw is None else BookedRows.from_bytes(raw)

    def plan_of(self, number: int) -> bytes | None:
        """Return the plan of a release, or ``None`` if the book has none of it.

        Parameters
        ----------
        number
            The number of the release; one that was forgotten is an error.
        """
        return self._part(number, _PLAN)

    def files_of(self, number: int) -> dict[str, bytes]:
        """Return the files that the book keeps of tables, ``manifest.json`` among them.

        Parameters
        ----------
        number
            The number of the release; one that was forgotten is an error.
        """
        kept = [name for name in self._kept(number) if name.startswith(_FILE)]
        found = {name.removeprefix(_FILE): self._part(number, name) for name in kept}
        return {name: raw for name, raw in found.items() if raw is not None}

    def digest_rows(self, rows: LeavingRows) -> BookedRows:
        """Return rows as digests under the keys of this book.

        Parameters
        ----------
        rows
            The rows that are to leave. Each names a person, or is matched by columns.
        """
        return digest_rows(rows, self._file.secret())

    def booking(self, section: BookSection) -> Booking:
        """Return how the release of a policy is booked.

        Parameters
        ----------
        section
            What ``[book]`` of the policy says.
        """
        from halfmask.book._booking import SectionBooking  # noqa: PLC0415 # it imports this module

        return SectionBooking(self, section)

    def forget(self, number: int | None = None) -> None:
        """Destroy the key of a release's people, plan and files, and book it.

        Later releases aren't compared with it, and say so. Copies of the vault still have the key.

        Parameters
        ----------
        number
            The number of the release; by default all of them.
        """
        with self.writing() as pen:
            if number is not None and number not in pen.known:
                raise _unknown()
            known = [it.number for it in pen.known.values() if not it.forgotten]
            if chosen := [it for it in known if number in {None, it}]:
                pen.drop(chosen, forgotten=True)

    def describe_together(self, receiver: str | None = None) -> tuple[str, ...]:
        """Return what releases keep together now, such as ``"k = 5"``.

        Parameters
        ----------
        receiver
            Whose releases; by default those of all receivers.

        Notes
        -----
        **Edge cases.** Releases count that left, weren't forgotten and name persons. Of releases
        without classes, epsilon alone counts.
        """
        from halfmask.book._booking import describe_releases  # noqa: PLC0415 # it imports this module

        return describe_releases(self, receiver)

    def check_folders(self) -> dict[int, str]:
        """Return which releases are ``"altered"`` or ``"missing"`` now, by number.

        Manifest and data files are compared. Object stores and forgotten releases aren't looked at.
        """
        found = {}
        for each in self.releases():
            folder, hashes = Path(each.out), {MANIFEST_NAME: each.manifest_sha256, **each.files}
            if each.state != "left" or each.forgotten or "://" in each.out:
                continue
            if any(_hash_of(folder / name) != sha256 for name, sha256 in hashes.items()):
                found[each.number] = "altered" if folder.is_dir() else "missing"
        return found

    @contextmanager
    def writing(self) -> Iterator[Pen]:
        """Yield the pen; nobody else writes until the context ends.

        What a dead process left pending is settled first: it left if its folder is there. When the
        context ends well, what the pen wrote has left; after an exception its folder decides.
        """
        with self._file.locked():
            pen = Pen(file=self._file, known=self._known())
            pen.settle()
            try:
                yield pen
            except BaseException:
                pen.settle()
                raise
            pen.settle(ended_well=True)

    def _known(self) -> dict[int, BookedRelease]:
        known: dict[int, BookedRelease] = {}
        for entry in self._file.entries():
            add_entry(known, entry)
        return known

    def _kept(self, number: int) -> tuple[str, ...]:
        """Return the names of what the book must have of a release."""
        found = self._known().get(number)
        if found is None:
            raise _unknown()
        if found.forgotten:
            raise VaultError(
                f"Release {number} was forgotten: the key of what the book had of it is gone.",
                hint="Name a release that wasn't forgotten.",
            )
        return () if found.state == "void" else found.kept

    def _part(self, number: int, name: str) -> bytes | None:
        # What is there is authentic: its key is of this release. Entries say whether it's missing.
        raw = self._file.part(number, name)
        if raw is None and name in self._kept(number):
            raise IntegrityError("The book lacks a part of a release.", hint=HINT)
        return raw


@dataclass(slots=True, kw_only=True, repr=False)
class Pen:
    """Writes releases into a book: ``with book.writing() as pen``."""

    file: BookFile
    known: dict[int, BookedRelease]

    def pending(  # noqa: PLR0913 # what is booked
        self,
        manifest: Manifest,
        folder: Path,
        *,
        out: str | Path,
        receiver: str,
        leaving: Leaving | None = None,
        rows: BookedRows | None = None,
        verdict: Sequence[str] = (),
        accepted_by: str | None = None,
        reason: str | None = None,
    ) -> int:
        """Write a release that is in ``folder`` and is going to ``out``; return its number."""
        number, now = 1 + len(self.known), _now()
        if any(now < each.time for each in self.known.values()):
            warnings.warn(
                "The clock was set back. The book orders releases by their numbers.", stacklevel=2
            )
        parts: dict[Part, bytes] = {}
        facts: dict[str, object] = {}
        given = leaving or Leaving()
        if given.rows is not None:
            rows = rows or digest_rows(given.rows, self.file.secret())
            parts[number, _PEOPLE] = rows.to_bytes()
            facts = {
                "people": rows.n_people,
                "matched": given.rows.matched,
                "drawn": dict(given.rows.drawn),
            }
        if given.plan is not None:
            parts[number, _PLAN] = given.plan
        if given.keeps_files:
            names = [MANIFEST_NAME, *(each.name for each in manifest.files)]
            parts |= {(number, _FILE + name): (folder / name).read_bytes() for name in names}
        release = {
            "number": number,
            "time": now,
            "receiver": receiver,
            "kind": manifest.kind,
            "claims": [each.to_dict() for each in manifest.claims],
            "files": {each.name: each.sha256 for each in manifest.files},
            "manifest_sha256": _hash_of(folder / MANIFEST_NAME),
            "policy_sha256": manifest.policy_sha256,
            **facts,
            "whose": [] if given.rows is None else given.rows.whose.columns,
            "kept": [name for _, name in parts],
            "verdict": list(verdict),
            "accepted_by": accepted_by,
            "reason": reason,
            "out": _written(out),
        }
        self._append({"release": release}, parts=parts)
        return number

    def settle(self, *, ended_well: bool = False) -> None:
        """Write what became of pending releases: ``left`` if the folder is there, else ``void``."""
        for each in tuple(self.known.values()):
            if each.state == "pending" and (ended_well or _has_left(each)):
                self._append({"numbers": [each.number], "becomes": {"state": "left"}})
            elif each.state == "pending":
                self.drop([each.number], state="void")
        # A process may have died before it destroyed them.
        gone = [
            each.number for each in self.known.values() if each.forgotten or each.state == "void"
        ]
        self.file.destroy_keys(gone)

    def drop(self, numbers: Sequence[int], **becomes: object) -> None:
        """Destroy the parts of releases, and write why."""
        self._append({"numbers": numbers, "becomes": becomes, "time": _now()}, drop=numbers)

    def _append(self, entry: Mapping[str, object], **changes: Any) -> None:  # noqa: ANN401
        self.file.append(entry, **changes)
        add_entry(self.known, entry)


def _file_of(vault: object, dataset: str) -> BookFile:
    if isinstance(vault, Vault):
        return BookFile(vault, dataset)
    raise ParameterError(
        f"The 'vault' parameter of ReleaseBook must be a Vault. Got {type(vault).__name__}.",
        hint="Vault.open opens one.",
    )


def _unknown() -> ParameterError:
    return ParameterError(
        "The book doesn't have that release.",
        hint="Give a number, 'last', or its folder. [[releases()|halfmask book list]] shows what "
        "it has.",
    )


def _now() -> str:
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _written(out: str | Path) -> str:
    """Return an output as it is booked: an absolute path, or an address without a password."""
    text = str(out)
    if is_object_address(text):
        return text
    return text.partition("://")[0] + "://" if "://" in text else str(Path(text).absolute())


def _has_left(release: BookedRelease) -> bool:
    """Return whether a release that was pending has left; where nobody can tell, it has."""
    out = Path(release.out)
    if "://" in release.out or not out.parent.is_dir():
        return True
    return _hash_of(out / MANIFEST_NAME) == release.manifest_sha256


def _hash_of(path: Path) -> str | None:
    """Return the hash of a file, or ``None`` if it can't be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        return None
