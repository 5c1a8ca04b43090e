"""What the manifest of a synthetic table holds: rows, columns, and how rows were drawn.

It holds names of released columns, parameters and counts, and no cell value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from halfmask._errors import VerificationError
from halfmask.claims._masked_manifest import MaskedColumn
from halfmask.claims._released_files import MANIFEST_NAME
from halfmask.claims._strict import At

if TYPE_CHECKING:
    from halfmask.claims._claim import Claim, Json
    from halfmask.claims._manifest import DataFile, Manifest

#: The kind of these releases.
SYNTHETIC: Final = "synthetic"
#: Which cells are synthetic.
EXTENTS: Final = ("full", "partial", "hybrid")


def synthetic_details(
    *,
    rows: Mapping[str, int],
    columns: Sequence[MaskedColumn],
    extent: str,
    parameters: Mapping[str, Json],
    risk: Mapping[str, Json],
    utility: Mapping[str, Json],
) -> dict[str, Json]:
    """Return the details of a synthetic table's manifest, as JSON."""
    return {
        "rows": dict(rows),
        "columns": [each.to_dict() for each in columns],
        "synthesis": {"extent": extent, "parameters": dict(parameters)},
        "risk": dict(risk),
        "utility": dict(utility),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticManifest:
    """All that a release of synthetic rows states."""

    files: tuple[DataFile, ...]
    claims: tuple[Claim, ...]
    weaknesses: tuple[str, ...]
    n_in: int
    n_learnt: int
    n_control: int
    n_out: int
    columns: tuple[MaskedColumn, ...]
    extent: str
    parameters: Mapping[str, Json]
    risk: Mapping[str, Json]
    utility: Mapping[str, Json]


def synthetic_manifest(manifest: Manifest) -> SyntheticManifest:
    """Return what a manifest states of a synthetic table."""
    if manifest.kind != SYNTHETIC:
        raise VerificationError("The release isn't one of synthetic rows.")
    top = At(dict(manifest.details), f"{MANIFEST_NAME}: details")
    at = top.keys("rows", "columns", "synthesis", "risk", "utility")
    rows = at["rows"].keys("in", "learnt", "control", "out")
    drawn = at["synthesis"].keys("extent", "parameters")
    return SyntheticManifest(
        files=manifest.files,
        claims=manifest.claims,
        weaknesses=manifest.weaknesses,
        n_in=rows["in"].count(),
        n_learnt=rows["learnt"].count(),
        n_control=rows["control"].count(),
        n_out=rows["out"].count(),
        columns=at["columns"].each(MaskedColumn.read),
        extent=drawn["extent"].word(EXTENTS),
        parameters=drawn["parameters"].mapping(),
        risk=at["risk"].mapping(),
        utility=at["utility"].mapping(),
    )
