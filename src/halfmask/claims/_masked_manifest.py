"""What the manifest of a masked table holds: rows, columns, and the techniques in their order.

It holds names of released columns, parameters and counts. It holds no cell value and no bound that
a technique found in the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

from halfmask._errors import VerificationError
from halfmask.claims._claim import Claim, Json
from halfmask.claims._released_files import MANIFEST_NAME
from halfmask.claims._strict import At
from halfmask.claims._table_reader import KINDS, ROLES

if TYPE_CHECKING:
    from halfmask.claims._manifest import DataFile, Manifest

#: The kind of these releases.
MASKED: Final = "masked"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedMask:
    """One technique that was applied.

    Parameters
    ----------
    name
        As policies write it.
    columns
        The released columns whose cells it changed; none for a technique that drops rows.
    parameters
        As the policy has them, for recipients to account for the technique.
    """

    name: str
    columns: tuple[str, ...]
    parameters: Mapping[str, Json] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Json]:
        """Return the technique as the manifest has it."""
        return {
            "name": self.name,
            "columns": list(self.columns),
            "parameters": _plain(self.parameters),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedColumn:
    """One released column.

    Parameters
    ----------
    name, role, kind
        As of the policy.
    dtype
        The type of what is released, without the categories of an Enum: these are values.
    """

    name: str
    role: str
    kind: str
    dtype: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.dtype.partition("(categories")[0])

    @classmethod
    def read(cls, at: At) -> Self:
        """Return the column that a manifest states, or refuse it.

        Parameters
        ----------
        at
            Where the manifest has it.
        """
        found = at.keys("name", "role", "kind", "dtype")
        return cls(
            name=found["name"].text(),
            role=found["role"].word(ROLES),
            kind=found["kind"].word(KINDS),
            dtype=found["dtype"].text(),
        )

    def to_dict(self) -> dict[str, Json]:
        """Return the column as the manifest has it."""
        return {"name": self.name, "role": self.role, "kind": self.kind, "dtype": self.dtype}


def masked_details(
    *,
    n_in: int,
    n_out: int,
    columns: Sequence[MaskedColumn],
    masks: Sequence[StatedMask],
    risk: Mapping[str, Json],
    utility: Mapping[str, Json],
) -> dict[str, Json]:
    """Return the details of a masked table's manifest, as JSON.

    Parameters
    ----------
    n_in, n_out
        The rows that were read and released.
    columns
        The released columns in their order.
    masks
        The techniques in the order in which they were applied.
    risk, utility
        Numbers of the report, as JSON.
    """
    return {
        "rows": {"in": n_in, "out": n_out},
        "columns": [each.to_dict() for each in columns],
        "masks": [each.to_dict() for each in masks],
        "risk": dict(risk),
        "utility": dict(utility),
    }


def released_columns_claim(columns: Sequence[MaskedColumn], n_out: int) -> Claim:
    """Return the claim that every masked release has: its rows and columns.

    Parameters
    ----------
    columns
        The released columns in their order.
    n_out
        The rows that were released.
    """
    return Claim(
        model="released-columns",
        parameters={"rows": n_out, "columns": len(columns)},
        about={"columns": [each.name for each in columns]},
        basis="counted",
        evidence={},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedManifest:
    """All that a release of masks alone states.

    Attributes
    ----------
    files, claims, weaknesses
        As of every `Manifest`.
    n_in, n_out
        The rows that were read and released; fewer are released by sampling alone.
    columns
        The released columns in their order.
    masks
        The techniques in the order in which they were applied.
    risk, utility
        Numbers of the report, as JSON.
    """

    files: tuple[DataFile, ...]
    claims: tuple[Claim, ...]
    weaknesses: tuple[str, ...]
    n_in: int
    n_out: int
    columns: tuple[MaskedColumn, ...]
    masks: tuple[StatedMask, ...]
    risk: Mapping[str, Json]
    utility: Mapping[str, Json]

    @property
    def sampling_fraction(self) -> float:
        """The rows released of each row read; 1 without sampling."""
        return self.n_out / self.n_in if self.n_in else 1.0

    def masks_of(self, column: str) -> tuple[StatedMask, ...]:
        """Return the techniques that changed a column, in their order.

        Parameters
        ----------
        column
            The released column.
        """
        return tuple(each for each in self.masks if column in each.columns)


def masked_manifest(manifest: Manifest) -> MaskedManifest:
    """Return what a manifest states of a masked table.

    Parameters
    ----------
    manifest
        As `read_manifest` returns it.

    Raises
    ------
    VerificationError
        If it is of another kind, or its details aren't those of a masked table.
    """
    if manifest.kind != MASKED:
        raise VerificationError("The release isn't one of masks alone.")
    top = At(dict(manifest.details), f"{MANIFEST_NAME}: details")
    at = top.keys("rows", "columns", "masks", "risk", "utility")
    rows = at["rows"].keys("in", "out")
    return MaskedManifest(
        files=manifest.files,
        claims=manifest.claims,
        weaknesses=manifest.weaknesses,
        n_in=rows["in"].count(),
        n_out=rows["out"].count(),
        columns=at["columns"].each(MaskedColumn.read),
        masks=at["masks"].each(_mask),
        risk=at["risk"].mapping(),
        utility=at["utility"].mapping(),
    )


def _mask(at: At) -> StatedMask:
    found = at.keys("name", "columns", "parameters")
    return StatedMask(
        name=found["name"].text(),
        columns=found["columns"].texts(),
        parameters=found["parameters"].mapping(),
    )


def _plain(value: Mapping[str, object]) -> dict[str, Json]:
    """Return parameters as JSON reads them back: a tuple is a list."""

    def walk(each: object) -> Json:
        if isinstance(each, Mapping):
            return {str(name): walk(inner) for name, inner in each.items()}
        if isinstance(each, list | tuple):
            return [walk(inner) for inner in each]
        return each  # type: ignore[return-value] # JSON's own; to_json refuses all else

    return {name: walk(each) for name, each in value.items()}
