"""A release that somebody sent: its files are put into a private folder, verified, and removed."""

from __future__ import annotations

import hashlib
import lzma
import os
import re
import shutil
import stat
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from halfmask._errors import DataError, VerificationError
from halfmask.claims import MANIFEST_NAME, REPORT_NAME, read_manifest
from halfmask.claims.manifest import BESIDE, released_file

if TYPE_CHECKING:
    from halfmask._progress import Progress
    from halfmask.verifier import CheckedRelease

#: Of a release that was sent, whatever its zip says of itself.
MOST_FILES: Final = 1_000
MOST_BYTES: Final = 8 << 30
_DEEPEST: Final = 6
_LONGEST: Final = 200
_CHUNK: Final = 1 << 20
#: What systems add to a zip that nobody asked for.
_ADDED: Final = ("__MACOSX", ".DS_Store")
_UNREADABLE: Final = DataError(
    "The zip can't be read: it is damaged, or packed or locked in a way that isn't known.",
    hint="Ask for the release again, or drop its files.",
)
_ENCRYPTED: Final = 0x1


def verify_received(
    report: Progress, folder: Path, *, names: Sequence[str], staged: str
) -> dict[str, Any]:
    """Verify files that were dropped, which lie at ``staged`` under their numbers."""
    where = folder / "received"
    where.mkdir(mode=0o700)
    try:
        report("unpacking")
        files = [Path(staged) / str(number) for number in range(len(names))]
        if len(files) == 1 and zipfile.is_zipfile(files[0]):
            _unpack(files[0], where)
        else:
            _place(files, names, where)
        return verdict_on(report, _release_in(where))
    finally:
        shutil.rmtree(where, ignore_errors=True)
        shutil.rmtree(staged, ignore_errors=True)


def verify_folder(report: Progress, folder: Path, *, where: str) -> dict[str, Any]:
    """Verify a release in the folder of the workbench."""
    del folder
    return verdict_on(report, Path(where))


def verdict_on(report: Progress, release: Path) -> dict[str, Any]:
    """Return what was found of a release, as JSON: counts and words, no cell."""
    from halfmask.verifier import verify  # noqa: PLC0415 # a job loads what it needs

    report("counting every claim again")
    # An output of events has its manifest next to it.
    has_manifest = released_file(release, MANIFEST_NAME) is not None
    try:
        found = verify(release)
    except VerificationError as error:
        hint = error.hint if has_manifest else "Choose the zip that you received, unchanged."
        raise VerificationError(error.what, hint=hint) from None
    if not has_manifest:
        return {**words_of(found), "manifest": None}
    known = () if found.is_broken else read_manifest(release).weaknesses
    return {**words_of(found, known), "manifest": digest_of_manifest(release)}


def digest_of_manifest(release: Path) -> str:
    """Return the hash of a manifest, by which a receiver knows that it is the owner's."""
    return hashlib.sha256((release / MANIFEST_NAME).read_bytes()).hexdigest()


def words_of(found: CheckedRelease, weaknesses: Sequence[str] = ()) -> dict[str, Any]:
    """Return the verdict, what it rests on, and what it doesn't cover, as the manifest may say."""
    from halfmask.verifier.verdict import verdict_of, verdict_on_claim  # noqa: PLC0415 # as above

    said = found.to_dict()
    for each, claim in zip(said["claims"], found.claims, strict=True):
        each["verdict"], each["evidence"] = verdict_on_claim(claim)
    open_to = dict.fromkeys(_without_code(it) for it in (*weaknesses, *found.weaknesses))
    return {
        **said,
        "verdict": verdict_of(found),
        "style": "holds" if found.holds else "broken" if found.is_broken else "unchecked",
        "weaknesses": list(open_to),
    }


def _without_code(weakness: str) -> str:
    """Return a weakness as a sentence, without the code in front of it that programs read."""
    said = re.sub(r"^[a-z][a-z-]*: ", "", weakness)
    return said[:1].upper() + said[1:]


