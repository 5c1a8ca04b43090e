"""What the manifest of a released table holds: rows, columns, and claims about classes.

It holds names of released columns, parameters and counts. It holds no cell value, no category, no
path of the owner's machine and no name of a column that was dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

from halfmask.claims._details import (
    At,
    Details,
    key,
    one_of,
    read,
    read_claim,
    released_name,
    stated_claim,
)
from halfmask.claims.claim import Basis  # noqa: TC001 # types of fields
from halfmask.claims.manifest import MANIFEST_NAME, MICRODATA, DataFile, Manifest

if TYPE_CHECKING:
    from halfmask.claims.claim import Claim, Json

#: The folder of a release with the outlines of places, and the model of the claim about them.
PLACES: Final = "places"
AREAS_OF_PLACES: Final = "areas-of-places"
ROLES: Final = ("identifier", "quasi_identifier", "sensitive", "insensitive")
KINDS: Final = ("numeric", "ordinal", "categorical", "datetime", "geo", "text")
Role: TypeAlias = Annotated[str, one_of(ROLES)]
Kind: TypeAlias = Annotated[str, one_of(KINDS)]
SupportName: TypeAlias = Annotated[
    str, lambda at: released_name(at, PLACES if at.text().startswith(f"{PLACES}/") else "support")
]
Sha256: TypeAlias = Annotated[str, At.sha256]
RangeStep: TypeAlias = Annotated[float | str | None, lambda at: at.or_none(At.parameter)]
Parameters: TypeAlias = Annotated[Mapping[str, float | int | str], At.parameters]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCounts:
    """Rows that were read, released and suppressed: in = out + suppressed.

    Parameters
    ----------
    n_in, n_out, n_suppressed
        How many rows were read, released and suppressed.
    """

    n_in: int = field(metadata=key("in"))
    n_out: int = field(metadata=key("out"))
    n_suppressed: int = field(metadata=key("suppressed"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportFile:
    """The order or tree of a sensitive column, or the outlines of a place as GeoJSON.

    Parameters
    ----------
    name
        The name of the file in the release.
    column
        The column that it is of.
    sha256
        The hash of the file.
    """

    name: SupportName
    column: str
    sha256: Sha256


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
    original
        The type of the column before its recoding, where that isn't `dtype`.
    """

    name: str
    role: Role
    kind: Kind
    recoding: str | None
    dtype: str
    mask: str | None = field(default=None, metadata=key(optional=True))
    mask_parameters: Mapping[str, Json] | None = field(default=None, metadata=key(optional=True))
    bound_of: str | None = field(default=None, metadata=key(optional=True))
    range_step: RangeStep = field(default=None, metadata=key(optional=True))
    original: str | None = field(default=None, metadata=key(optional=True))


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
        The sensitive column, or the place; ``None`` for k-anonymity.
    quasi_identifiers
        The columns that make the classes.
    evidence
        What was counted.
    support
        The name of the file that orders the column's values or outlines its areas, or ``None``.
    unit
        What counts once in a class: each row, or each person, who may have several.
    basis
        ``"counted"``, or ``"estimated"`` by a model of the population.
    """

    model: str
    parameters: Parameters
    column: str | None
    quasi_identifiers: tuple[str, ...]
    evidence: Evidence
    support: str | None = field(default=None, metadata=key(optional=True))
    unit: Literal["row", "person"] = field(default="row", metadata=key(optional=True))
    basis: Annotated[Basis, one_of(("counted", "estimated"))] = "counted"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        object.__setattr__(self, "quasi_identifiers", tuple(self.quasi_identifiers))

    def stated(self) -> Claim:
        """Return the claim as any release states one."""
        return stated_claim(self, model=self.model)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDetails(Details):
    """What only the manifest of a table of people has.

    Attributes
    ----------
    rows, support, columns
        See the values above.
    method
        Name and parameters of the method.
    risk, utility
        Numbers of the report, as JSON.
    row_masks
        The techniques that left rows out before.
    """

    kind = MICRODATA
    called = "a table of people"

    rows: RowCounts
    support: tuple[SupportFile, ...]
    columns: tuple[ReleasedColumn, ...]
    method: Mapping[str, Json]
    risk: Mapping[str, Json] = field(default_factory=dict)
    utility: Mapping[str, Json] = field(default_factory=dict)
    row_masks: tuple[Annotated[Mapping[str, Json], At.mapping], ...] = field(
        default=(), metadata=key(optional=True)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableManifest(TableDetails):
    """All that a release of a table says of itself.

    Attributes
    ----------
    created
        When, in UTC: ``2026-11-21T09:00:00Z``.
    software
        Name and version of each program that shaped the release.
    policy_sha256
        `Policy.sha256` of the policy that it was made by.
    files, claims
        See the values above.
    weaknesses
        Sentences that name what the release doesn't protect from.
    report_sha256
        The hash of report.html; ``None`` before it is written.
    rows, support, columns, method, risk, utility, row_masks
        As of `TableDetails`.

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
    files: tuple[DataFile, ...]
    claims: tuple[ClassClaim, ...]
    weaknesses: tuple[str, ...] = ()
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
            details=self.to_details(),
            report_sha256=self.report_sha256,
        )

    def to_dict(self) -> dict[str, Json]:
        """Return the manifest as the JSON object that `read_manifest` reads."""
        return self.stated().to_dict()

    def to_json(self) -> str:
        """Return the text of manifest.json; see `Manifest.to_json`."""
        return self.stated().to_json()


def table_manifest(manifest: Manifest) -> TableManifest:
    """Return what a manifest says of a table of people.

    Parameters
    ----------
    manifest
        As `read_manifest` returns it.

    Raises
    ------
    VerificationError
        If the manifest is of another kind, or its details or claims aren't those of a table.
    """
    details = TableDetails.of(manifest)
    for number, column in enumerate(details.columns, start=1):
        if column.mask_parameters is not None and column.mask is None:
            place = f"{MANIFEST_NAME}: details: columns number {number}: mask_parameters"
            At(dict(column.mask_parameters), place).refuse("left out where there is no mask")
    return TableManifest(
        created=manifest.created,
        software=manifest.software,
        policy_sha256=manifest.policy_sha256,
        files=manifest.files,
        claims=tuple(read_claim(ClassClaim, it, n) for n, it in enumerate(manifest.claims, 1)),
        weaknesses=manifest.weaknesses,
        report_sha256=manifest.report_sha256,
        **{each.name: getattr(details, each.name) for each in fields(TableDetails)},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedSet:
    """A set of columns, and the rows that the manifest says are unique or in classes under k."""

    columns: tuple[str, ...]
    unique: int
    under_k: int
    share_unique: Json
    share_under_k: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedSets:
    """The risk over released columns, as a manifest states it; see `ReleasedColumnsRisk`."""

    k: int
    exact: bool
    every: StatedSet
    unchanged: StatedSet | None
    few: tuple[StatedSet, ...]

    @property
    def all_sets(self) -> tuple[StatedSet, ...]:
        """Every set that is stated."""
        whole = () if self.unchanged is None else (self.unchanged,)
        return (self.every, *whole, *self.few)


def stated_sets(manifest: TableManifest) -> StatedSets | None:
    """Return what a manifest states of its released columns; ``None`` where it states nothing."""
    if "released_columns" not in manifest.risk:
        return None  # of a version before 0.2
    at = At(manifest.risk["released_columns"], f"{MANIFEST_NAME}: risk: released_columns")
    found = read(StatedSets, at)
    if found.k < 2:  # each row is in a class of one
        at.keys(*at.mapping())["k"].refuse("a whole number of at least 2")
    return found
