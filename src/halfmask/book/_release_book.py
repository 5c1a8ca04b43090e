"""ReleaseBook: what left of a data set, in the vault; and the pen, which writes into it."""

from __future__ import annotations

import datetime as dt
import hashlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from halfmask._errors import ParameterError, VaultError
from halfmask.book._book_file import BookFile
from halfmask.book._booked_release import BookedRelease, releases_of
from halfmask.book._people import BookedRows, digest_rows
from halfmask.claims import MANIFEST_NAME
from halfmask.data.io.formats import is_object_address
from halfmask.vault import Vault

if TYPE_CHECKING:
    from halfmask.book.section import BookSection
    from halfmask.claims import Manifest
    from halfmask.release.booking import Booking, Leaving, LeavingRows

#: What became of a folder that left: not known where it is in an object store.
FolderState: TypeAlias = Literal["unchanged", "altered", "missing", "not known"]

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
    name. An entry that was altered, moved or deleted is an error, also if it was the newest.
    Processes that book at the same time take turns. Persons and values are kept as keyed digests.
    Without the lock of the vault nobody learns who is in a release.

    **Edge cases.** Receivers, columns, claims and sentences aren't sealed: the file has the mode
    0600. Putting back an earlier copy of the whole vault isn't noticed.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from halfmask.vault import KeyFile, Vault
    >>> folder = tempfile.TemporaryDirectory()
    >>> where = pathlib.Path(folder.name)
    >>> vault = Vault.create(where / "vault", lock=KeyFile.create(where / "key"))
    >>> book = ReleaseBook.create(vault, dataset="patients")
    >>> book.releases()
    ()
    >>> folder.cleanup()
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
            The vault, which has the keys of the book.
        dataset
            The name of the data set: up to 64 letters, digits and ``_.-``.

        Raises
        ------
        VaultError
            If the data set has a book already.
        """
        file = BookFile(_checked(vault), dataset)
        file.create()
        return cls(file)

    @classmethod
    def open(cls, vault: Vault, *, dataset: str) -> Self:
        """Open the book of a data set.

        Parameters
        ----------
        vault
            The vault in which it was made.
        dataset
            The name of the data set.

        Raises
        ------
        VaultError
            If there is no such book, or others may read it.
        KeyMismatchError
            If it is of another data set, or of another vault.
        IntegrityError
            If an entry was altered or deleted.
        """
        file = BookFile(_checked(vault), dataset)
        file.entries()
        return cls(file)

    @property
    def dataset(self) -> str:
        """The name of the data set."""
        return self._file.dataset

    def releases(self) -> tuple[BookedRelease, ...]:
        """Return all releases in order, also those that didn't leave."""
        return tuple(releases_of(self._file.entries()).values())

    def find(self, release: int | str | Path) -> int:
        """Return the number of a release.

        Parameters
        ----------
        release
            A number, ``"last"`` for the newest that left, or the folder of a release.

        Raises
        ------
        ParameterError
            If the book doesn't have it.
        """
        known = {each.number: each for each in self.releases()}
        left = [each.number for each in known.values() if each.state == "left"]
        text = str(release)
        if text == "last" and left:
            return left[-1]
        if text.isascii() and text.isdecimal() and int(text) in known:
            return int(text)
        found = _hash_of(Path(text) / MANIFEST_NAME)
        for number in reversed(left):
            if found is not None and known[number].manifest_sha256 == found:
                return number
        raise ParameterError(
            "The book doesn't have that release.",
            hint="Give a number, 'last', or its folder. [[releases()|halfmask book list]] shows "
            "what it has.",
        )

    def people_of(self, number: int) -> BookedRows | None:
        """Return the rows of a release as digests, or ``None`` if nobody's rows left.

        Parameters
        ----------
        number
            The number of the release.

        Raises
        ------
        VaultError
            If the release was forgotten.
        """
        raw = self._part(number, _PEOPLE)
        return None if raw is None else BookedRows.from_bytes(raw)

    def plan_of(self, number: int) -> bytes | None:
        """Return the plan of a release, or ``None`` if it has none that can be reused.

        Parameters
        ----------
        number
            The number of the release.

        Raises
        ------
        VaultError
            If the release was forgotten.
        """
        return self._part(number, _PLAN)

    def files_of(self, number: int) -> dict[str, bytes]:
        """Return the files that the book keeps of tables, with the manifest, by their names.

        Parameters
        ----------
        number
            The number of the release.

        Raises
        ------
        VaultError
            If the release was forgotten.
        """
        names = [name for name in self._kept(number).kept if name.startswith(_FILE)]
        return {name.removeprefix(_FILE): self._file.part(number, name) for name in names}

    def digest_rows(self, rows: LeavingRows) -> BookedRows:
        """Return rows as digests under the keys of this book.

        Parameters
        ----------
        rows
            The rows that are to leave.

        Raises
        ------
        DataError
            If a row names no person.
        """
        return digest_rows(rows, self._file.secret())

    def booking(self, section: BookSection) -> Booking:
        """Return how a release is booked that a policy's section names.

        Parameters
        ----------
        section
            What ``[book]`` of the policy says.
        """
        from halfmask.book._booking import SectionBooking  # noqa: PLC0415 # it imports this module

        return SectionBooking(self, section)

    def forget(self, number: int | None = None) -> None:
        """Destroy the keys of a release's people, plan and files; it is booked that they are gone.

        Later releases aren't compared with it, and say so. Copies of the vault still have the keys.

        Parameters
        ----------
        number
            The number of the release; by default all of them.

        Raises
        ------
        ParameterError
            If the book doesn't have it.
        """
        with self.writing() as pen:
            known = {each.number: each for each in pen.releases}
            if number is not None:
                _check_number(number, known)
            numbers = [
                each.number
                for each in known.values()
                if not each.forgotten and number in {None, each.number}
            ]
            if numbers:
                entry = {"entry": "forgotten", "time": _now(), "numbers": numbers}
                self._file.append(entry, drop=numbers)

    def check_folders(self) -> dict[int, FolderState]:
        """Return what became of the folders of releases that left, by number.

        A folder is ``"unchanged"``, ``"altered"`` if its manifest or a data file isn't what left,
        ``"missing"`` if it isn't there, and ``"not known"`` in an object store.
        """
        return {each.number: _state_of(each) for each in self.releases() if each.state == "left"}

    @contextmanager
    def writing(self) -> Iterator[Pen]:
        """Yield the pen; nobody else writes until the context ends.

        Notes
        -----
        What a dead process left pending is settled first: it left if its folder is there with its
        manifest. When the context ends, what the pen left pending is ``left`` if all went well.
        If an exception ends it, its folder decides, as for a dead process.
        """
        with self._file.locked():
            pen = Pen(file=self._file, entries=self._file.entries())
            pen.settle(ended_well=False)
            try:
                yield pen
            except BaseException:
                pen.settle(ended_well=False)
                raise
            pen.settle(ended_well=True)

    def _kept(self, number: int) -> BookedRelease:
        known = {each.number: each for each in self.releases()}
        _check_number(number, known)
        found = known[number]
        if found.forgotten:
            raise VaultError(
                f"Release {number} was forgotten: the keys of what the book had of it are gone.",
                hint="Name a release that wasn't forgotten.",
            )
        return found

    def _part(self, number: int, name: str) -> bytes | None:
        found = self._kept(number)
        if name not in found.kept or found.state == "void":
            return None
        return self._file.part(number, name)


