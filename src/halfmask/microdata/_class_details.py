"""What a release of classes states: its columns, its method, and what no guarantee covers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halfmask._errors import VerificationError
from halfmask.claims import ReleasedColumn, RowCounts, SupportFile, TableDetails
from halfmask.claims.claim import weakness_sentence
from halfmask.masks import TableMask
from halfmask.microdata._claims import supports
from halfmask.microdata._finite_numbers import finite
from halfmask.microdata.mask_section import stated_masks, stated_parameters

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from halfmask.claims import ClassClaim
    from halfmask.microdata._policy import Policy
    from halfmask.microdata._prepared import Prepared
    from halfmask.microdata.evaluation import ClassFacts


def _check_stated(
    policy: Policy, columns: Sequence[ReleasedColumn], claims: Sequence[ClassClaim]
) -> None:
    """Raise unless the manifest will state all of the owner's roles and guarantees.

    The verifier believes what the manifest says a column is and what it claims.
    """
    roles = {
        name: column.role for name, column in policy.columns.items() if column.role != "identifier"
    }
    stated = {column.bound_of or column.name: column.role for column in columns}
    asked = [
        (each.named, each.about, {k: v for k, v in each.parameters.items() if v is not None})
        for each in policy.guarantee_sections
    ]
    claimed = [(claim.model, claim.column, dict(claim.parameters)) for claim in claims]
    known = {column.name for column in columns if column.role == "quasi_identifier"}
    unit = "row" if policy.person is None else "person"
    if (
        roles != stated
        or asked != claimed
        or any(set(claim.quasi_identifiers) != known for claim in claims)
        or any(claim.unit != unit for claim in claims)
    ):
        raise VerificationError(
            "The release doesn't state the roles and guarantees of its policy.",
            hint="This is a fault of halfmask, not of yours: please report it.",
        )


def write_supports(prepared: Prepared, folder: Path) -> None:
    """Write the files that order the values of sensitive columns."""
    for support in supports(prepared.guarantees):
        path = folder / support.name
        path.parent.mkdir(exist_ok=True)
        path.write_text(support.text, encoding="utf-8", newline="")


def class_details(
    prepared: Prepared, claims: Sequence[ClassClaim], facts: ClassFacts
) -> dict[str, Any]:
    """Return columns, method, risk and utility as the manifest has them."""
    columns = stated_columns(prepared)
    _check_stated(prepared.policy, columns, claims)
    return TableDetails(
        rows=RowCounts(
            n_in=prepared.n_in,
            n_out=prepared.n_out,
            n_suppressed=prepared.n_in - prepared.n_out,
        ),
        support=tuple(
            SupportFile(name=each.name, column=each.column, sha256=each.sha256)
            for each in supports(prepared.guarantees)
        ),
        columns=tuple(columns),
        row_masks=tuple(
            {"name": mask.name, **stated_parameters(mask)}
            for mask in prepared.policy.table_masks
            if not isinstance(mask, TableMask)
        ),
        method={
            **prepared.policy.method.model_dump(mode="json", exclude_none=True),
            **prepared.plan.partition.details(prepared.plan.quasi_identifiers),
        },
        risk=finite(facts.risk.to_dict()),
        utility=finite(facts.utility.to_dict()),
    ).to_details()


def stated_columns(prepared: Prepared) -> list[ReleasedColumn]:
    """Return the released columns as the manifest has them."""
    known = prepared.plan.quasi_identifiers
    written = {series.name: series for series in prepared.plan.released}
    columns = []
    for name in prepared.columns:
        column = prepared.schema[name]
        mask, parameters = stated_masks(prepared.policy.masks_of(name))
        for released in prepared.plan.released_columns([name]):
            dtype = written[released].dtype if name in known else prepared.source.dtypes[name]
            columns.append(
                ReleasedColumn(
                    name=released,
                    role=column.role,
                    kind=column.kind,
                    recoding=prepared.plan.written_as(name).name if name in known else None,
                    dtype=str(dtype),
                    mask=mask,
                    mask_parameters=parameters,
                    bound_of=None if released == name else name,
                    range_step=_range_step(prepared, name),
                )
            )
    return columns


def _range_step(prepared: Prepared, name: str) -> float | str | None:
    """Return what the ends of a column's ranges are multiples of, where they aren't values."""
    grid = next((it.grid for it in prepared.plan.codings if it.column.name == name), None)
    if grid is None:
        return None
    return grid.unit if prepared.source.dtypes[name].is_temporal() else grid.step


def class_weaknesses(prepared: Prepared) -> list[str]:
    """Name the weaknesses of the guarantees in this release."""
    plan = prepared.plan
    named = [word for name in plan.quasi_identifiers for word in plan.weaknesses_of(name)]
    judged = {guarantee.column for guarantee in prepared.guarantees if guarantee.column}
    if any(name not in judged for name in prepared.schema.sensitive) or not judged:
        named.append("no-diversity")
    # What a guarantee says of a sensitive column is about its class, not about its own values.
    if prepared.schema.insensitive or prepared.schema.sensitive:
        named.append("other-columns")
    named += [word for guarantee in prepared.guarantees for word in guarantee.weaknesses]
    named += ["background-knowledge", "minimality", "one-release"]
    policy = prepared.policy
    masks = (*policy.masks.values(), *policy.table_masks)
    named += [word for mask in masks for word in mask.weaknesses]
    return [weakness_sentence(name) for name in dict.fromkeys(named)]
