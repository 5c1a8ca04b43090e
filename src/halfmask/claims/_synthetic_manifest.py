"""What the manifest of a synthetic table holds: rows, columns, and how rows were drawn.

It holds names of released columns, parameters and counts, and no cell value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from halfmask.claims._details import Details, key
from halfmask.claims._masked_manifest import MaskedColumn  # noqa: TC001 # types of fields
from halfmask.claims.manifest import SYNTHETIC

if TYPE_CHECKING:
    from halfmask.claims.claim import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class LearntRows:
    """Rows that were read, learnt from, set aside, and drawn: in = learnt + control.

    Attributes
    ----------
    n_in, n_learnt, n_control, n_out
        How many.
    """

    n_in: int = field(metadata=key("in"))
    n_learnt: int = field(metadata=key("learnt"))
    n_control: int = field(metadata=key("control"))
    n_out: int = field(metadata=key("out"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesis:
    """Which cells are synthetic.

    Attributes
    ----------
    extent
        ``"full"``, ``"partial"`` or ``"hybrid"``.
    parameters
        Those of the policy.
    """

    extent: Literal["full", "partial", "hybrid"]
    parameters: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticDetails(Details):
    """What only the manifest of synthetic rows has.

    Attributes
    ----------
    rows
        How many were read, learnt from, set aside and drawn.
    columns
        The released columns in their order.
    synthesis
        Which cells are synthetic.
    risk, utility
        Numbers of the report, as JSON.
    """

    kind = SYNTHETIC
    called = "synthetic rows"

    rows: LearntRows
    columns: tuple[MaskedColumn, ...]
    synthesis: Synthesis
    risk: Mapping[str, Json]
    utility: Mapping[str, Json]
