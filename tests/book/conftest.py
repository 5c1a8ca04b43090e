"""A vault with a book, and releases to be booked."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager

import numpy as np
import polars as pl
import pytest

from halfmask.book import ReleaseBook
from halfmask.claims import Claim, DataFile, Manifest, write_manifest
from halfmask.release.booking import Leaving, LeavingRows
from halfmask.vault import KeyFile, Vault

CLAIM = Claim(
    model="k-anonymity", parameters={"k": 2}, about={}, basis="counted", evidence={"achieved": 3}
)


@pytest.fixture
def vault(tmp_path):
    return Vault.create(tmp_path / "vault", lock=KeyFile.create(tmp_path / "key"))


@pytest.fixture
def book(vault):
    return ReleaseBook.create(vault, dataset="people")


def leaving(people=("a", "b", "c"), classes=None, values=None, **more):
    """Return rows that leave, all of one class if nothing else is given."""
    n = len(people)
    rows = LeavingRows(
        whose=pl.DataFrame({"person": people}),
        classes=np.zeros(n, dtype=np.int64) if classes is None else np.asarray(classes),
        sensitive=pl.DataFrame({"job": ["x"] * n if values is None else values}),
    )
    return Leaving(rows=rows, **more)


def write_release(folder, text="age\n40\n"):
    """Write the folder of a release; return its manifest."""
    (folder / "data").mkdir(parents=True)
    raw = text.encode()
    (folder / "data" / "part.csv").write_bytes(raw)
    digest = hashlib.sha256(raw).hexdigest()
    file = DataFile(
        name="data/part.csv", format="csv", sha256=digest, n_bytes=len(raw), n_rows=text.count("\n")
    )
    manifest = Manifest(
        kind="microdata",
        created="2026-11-29T00:00:00Z",
        software={"halfmask": "1"},
        policy_sha256="0" * 64,
        files=(file,),
        claims=(CLAIM,),
    )
    write_manifest(manifest, folder)
    return manifest


@contextmanager
def publishing(book, out, *, receiver="university", text="age\n40\n", **more):
    """Book a release as publishing does; the context is between its booking and its name."""
    aside = out.with_name(f".{out.name}")
    manifest = write_release(aside, text)
    with book.writing() as pen:
        yield pen.pending(manifest, aside, out=out, receiver=receiver, **more)
        aside.rename(out)


def publish(book, out, **more):
    """Book a release and give its folder its name; return its number."""
    with publishing(book, out, **more) as number:
        pass
    return number