def _place(files: Sequence[Path], names: Sequence[str], where: Path) -> None:
    """Put single files to where they lie in a release: browsers say no folder."""
    is_output = MANIFEST_NAME not in names and any(it.endswith(BESIDE) for it in names)
    for file, name in zip(files, names, strict=True):
        of_top = is_output or name in {MANIFEST_NAME, REPORT_NAME}
        with file.open("rb") as source:
            _write(source, where, _parts_of(name if of_top else f"data/{name}"), MOST_BYTES)


def _unpack(archive: Path, where: Path) -> None:
    """Unpack a zip: plain files only, below the folder, and no more than a release may have."""
    left = MOST_BYTES
    damaged = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError)
    try:
        with zipfile.ZipFile(archive) as packed:
            entries = packed.infolist()
            if len(entries) > MOST_FILES:
                raise DataError(
                    f"The zip has {len(entries):,} entries; a release has at most {MOST_FILES:,}.",
                    hint="Drop the zip of one release.",
                )
            for entry in entries:
                parts = _parts_of(entry.filename.rstrip("/"))
                if parts[0] in _ADDED or parts[-1] in _ADDED:
                    continue
                _check_plain(entry)
                if entry.is_dir():
                    _make_folders(where, parts)
                    continue
                with packed.open(entry) as source:
                    left -= _write(source, where, parts, left)
    except (*damaged, RuntimeError):
        raise _UNREADABLE from None
    except OSError as error:
        if error.errno is not None:  # the system's; a packer of bzip2 gives none
            raise
        raise _UNREADABLE from None


def _check_plain(entry: zipfile.ZipInfo) -> None:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
        raise DataError(
            "The zip holds a link or a device; a release has plain files only.",
            hint="Don't trust it. Ask for the release as halfmask wrote it.",
        )
    if entry.flag_bits & _ENCRYPTED:
        raise DataError(
            "The zip is locked by a password.", hint="Unpack it, and drop the files in it."
        )


def _parts_of(name: str) -> tuple[str, ...]:
    """Return the parts of a file's name; one that could lead out of its folder is refused."""
    parts = PurePosixPath(name).parts
    letters = set(name) & set("\\:\0")
    is_bad = any(it in {"..", "/", "//"} or len(it.encode()) > _LONGEST for it in parts)
    if not parts or len(parts) > _DEEPEST or letters or is_bad or not name.isprintable():
        raise DataError(
            "A file of the release has a name that leads elsewhere, or that no file may have.",
            hint="Don't trust it. Ask for the release as halfmask wrote it.",
        )
    return parts


def _make_folders(where: Path, parts: Iterable[str]) -> Path:
    for part in parts:
        where /= part
        with _one_of_a_name():
            where.mkdir(mode=0o700, exist_ok=True)
    return where


@contextmanager
def _one_of_a_name() -> Iterator[None]:
    """Refuse a name that two files have, or a file and a folder."""
    try:
        yield
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        raise DataError(
            "Two files of the release have the same name.", hint="Ask for the release again."
        ) from None


def _write(source: Any, where: Path, parts: Sequence[str], most: int) -> int:  # noqa: ANN401 # a zip's
    """Write a new private file of at most so many bytes, and return how many it has."""
    target, size = _make_folders(where, parts[:-1]) / parts[-1], 0
    with _one_of_a_name():
        found = os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
    with os.fdopen(found, "wb") as file:
        while chunk := source.read(_CHUNK):
            size += len(chunk)
            if size > most:
                raise DataError(
                    f"The release has more than {MOST_BYTES >> 30} GiB when it is unpacked.",
                    hint="Unpack it yourself, and verify the folder in the terminal.",
                )
            file.write(chunk)
    return size


def _release_in(where: Path) -> Path:
    """Return the release in a folder, or in the one folder that is in it."""
    inside = list(where.iterdir())
    is_nested = len(inside) == 1 and inside[0].is_dir() and not (where / MANIFEST_NAME).exists()
    return inside[0] if is_nested else where