@dataclass(slots=True, kw_only=True, repr=False)
class Pen:
    """Writes releases into a book: ``with book.writing() as pen``."""

    file: BookFile
    entries: list[Mapping[str, Any]]

    @property
    def releases(self) -> tuple[BookedRelease, ...]:
        """All releases in the book, as of now."""
        return tuple(releases_of(self.entries).values())

    def pending(  # noqa: PLR0913 # what is booked
        self,
        manifest: Manifest,
        folder: Path,
        *,
        out: str | Path,
        receiver: str,
        leaving: Leaving | None = None,
        rows: BookedRows | None = None,
        sentences: Sequence[str] = (),
        accepted_by: str | None = None,
        reason: str | None = None,
    ) -> int:
        """Write a release before its folder gets its name, and return its number.

        ``folder`` has its files now, ``out`` is where it is going to be. ``rows`` are those of
        ``leaving`` as digests, if they were made before.
        """
        parts: dict[str, bytes] = {}
        facts: dict[str, Any] = {}
        if leaving is not None and leaving.rows is not None:
            given = leaving.rows
            rows = rows or digest_rows(given, self.file.secret())
            parts[_PEOPLE] = rows.to_bytes()
            facts = {
                "rows": len(rows.persons),
                "people": rows.n_people,
                "whose": given.whose.columns,
                "matched": given.matched,
                "sensitive": list(rows.sensitive),
                "has_classes": bool((rows.classes >= 0).any()),
                "drawn": dict(given.drawn),
            }
        if leaving is not None and leaving.plan is not None:
            parts[_PLAN] = leaving.plan
        if leaving is not None and leaving.keeps_files:
            for name in (MANIFEST_NAME, *(each.name for each in manifest.files)):
                parts[f"{_FILE}{name}"] = (folder / name).read_bytes()
        number = 1 + max((each.number for each in self.releases), default=0)
        entry = {
            "entry": "pending",
            "number": number,
            "time": self._read_clock(),
            "receiver": receiver,
            "kind": manifest.kind,
            "manifest_sha256": _hash_of(folder / MANIFEST_NAME),
            "policy_sha256": manifest.policy_sha256,
            "claims": [each.to_dict() for each in manifest.claims],
            "files": {each.name: each.sha256 for each in manifest.files},
            **facts,
            "kept": list(parts),
            "sentences": list(sentences),
            "accepted_by": accepted_by,
            "reason": reason,
            "out": _written(out),
        }
        self._append(entry, parts=parts)
        return number

    def settle(self, *, ended_well: bool) -> None:
        """Write what became of pending releases: ``left``, or ``void`` if it isn't there."""
        for each in self.releases:
            if each.state == "pending" and (ended_well or _has_left(each)):
                self._append({"entry": "left", "number": each.number})
            elif each.state == "pending":
                self._append({"entry": "void", "number": each.number}, drop=[each.number])
        gone = [each.number for each in self.releases if each.forgotten or each.state == "void"]
        self.file.destroy_keys(gone)  # a process may have died before it did

    def _append(
        self,
        entry: Mapping[str, Any],
        *,
        parts: Mapping[str, bytes] | None = None,
        drop: Sequence[int] = (),
    ) -> None:
        self.file.append(entry, parts=parts, drop=drop)
        self.entries.append(entry)

    def _read_clock(self) -> str:
        """Return the time; warn if it is before that of an earlier entry."""
        now = _now()
        if any(now < each.time for each in self.releases):
            warnings.warn(
                "The clock was set back: the book has a later time already. Releases are ordered "
                "by their numbers.",
                stacklevel=2,
            )
        return now


def _checked(vault: object) -> Vault:
    if isinstance(vault, Vault):
        return vault
    raise ParameterError(
        f"The 'vault' parameter of ReleaseBook must be a Vault. Got {type(vault).__name__}.",
        hint="Vault.open opens one.",
    )


def _check_number(number: object, known: Mapping[int, BookedRelease]) -> None:
    if type(number) is not int or number not in known:
        raise ParameterError(
            "The book has no release of that number.",
            hint="[[releases()|halfmask book list]] shows what it has.",
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


def _state_of(release: BookedRelease) -> FolderState:
    if "://" in release.out:
        return "not known"
    folder = Path(release.out)
    hashes = {MANIFEST_NAME: release.manifest_sha256, **release.files}
    found = {name: _hash_of(folder / name) for name in hashes}
    if not folder.is_dir():
        return "missing"
    return "unchanged" if found == hashes else "altered"


def _hash_of(path: Path) -> str | None:
    """Return the hash of a file, or ``None`` if it can't be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        return None
