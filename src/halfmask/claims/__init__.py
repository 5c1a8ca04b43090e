"""What a release says of itself: its claims, its weaknesses, its files, in manifest.json.

Start with `Claim`, `Manifest` and `read_manifest`. Nothing here counts: what is claimed is counted
by the room that makes a release, and again by `halfmask.verifier`.
"""

from __future__ import annotations

from halfmask.claims._row_details import (
    LearntRows,
    MaskedColumn,
    MaskedDetails,
    RowsRead,
    StatedMask,
    Synthesis,
    SyntheticDetails,
    released_columns_claim,
)
from halfmask.claims.claim import BASES, WEAKNESSES, Claim
from halfmask.claims.database_manifest import CopiedMask, CopiedRows, DatabaseDetails
from halfmask.claims.event_claims import (
    CellsClaim,
    EventClaims,
    EventGuarantees,
    EventsManifest,
    GuaranteeClaim,
    LinesRisk,
    ReleasedField,
    RunCounts,
    events_manifest,
)
from halfmask.claims.manifest import MANIFEST_NAME, REPORT_NAME, DataFile, Manifest, write_manifest
from halfmask.claims.manifest_reader import read_manifest
from halfmask.claims.table_claims import (
    ClassClaim,
    Evidence,
    ReleasedColumn,
    RowCounts,
    SupportFile,
    TableDetails,
    TableManifest,
    table_manifest,
)

__all__ = [
    "BASES",
    "MANIFEST_NAME",
    "REPORT_NAME",
    "WEAKNESSES",
    "CellsClaim",
    "Claim",
    "ClassClaim",
    "CopiedMask",
    "CopiedRows",
    "DataFile",
    "DatabaseDetails",
    "EventClaims",
    "EventGuarantees",
    "EventsManifest",
    "Evidence",
    "GuaranteeClaim",
    "LearntRows",
    "LinesRisk",
    "Manifest",
    "MaskedColumn",
    "MaskedDetails",
    "ReleasedColumn",
    "ReleasedField",
    "RowCounts",
    "RowsRead",
    "RunCounts",
    "StatedMask",
    "SupportFile",
    "Synthesis",
    "SyntheticDetails",
    "TableDetails",
    "TableManifest",
    "events_manifest",
    "read_manifest",
    "released_columns_claim",
    "table_manifest",
    "write_manifest",
]
