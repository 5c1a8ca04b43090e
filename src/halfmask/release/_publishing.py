"""publish: write a product beside, state its claims, verify it, and give it its name."""

from __future__ import annotations

import datetime as dt
import hashlib
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from halfmask._progress import Progress, silent
from halfmask.claims import MANIFEST_NAME, REPORT_NAME, Manifest, write_manifest
from halfmask.data import atomic_folder
from halfmask.release._page import page_of
from halfmask.verifier import verify

if TYPE_CHECKING:
    from halfmask.claims import DataFile
    from halfmask.release._product import Product
    from halfmask.verifier._verify import AnyVerification

__all__ = ["publish", "publish_verified"]


def publish(product: Product, out: str | Path, *, overwrite: bool = False) -> Manifest:
    """Write a release, verify what is on disk, and only then give the folder its name.

    Parameters
    ----------
    product
        What the job hands over.
    out
        The folder to make.
    overwrite
        Whether an earlier release of that name may be replaced.

    Returns
    -------
    Manifest
        As it was written.

    Raises
    ------
    VerificationError
        If a claim has no check, or its check doesn't bear it out; nothing is left.
    ReleaseError
        If the folder exists, or can't be written; nothing is left.

    Notes
    -----
    **Guarantees.** The manifest has the hash of the page. The page of blocks shows the claims as
    they are stated, and the verifier sees the folder as it leaves. A page of the product's own
    shows what was verified: it is made after, and only its hash is added to the manifest.
    """
    return publish_verified(product, out, overwrite=overwrite)[0]


def publish_verified(
    product: Product, out: str | Path, *, overwrite: bool = False, progress: Progress | None = None
) -> tuple[Manifest, AnyVerification]:
    """Do what `publish` does, say how far it is, and return what the verifier found as well."""
    told = progress or silent
    with atomic_folder(out, overwrite=overwrite, marker=MANIFEST_NAME) as folder:
        told("writing", 0.0)
        (folder / "data").mkdir()
        manifest = _manifest(product, tuple(product.write(folder)))
        if product.page is None:
            page = page_of(product.kind, manifest.claims, product.weaknesses, product.blocks)
            manifest = _with_page(manifest, page, folder)
        write_manifest(manifest, folder)
        told("verifying on disk")
        verification = verify(folder)
        verification.raise_if_broken()
        if product.page is not None:
            told("reporting")
            manifest = _with_page(manifest, product.page(manifest, verification), folder)
            # Written twice: the verifier had to read a manifest from disk before the page could
            # show what it found, so the page's hash is known only now.
            write_manifest(manifest, folder)
    told("done", 1.0)
    return manifest, verification


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
