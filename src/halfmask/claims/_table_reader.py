"""The manifest of a released table read strictly, as version 2 and as version 0.1 wrote it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from halfmask._errors import VerificationError
from halfmask.claims._common_keys import common_keys, released_name
from halfmask.claims._released_files import MANIFEST_NAME
from halfmask.claims._strict import At
from halfmask.claims._table_manifest import (
    MICRODATA,
    ClassClaim,
    Evidence,
    ReleasedColumn,
    RowCounts,
    SupportFile,
    TableManifest,
)

if TYPE_CHECKING:
    from halfmask.claims._claim import Claim
    from halfmask.claims._manifest import Manifest

ROLES: Final = ("identifier", "quasi_identifier", "sensitive", "insensitive")
KINDS: Final = ("numeric", "ordinal", "categorical", "datetime", "geo", "text")


def table_manifest(manifest: Manifest) -> TableManifest:
    """Return what a manifest says of a table of people."""
    if manifest.kind != MICRODATA:
        raise VerificationError("The release isn't one of a table of people.")
    top = At(dict(manifest.details), f"{MANIFEST_NAME}: details")
    keys = ("rows", "support", "columns", "method", "risk", "utility")
    at = top.keys(*keys, optional=("row_masks",))
    if "row_masks" in at:
        at["row_masks"].each(At.mapping)
    return TableManifest(
        created=manifest.created,
        software=manifest.software,
        policy_sha256=manifest.policy_sha256,
        rows=_rows(at["rows"]),
        files=manifest.files,
        support=at["support"].each(_support),
        columns=at["columns"].each(_column),
        method=at["method"].mapping(),
        claims=tuple(_class_claim(n, each) for n, each in enumerate(manifest.claims, start=1)),
        weaknesses=manifest.weaknesses,
        risk=at["risk"].mapping(),
        utility=at["utility"].mapping(),
        report_sha256=manifest.report_sha256,
    )


def check_second_version(manifest: Manifest) -> None:
    """Refuse a table that doesn't state its risk over released columns, as version 1 didn't."""
    at = At(manifest.details.get("risk"), f"{MANIFEST_NAME}: details: risk")
    if "released_columns" not in at.mapping():
        raise VerificationError(f"{at.place} lacks the key 'released_columns'.")


def _class_claim(number: int, claim: Claim) -> ClassClaim:
    place = f"{MANIFEST_NAME}: claims number {number}"
    At(claim.basis, f"{place}: basis").word(("counted", "estimated"))
    about = At(dict(claim.about), f"{place}: about")
    found = about.keys("column", "quasi_identifiers", optional=("support", "unit"))
    return ClassClaim(
        model=claim.model,
        parameters=claim.parameters,
        column=found["column"].text_or_none(),
        quasi_identifiers=found["quasi_identifiers"].each(At.text),
        evidence=_evidence(At(dict(claim.evidence), f"{place}: evidence")),
        support=found["support"].text_or_none() if "support" in found else None,
        unit="person" if "unit" in found and found["unit"].word(("person",)) else "row",
        basis=claim.basis,
    )


def first_version(top: At) -> TableManifest:
    """Return what a manifest of version 1 says; version 0.1 wrote these, of tables alone."""
    at = top.keys(
        *("format", "version", "created", "software", "policy", "rows", "files", "support"),
        *("columns", "method", "claims", "weaknesses", "risk", "utility"),
        optional=("report",),
    )
    return TableManifest(
        **common_keys(at),
        rows=_rows(at["rows"]),
        support=at["support"].each(_support),
        columns=at["columns"].each(_first_column),
        method=at["method"].mapping(),
        claims=at["claims"].each(_first_claim),
        risk=at["risk"].mapping(),
        utility=at["utility"].mapping(),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedSet:
    """A set of columns, and the rows that the manifest says are unique or in classes under k."""

    columns: tuple[str, ...]
    unique: int
    under_k: int


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
    found = At(manifest.risk["released_columns"], f"{MANIFEST_NAME}: risk: released_columns")
    at = found.keys("k", "exact", "every", "unchanged", "few")
    k, exact = at["k"].count(), at["exact"].boolean()
    if k < 2:  # each row is in a class of one
        at["k"].refuse("a whole number of at least 2")
    return StatedSets(
        k=k,
        exact=exact,
        every=_stated_set(at["every"]),
        unchanged=None if at["unchanged"].value is None else _stated_set(at["unchanged"]),
        few=at["few"].each(_stated_set),
    )


def _stated_set(at: At) -> StatedSet:
    found = at.keys("columns", "unique", "under_k", "share_unique", "share_under_k")
    return StatedSet(
        columns=found["columns"].each(At.text),
        unique=found["unique"].count(),
        under_k=found["under_k"].count(),
    )


def _rows(at: At) -> RowCounts:
    found = at.keys("in", "out", "suppressed")
    return RowCounts(
        n_in=found["in"].count(),
        n_out=found["out"].count(),
        n_suppressed=found["suppressed"].count(),
    )


def _support(at: At) -> SupportFile:
    found = at.keys("name", "column", "sha256")
    return SupportFile(
        name=released_name(found["name"], "support"),
        column=found["column"].text(),
        sha256=found["sha256"].sha256(),
    )


def _first_column(at: At) -> ReleasedColumn:
    at.keys("name", "role", "kind", "recoding", "dtype")
    return _column(at)


def _column(at: At) -> ReleasedColumn:
    optional = ("mask", "mask_parameters", "bound_of", "range_step")
    found = at.keys("name", "role", "kind", "recoding", "dtype", optional=optional)
    if "mask_parameters" in found and "mask" not in found:
        found["mask_parameters"].refuse("left out where there is no mask")
    return ReleasedColumn(
        name=found["name"].text(),
        role=found["role"].word(ROLES),
        kind=found["kind"].word(KINDS),
        recoding=found["recoding"].text_or_none(),
        dtype=found["dtype"].text(),
        mask=found["mask"].text() if "mask" in found else None,
        mask_parameters=(
            found["mask_parameters"].mapping() if "mask_parameters" in found else None
        ),
        bound_of=found["bound_of"].text() if "bound_of" in found else None,
        range_step=found["range_step"].parameter() if "range_step" in found else None,
    )


def _first_claim(at: At) -> ClassClaim:
    required = ("model", "parameters", "column", "quasi_identifiers", "evidence")
    found = at.keys(*required, optional=("support",))
    return ClassClaim(
        model=found["model"].text(),
        parameters=found["parameters"].parameters(),
        column=found["column"].text_or_none(),
        quasi_identifiers=found["quasi_identifiers"].each(At.text),
        evidence=_evidence(found["evidence"]),
        support=found["support"].text_or_none() if "support" in found else None,
    )


def _evidence(at: At) -> Evidence:
    found = at.keys("achieved", "classes", "rows", "smallest_class")
    return Evidence(
        achieved=found["achieved"].number(),
        classes=found["classes"].count(),
        rows=found["rows"].count(),
        smallest_class=found["smallest_class"].count(),
    )
