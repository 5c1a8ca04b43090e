"""publish: write a product aside, state its claims, verify it, and give it its name."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from halfmask._errors import ReleaseError
from halfmask._progress import Progress, silent
from halfmask.claims import MANIFEST_NAME, REPORT_NAME, Manifest, write_manifest
from halfmask.claims.manifest_reader import parse_manifest
from halfmask.claims.released_files import manifest_of
from halfmask.data import atomic_file, atomic_folder
from halfmask.data.io.object_folder import object_folder
from halfmask.data.io.object_store import is_object_address
from halfmask.release.page import page_of
from halfmask.verifier import VerifyInputs, verify_with

if TYPE_CHECKING:
    from halfmask.claims import DataFile
    from halfmask.release._product import Product
    from halfmask.verifier import CheckedRelease

REPORT_BESIDE: Final = ".report.html"


def publish(product: Product, out: str | Path, *, overwrite: bool = False) -> Manifest:
    """Write a release, verify it on disk, and then give the folder its name.

    Parameters
    ----------
    product
        The files, claims and page of the release.
    out
        The folder to make, or its address in an object store.
    overwrite
        Whether an earlier release of that name may be replaced; not in an object store.

    Returns
    -------
    Manifest
        The written manifest.

    Raises
    ------
    VerificationError
        If a claim has no check or doesn't hold. No folder is left.
    ReleaseError
        If the folder exists already, or can't be written. No partial folder is left.

    Notes
    -----
    **Guarantees.** The manifest has the hash of the page. A page made of blocks shows the claims
    before they are verified, and the verifier reads it with the folder. A page that the product
    makes itself shows what was verified. It is made later; only its hash enters the manifest.
    """
    return publish_verified(product, out, overwrite=overwrite)[0]


def publish_verified(
    product: Product, out: str | Path, *, overwrite: bool = False, progress: Progress | None = None
) -> tuple[Manifest, CheckedRelease]:
    """Do what `publish` does, report progress, and return what was verified.

    Parameters
    ----------
    product, out, overwrite
        As of `publish`.
    progress
        Called with what is being done and how far it is.
    """
    progress = progress or silent
    with _new_folder(out, overwrite=overwrite) as folder:
        progress("writing", 0.0)
        (folder / "data").mkdir()
        manifest = _manifest(product, tuple(product.write(folder)))
        if product.page is None:
            page = page_of(product.kind, manifest.claims, product.weaknesses, product.blocks)
            manifest = _with_page(manifest, page, folder)
        write_manifest(manifest, folder)
        progress("verifying on disk")
        given = VerifyInputs() if product.evidence is None else product.evidence(manifest.files)
        verification = verify_with(folder, given)
        verification.raise_if_broken()
        if product.page is not None:
            progress("reporting")
            manifest = _with_page(manifest, product.page(manifest, verification), folder)
            # Written twice: the verifier had to read a manifest from disk before the page could
            # show what it found, so the page's hash is known only now.
            write_manifest(manifest, folder)
    progress("done", 1.0)
    return manifest, verification


def _new_folder(out: str | Path, *, overwrite: bool) -> AbstractContextManager[Path]:
    if isinstance(out, str) and is_object_address(out):
        return object_folder(out, overwrite=overwrite, last=MANIFEST_NAME)
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
    parse_manifest(text, of_output=True)  # what no verifier would read isn't written
    with atomic_file(found.report_path, overwrite=True) as file:
        os.fchmod(file.fileno(), 0o600)  # it may name what was left out
        file.write(page.encode())
    # The manifest comes last: where it is, everything is.
    with atomic_file(found.manifest_path, overwrite=True) as file:
        file.write(text)
    return found


def _manifest(product: Product, files: tuple[DataFile, ...]) -> Manifest:
    return Manifest(
        kind=product.kind,
        created=dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        software={"halfmask": version("halfmask"), **product.software},
        policy_sha256=product.policy_sha256,
        files=files,
        claims=tuple(product.claims(files)),
        weaknesses=tuple(product.weaknesses),
        details=product.details,
    )


def _with_page(manifest: Manifest, page: str, folder: Path) -> Manifest:
    """Write the page; return the manifest with its hash."""
    raw = page.encode()
    (folder / REPORT_NAME).write_bytes(raw)
    return replace(manifest, report_sha256=hashlib.sha256(raw).hexdigest())
