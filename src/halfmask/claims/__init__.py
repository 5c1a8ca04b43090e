"""What a release says of itself: its claims, its weaknesses, its files, in manifest.json.

Start with `Manifest` and `read_manifest`. Nothing here counts: what is claimed is counted by the
room that makes a release, and again by `halfmask.verifier`.
"""

from __future__ import annotations

from halfmask.claims._manifest import (
    MANIFEST_NAME,
    REPORT_NAME,
    Claim,
    DataFile,
    Evidence,
    Manifest,
    ReleasedColumn,
    RowCounts,
    SupportFile,
    write_manifest,
)
from halfmask.claims._manifest_reader import read_manifest
from halfmask.claims._weaknesses import WEAKNESSES

__all__ = [
    "MANIFEST_NAME",
    "REPORT_NAME",
    "WEAKNESSES",
    "Claim",
    "DataFile",
    "Evidence",
    "Manifest",
    "ReleasedColumn",
    "RowCounts",
    "SupportFile",
    "read_manifest",
    "write_manifest",
]
