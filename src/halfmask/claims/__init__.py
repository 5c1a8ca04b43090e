"""What a release says of itself: its claims, its weaknesses, its files, in manifest.json.

Start with `Claim`, `Manifest` and `read_manifest`. Nothing here counts: what is claimed is counted
by the room that makes a release, and again by `halfmask.verifier`.
"""

from __future__ import annotations

from halfmask.claims._row_details import LearntRows as LearntRows
from halfmask.claims._row_details import MaskedColumn as MaskedColumn
from halfmask.claims._row_details import MaskedDetails as MaskedDetails
from halfmask.claims._row_details import RowsRead as RowsRead
from halfmask.claims._row_details import StatedMask as StatedMask
from halfmask.claims._row_details import Synthesis as Synthesis
from halfmask.claims._row_details import SyntheticDetails as SyntheticDetails
from halfmask.claims._row_details import released_columns_claim as released_columns_claim
from halfmask.claims.claim import BASES, WEAKNESSES, Claim
from halfmask.claims.database_manifest import CopiedMask as CopiedMask
from halfmask.claims.database_manifest import CopiedRows as CopiedRows
from halfmask.claims.database_manifest import DatabaseDetails as DatabaseDetails
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
from halfmask.claims.manifest import MANIFEST_NAME as MANIFEST_NAME
from halfmask.claims.manifest import REPORT_NAME as REPORT_NAME
from halfmask.claims.manifest import DataFile, Manifest
from halfmask.claims.manifest import write_manifest as write_manifest
from halfmask.claims.manifest_reader import read_manifest
from halfmask.claims.table_claims import (
    ClassClaim,
    Evidence,
    ReleasedColumn,
    RowCounts,
    SupportFile,
    TableManifest,
    table_manifest,
)
from halfmask.claims.table_claims import TableDetails as TableDetails

# Public names are in `__all__`; the others are for other rooms.
__all__ = [
    "BASES",
    "WEAKNESSES",
    "CellsClaim",
    "Claim",
    "ClassClaim",
    "DataFile",
    "EventClaims",
    "EventGuarantees",
    "EventsManifest",
    "Evidence",
    "GuaranteeClaim",
    "LinesRisk",
    "Manifest",
    "ReleasedColumn",
    "ReleasedField",
    "RowCounts",
    "RunCounts",
    "SupportFile",
    "TableManifest",
    "events_manifest",
    "read_manifest",
    "table_manifest",
]
