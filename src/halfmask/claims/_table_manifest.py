"""What the manifest of a released table holds: rows, columns, and claims about classes.

It holds names of released columns, parameters and counts. It holds no cell value, no category, no
path of the owner's machine and no name of a column that was dropped.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

from halfmask.claims._claim import Basis, Claim, Json
from halfmask.claims._manifest import DataFile, Manifest

#: The kind of these releases.
MICRODATA: Final = "microdata"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCounts:
    """Rows that were read, released and suppressed: in = out + suppressed.

    Parameters
    ----------
    n_in, n_out, n_suppressed
        How many rows were read, released and suppressed.
    """

    n_in: int
    n_out: int
    n_suppressed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportFile:
    """The order or tree of a sensitive column: ``;``-separated ancestors.

    Parameters
    ----------
    name
        The name of the file in the release.
    column
        The sensitive column that it is of.
    sha256
        The hash of the file.
    """

    name: str
    column: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedColumn:
    """One released column and its change: a recoding, a mask or none.

    `mask_parameters` are those of the policy, so that recipients can account for the mask.

    Parameters
    ----------
    name, role, kind
        As of the policy.
    recoding, mask
        Their names; ``None`` without one.
    dtype
        The type of what is released.
    mask_parameters
        The parameters of the mask, as the policy has them.
    bound_of
        The column of the table whose range this is an end of: the lower one, followed by the
        upper one, both included unless there is a `range_step`.
    range_step
        What the ends of ranges are multiples of, or the unit of time that they are starts of: the
        upper end isn't included.
    """

    name: str
    role: str
    kind: str
    recoding: str | None
    dtype: str
    mask: str | None = None
    mask_parameters: Mapping[str, Json] | None = None
    bound_of: str | None = None
    range_step: float | str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was counted for a claim.

    Attributes
    ----------
    achieved
        The level of the worst class: smallest size for k, smallest l, largest t.
    classes, rows, smallest_class
        How many classes and rows were judged, and the rows of the smallest class.
    """

    achieved: float
    classes: int
    rows: int
    smallest_class: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassClaim:
    """A claim about classes: a guarantee as stated, with what was counted for it.

    Attributes
    ----------
    model
        ``"k-anonymity"``, ``"distinct-l-diversity"``, ...
    parameters
        ``{"k": 10}``; numbers and words only.
    column
        The sensitive column, or ``None`` for k-anonymity.
    quasi_identifiers
        The columns that make the classes.
    evidence
        What was counted.
    support
        The name of the support file that orders the column's values, or ``None``.
    unit
        What counts once in a class: each row, or each person, who may have several.
    basis
        ``"counted"``, or ``"estimated"`` by a model of the population.
    """

    model: str
    parameters: Mapping[str, float | int | str]
    column: str | None
    quasi_identifiers: tuple[str, ...]
    evidence: Evidence
    support: str | None = None
    unit: Literal["row", "person"] = "row"
    basis: Basis = "counted"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        object.__setattr__(self, "quasi_identifiers", tuple(self.quasi_identifiers))

    def stated(self) -> Claim:
        """Return the claim as any release states one."""
        more: dict[str, Json] = {} if self.support is None else {"support": self.support}
        more |= {} if self.unit == "row" else {"unit": self.unit}
        return Claim(
            model=self.model,
            parameters=self.parameters,
            about={
                "column": self.column,
                "quasi_identifiers": list(self.quasi_identifiers),
                **more,
            },
            basis=self.basis,
            evidence=dataclasses.asdict(self.evidence),
        )


def _column_dict(column: ReleasedColumn) -> dict[str, Json]:
    parts: dict[str, Json] = dataclasses.asdict(column)
    return {k: v for k, v in parts.items() if v is not None or k == "recoding"}


def table_details(
    *,
    rows: RowCounts,
    support: Sequence[SupportFile],
    columns: Sequence[ReleasedColumn],
    method: Mapping[str, Json],
    risk: Mapping[str, Json],
    utility: Mapping[str, Json],
    row_masks: Sequence[Mapping[str, Json]] = (),
) -> dict[str, Json]:
    """Return the details of a table's manifest, as JSON; see `TableManifest`."""
    return {
        "rows": {"in": rows.n_in, "out": rows.n_out, "suppressed": rows.n_suppressed},
        "support": [dataclasses.asdict(each) for each in support],
        "columns": [_column_dict(each) for each in columns],
        "method": dict(method),
        "risk": dict(risk),
        "utility": dict(utility),
        **({"row_masks": [dict(each) for each in row_masks]} if row_masks else {}),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class TableManifest:
    """All that a release of a table says of itself.

    Attributes
    ----------
    created
        When, in UTC: ``2026-11-21T09:00:00Z``.
    software
        Name and version of each program that shaped the release.
    policy_sha256
        `Policy.sha256` of the policy that it was made by.
    rows, files, support, columns, claims
        See the values above.
    method
        Name and parameters of the method.
    weaknesses
        Sentences that name what the release doesn't protect from.
    risk, utility
        Numbers of the report, as JSON.
    report_sha256
        The hash of report.html; ``None`` before it is written.

    Examples
    --------
    >>> manifest = TableManifest(
    ...     created="2026-11-21T09:00:00Z", software={"halfmask": "0.2.0"},
    ...     policy_sha256="0" * 64, rows=RowCounts(n_in=0, n_out=0, n_suppressed=0),
    ...     files=(), support=(), columns=(), method={"name": "guided"}, claims=(),
    ... )
    >>> manifest.stated().kind
    'microdata'
    """

    created: str
    software: Mapping[str, str]
    policy_sha256: str
    rows: RowCounts
    files: tuple[DataFile, ...]
    support: tuple[SupportFile, ...]
    columns: tuple[ReleasedColumn, ...]
    method: Mapping[str, Json]
    claims: tuple[ClassClaim, ...]
    weaknesses: tuple[str, ...] = ()
    risk: Mapping[str, Json] = field(default_factory=dict)
    utility: Mapping[str, Json] = field(default_factory=dict)
    report_sha256: str | None = None

    def stated(self) -> Manifest:
        """Return the manifest as every kind of release has it."""
        return Manifest(
            kind=MICRODATA,
            created=self.created,
            software=self.software,
            policy_sha256=self.policy_sha256,
            files=self.files,
            claims=tuple(each.stated() for each in self.claims),
            weaknesses=self.weaknesses,
            details=table_details(
                rows=self.rows,
                support=self.support,
                columns=self.columns,
                method=self.method,
                risk=self.risk,
                utility=self.utility,
            ),
            report_sha256=self.report_sha256,
        )

    def to_dict(self) -> dict[str, Json]:
        """Return the manifest as the JSON object that `read_manifest` reads."""
        return self.stated().to_dict()

    def to_json(self) -> str:
        """Return the text of manifest.json; see `Manifest.to_json`."""
        return self.stated().to_json()
