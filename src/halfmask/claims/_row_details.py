"""What manifests of masked and of synthetic rows hold: rows, columns, and how they were made.

They hold names of released columns, parameters and counts. They hold no cell value and no bound
that a technique found in the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from halfmask.claims._details import Details, key
from halfmask.claims.claim import Claim
from halfmask.claims.manifest import MASKED, SYNTHETIC
from halfmask.claims.table_claims import Kind, Role  # noqa: TC001 # types of fields

if TYPE_CHECKING:
    from halfmask.claims.claim import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedMask:
    """One technique that was applied."""

    name: str
    columns: tuple[str, ...]
    parameters: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedColumn:
    """One released column."""

    name: str
    role: Role
    kind: Kind
    dtype: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.dtype.partition("(categories")[0])


def released_columns_claim(columns: Sequence[MaskedColumn], n_out: int) -> Claim:
    """Return the claim that every masked release has: its rows and columns."""
    return Claim(
        model="released-columns",
        parameters={"rows": n_out, "columns": len(columns)},
        about={"columns": [each.name for each in columns]},
        basis="counted",
        evidence={},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsRead:
    """Rows that were read and released; fewer are released by sampling alone."""

    n_in: int = field(metadata=key("in"))
    n_out: int = field(metadata=key("out"))


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedDetails(Details):
    """What only the manifest of a table of masks alone has."""

    kind = MASKED
    called = "masks alone"

    rows: RowsRead
    columns: tuple[MaskedColumn, ...]
    masks: tuple[StatedMask, ...]
    risk: Mapping[str, Json]
    utility: Mapping[str, Json]

    @property
    def sampling_fraction(self) -> float:
        """The rows released of each row read; 1 without sampling."""
        return self.rows.n_out / self.rows.n_in if self.rows.n_in else 1.0

    def masks_of(self, column: str) -> tuple[StatedMask, ...]:
        """Return the techniques that changed a column, in their order."""
        return tuple(each for each in self.masks if column in each.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearntRows:
    """Rows that were read, learnt from, set aside, and drawn: in = learnt + control."""

    n_in: int = field(metadata=key("in"))
    n_learnt: int = field(metadata=key("learnt"))
    n_control: int = field(metadata=key("control"))
    n_out: int = field(metadata=key("out"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesis:
    """Which cells are synthetic."""

    extent: Literal["full", "partial", "hybrid"]
    parameters: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticDetails(Details):
    """What only the manifest of synthetic rows has."""

    kind = SYNTHETIC
    called = "synthetic rows"

    rows: LearntRows
    columns: tuple[MaskedColumn, ...]
    synthesis: Synthesis
    risk: Mapping[str, Json]
    utility: Mapping[str, Json]
