"""publish: write a product beside, state its claims, verify it, and give it its name."""

from __future__ import annotations

import datetime as dt
import hashlib
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from halfmask.claims import MANIFEST_NAME, REPORT_NAME, Manifest, write_manifest
from halfmask.data import atomic_folder
from halfmask.release._page import page_of
from halfmask.verifier import verify

if TYPE_CHECKING:
    from halfmask.release._product import Product

__all__ = ["publish"]


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
    **Guarantees.** The manifest is written once, with the hash of the page, and the verifier sees
    the folder as it leaves. The page shows the claims as they are stated.
    """
    with atomic_folder(out, overwrite=overwrite, marker=MANIFEST_NAME) as folder:
        (folder / "data").mkdir()
        files = tuple(product.write(folder))
        claims = tuple(product.claims(files))
        page = page_of(product.kind, claims, product.weaknesses, product.blocks).encode()
        (folder / REPORT_NAME).write_bytes(page)
        manifest = Manifest(
            kind=product.kind,
            created=dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            software={"halfmask": version("halfmask")},
            policy_sha256=product.policy_sha256,
            files=files,
            claims=claims,
            weaknesses=tuple(product.weaknesses),
            details=product.details,
            report_sha256=hashlib.sha256(page).hexdigest(),
        )
        write_manifest(manifest, folder)
        verify(folder).raise_if_broken()
    return manifest
