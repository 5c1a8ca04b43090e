"""Publish a release: a folder that is verified and then named, or files next to an output."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from halfmask._errors import ReleaseError
from halfmask.claims import MANIFEST_NAME, REPORT_NAME, Manifest, write_manifest
from halfmask.claims.manifest import manifest_of
from halfmask.claims.manifest_reader import parse_manifest
from halfmask.data import atomic_file, atomic_folder
from halfmask.data.io.formats import is_object_address
from halfmask.data.io.object_folder import object_folder
from halfmask.release.page import page_of
from halfmask.verifier import VerifyInputs, verify_with

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from halfmask.release.booking import Departure
    from halfmask.release.page import AnyBlock
    from halfmask.release.row_files import RowFiles, WriteJob
    from halfmask.verifier import CheckedRelease

REPORT_BESIDE: Final = ".report.html"


def publish(
    manifest: Manifest,
    files: RowFiles,
    job: WriteJob,
    *,
    blocks: Callable[[Manifest], tuple[Sequence[AnyBlock], Sequence[AnyBlock]]],
    page: Callable[[Manifest, CheckedRelease], str] | None = None,
    departure: Departure | None = None,
) -> tuple[Manifest, CheckedRelease]:
    """Write a release aside, verify it on disk, and then give its folder its name.

    A page of ``blocks``, a summary and the others, is written before the verifier runs, which
    checks its hash with the other files. A ``page`` of the kind's own shows what the verifier
    found: it is written afterwards, and its hash is added to the manifest. A ``departure`` is
    booked last: the book has each folder that is there.
    """
    progress = job.progress
    with _new_folder(files.folder or job.out, overwrite=job.overwrite) as folder:
        if files.write is not None:
            progress("writing", 0.0)
            (folder / "data").mkdir()
            manifest = replace(manifest, files=tuple(files.write(folder)))
        now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        manifest = replace(manifest, created=now)
        if page is None:
            from halfmask.release.receiving import reading_lines  # noqa: PLC0415 # not for all

            summary, more = blocks(manifest)
            shown = page_of(manifest, [*more, *reading_lines(manifest)], summary)
            manifest = _write_page(manifest, shown, folder)
        write_manifest(manifest, folder)
        progress("verifying on disk")
        given = VerifyInputs() if files.evidence is None else files.evidence(manifest.files)
        verification = verify_with(folder, given)
        # A copied database isn't in the folder: its claims can't be checked here, only refuted.
        if files.write is not None or verification.is_broken:
            verification.raise_if_broken()
        if page is not None:
            progress("reporting")
            manifest = _write_page(manifest, page(manifest, verification), folder)
            # The manifest is written again, now with the hash of the page.
            write_manifest(manifest, folder)
        if departure is not None:
            departure.book(manifest, folder)
        if files.commit is not None:
            files.commit()
    progress("done", 1.0)
    return manifest, verification


def _new_folder(out: str | Path, *, overwrite: bool) -> AbstractContextManager[Path]:
    if isinstance(out, str) and is_object_address(out):
        return object_folder(out, last=MANIFEST_NAME)
    return atomic_folder(out, overwrite=overwrite, marker=MANIFEST_NAME)


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Where manifest and report of an output are; the report stays at home.

    Parameters
    ----------
    manifest_path, report_path
        Where they were written.
    """

    manifest_path: Path
    report_path: Path


def publish_beside(manifest: Manifest, out: str | Path, *, page: str) -> Published:
    """Write the manifest and the report of an output next to it.

    This is for streams: they write their output themselves, as a file or a folder of files.

    Parameters
    ----------
    manifest
        What is declared about the output: its files by their plain names, claims and weaknesses.
    out
        The output, which was written whole.
    page
        The report, as HTML; see `html_page`.

    Returns
    -------
    Published
        ``OUT.manifest.json``, which is released with OUT, and ``OUT.report.html``, which stays.

    Raises
    ------
    ReleaseError
        If the output isn't there, the manifest is none that can be read, or they can't be written.

    Notes
    -----
    **Guarantees.** A new report has the mode 0600. Files of these names are replaced.

    **Edge cases.** The verifier isn't called: it reads every line again, and an output may be
    large. `halfmask.verify` does it when it is asked to.
    """
    where = Path(out)
    if not where.exists():
        raise ReleaseError("The output isn't there.")
    found = Published(
        manifest_path=manifest_of(where),
        report_path=where.with_name(where.name + REPORT_BESIDE),
    )
    text = manifest.to_json().encode()
    parse_manifest(text, of_output=True)  # raises if the verifier couldn't read it
    with atomic_file(found.report_path, overwrite=True) as file:
        os.fchmod(file.fileno(), 0o600)  # the report may name fields that were left out
        file.write(page.encode())
    # The manifest comes last: where it is, everything is.
    with atomic_file(found.manifest_path, overwrite=True) as file:
        file.write(text)
    return found


def _write_page(manifest: Manifest, page: str, folder: Path) -> Manifest:
    """Write the page; return the manifest with its hash."""
    raw = page.encode()
    (folder / REPORT_NAME).write_bytes(raw)
    return replace(manifest, report_sha256=hashlib.sha256(raw).hexdigest())
