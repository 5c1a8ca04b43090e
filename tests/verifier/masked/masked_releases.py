"""Releases of masks alone, made by hand: a frame, techniques and claims in, a folder out."""

from __future__ import annotations

import hashlib

from halfmask.claims import (
    Claim,
    DataFile,
    Manifest,
    MaskedColumn,
    MaskedDetails,
    RowsRead,
    StatedMask,
    released_columns_claim,
    write_manifest,
)
from verifier.conftest import WRITERS  # type: ignore[import-not-found] # beside, not in a package


def counted(model, columns, parameters, **evidence):
    """A claim of a technique."""
    return Claim(
        model=model,
        parameters=parameters,
        about={"columns": list(columns)},
        basis="counted",
        evidence=evidence,
    )


def stated(name, columns, **parameters):
    """A technique as the manifest states it."""
    return StatedMask(name=name, columns=tuple(columns), parameters=parameters)


def release(folder, frame, claims=(), masks=(), *, roles=None, n_in=None, fmt="parquet", parts=1):
    """Write a release; its manifest is returned."""
    (folder / "data").mkdir(parents=True)
    columns = [
        MaskedColumn(
            name=name,
            role=(roles or {}).get(name, "insensitive"),
            kind="numeric" if dtype.is_numeric() else "categorical",
            dtype=str(dtype),
        )
        for name, dtype in frame.schema.items()
    ]
    files = []
    step = -(-frame.height // parts) or 1
    for number in range(parts):
        name, part = f"data/part-{number}.{fmt}", frame.slice(number * step, step)
        WRITERS[fmt](part, folder / name)
        raw = (folder / name).read_bytes()
        digest = hashlib.sha256(raw).hexdigest()
        files.append(
            DataFile(name=name, format=fmt, sha256=digest, n_bytes=len(raw), n_rows=part.height)
        )
    manifest = Manifest(
        kind="masked",
        created="2026-11-21T09:00:00Z",
        software={"halfmask": "0.3.0"},
        policy_sha256="0" * 64,
        files=tuple(files),
        claims=(released_columns_claim(columns, frame.height), *claims),
        details=MaskedDetails(
            rows=RowsRead(n_in=frame.height if n_in is None else n_in, n_out=frame.height),
            columns=tuple(columns),
            masks=tuple(masks),
            risk={},
            utility={},
        ).to_details(),
    )
    write_manifest(manifest, folder)
    return manifest
