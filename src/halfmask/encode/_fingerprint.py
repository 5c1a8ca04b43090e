"""What tells one fit from another, so that the plan of one never reads the rows of another."""

from __future__ import annotations

import hashlib
import io
import json
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from halfmask.encode._roles import Roles
    from halfmask.encode._summary import CodecSummary, ColumnSummary


def fingerprint(summary: CodecSummary, roles: Roles) -> str:
    """Return the SHA-256 of what a codec was fitted to, as hexadecimal digits.

    It goes into every key, and stays at home with them. Only what doesn't depend on how the rows
    were cut into batches goes into it: counts, ranges and grids, and no sums of floats.
    """
    digest = hashlib.sha256()
    head = [summary.rows, roles.target, roles.task, list(roles.ordered), list(roles.coded)]
    digest.update(json.dumps(head).encode())
    for name, column in summary.columns.items():
        for part in _parts(name, column):
            digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _parts(name: str, column: ColumnSummary) -> list[bytes]:
    parts = [name.encode(), str(column.dtype).encode(), str(column.nulls).encode()]
    if column.moments is not None:
        it = column.moments
        parts.append(repr((it.n, it.low, it.high, it.unit, it.digits)).encode())
    if column.counts is not None:
        buffer = io.BytesIO()
        column.counts.rechunk().select(pl.all()).write_ipc(buffer)
        parts.append(buffer.getvalue())
    return parts
