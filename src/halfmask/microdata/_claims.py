"""What a release of classes states: its claims, columns and weaknesses, and support files."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from halfmask._errors import VerificationError
from halfmask.claims import (
    ClassClaim,
    Evidence,
    ReleasedColumn,
    RowCounts,
    SupportFile,
    TableDetails,
)
from halfmask.claims.claim import weakness_sentence
from halfmask.claims.table_claims import AREAS_OF_PLACES
from halfmask.guarantees import Classes, class_codes, class_of_row
from halfmask.masks import TableMask
from halfmask.microdata._writing import Support
from halfmask.microdata.mask_section import stated_masks, stated_parameters

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from halfmask.anonymize import CellCounts, PeopleOfNode, PlacedPeople, Plan
    from halfmask.guarantees import Guarantee
    from halfmask.microdata._classed_rows import ClassedRows
    from halfmask.microdata._policy import Policy
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
    claims = [claim for claim in claims if claim.model != AREAS_OF_PLACES]
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


def _supports(classed_rows: ClassedRows) -> tuple[Support, ...]:
    return (*list_supports(classed_rows.guarantees), *classed_rows.places)


def write_supports(classed_rows: ClassedRows, folder: Path) -> None:
    """Write the files that order the values of sensitive columns, and those of places."""
    for support in _supports(classed_rows):
        path = folder / support.name
        path.parent.mkdir(exist_ok=True)
        path.write_text(support.text, encoding="utf-8", newline="")


def class_details(
    classed_rows: ClassedRows, claims: Sequence[ClassClaim], facts: ClassFacts
) -> dict[str, Any]:
    """Return columns, method, risk and utility as the manifest has them."""
    columns = stated_columns(classed_rows)
    _check_stated(classed_rows.policy, columns, claims)
    return TableDetails(
        rows=RowCounts(
            n_in=classed_rows.n_in,
            n_out=classed_rows.n_out,
            n_suppressed=classed_rows.n_in - classed_rows.n_out,
        ),
        support=tuple(
            SupportFile(name=each.name, column=each.column, sha256=each.sha256)
            for each in _supports(classed_rows)
        ),
        columns=tuple(columns),
        row_masks=tuple(
            {"name": mask.name, **stated_parameters(mask)}
            for mask in classed_rows.policy.table_masks
            if not isinstance(mask, TableMask)
        ),
        method={
            **classed_rows.policy.method.model_dump(mode="json", exclude_none=True),
            **classed_rows.plan.partition.details(classed_rows.plan.quasi_identifiers),
        },
        risk=drop_infinite(facts.risk.to_dict()),
        utility=drop_infinite(facts.utility.to_dict()),
    ).to_details()


def stated_columns(classed_rows: ClassedRows) -> list[ReleasedColumn]:
    """Return the released columns as the manifest has them."""
    known = classed_rows.plan.quasi_identifiers
    written = {series.name: series for series in classed_rows.plan.released}
    columns = []
    for name in classed_rows.columns:
        column = classed_rows.schema[name]
        masks = classed_rows.policy.masks_of(name)
        mask, parameters = stated_masks(masks) if masks else (None, None)
        for released in classed_rows.plan.released_columns([name]):
            dtype = written[released].dtype if name in known else classed_rows.source.dtypes[name]
            columns.append(
                ReleasedColumn(
                    name=released,
                    role=column.role,
                    kind=column.kind,
                    recoding=classed_rows.plan.written_as(name).name if name in known else None,
                    dtype=str(dtype),
                    mask=mask,
                    mask_parameters=parameters,
                    bound_of=None if released == name else name,
                    range_step=_range_step(classed_rows, name),
                    original=_original(classed_rows.source.dtypes[name], dtype),
                )
            )
    return columns


def _original(before: pl.DataType, released: pl.DataType) -> str | None:
    """Return the type before a recoding, unless it is released; types of categories name them."""
    return None if before == released or before in (pl.Enum, pl.Categorical) else str(before)


def _range_step(classed_rows: ClassedRows, name: str) -> float | str | None:
    """Return what the ends of a column's ranges are multiples of, where they aren't values."""
    grid = next((it.grid for it in classed_rows.plan.codings if it.column.name == name), None)
    if grid is None:
        return None
    return grid.unit if classed_rows.source.dtypes[name].is_temporal() else grid.step


def class_weaknesses(classed_rows: ClassedRows) -> list[str]:
    """Name the weaknesses of the guarantees in this release."""
    plan = classed_rows.plan
    named = [word for name in plan.quasi_identifiers for word in plan.weaknesses_of(name)]
    judged = {guarantee.column for guarantee in classed_rows.guarantees if guarantee.column}
    if any(name not in judged for name in classed_rows.schema.sensitive) or not judged:
        named.append("no-diversity")
    # What a guarantee says of a sensitive column is about its class, not about its own values.
    if classed_rows.schema.insensitive or classed_rows.schema.sensitive:
        named.append("other-columns")
    named += [word for guarantee in classed_rows.guarantees for word in guarantee.weaknesses]
    named += ["background-knowledge", "minimality", "one-release"]
    policy = classed_rows.policy
    masks = (*policy.masks.values(), *policy.table_masks)
    named += [word for mask in masks for word in mask.weaknesses]
    return [weakness_sentence(name) for name in dict.fromkeys(named)]


def drop_infinite(values: Mapping[str, object]) -> dict[str, Any]:
    """Return numbers as JSON has them: an infinite one, or none, is null.

    Examples
    --------
    >>> drop_infinite({"largest": float("inf"), "shares": (0.5, float("nan"))})
    {'largest': None, 'shares': [0.5, None]}
    """

    def walk(value: object) -> Any:  # noqa: ANN401 # JSON
        if isinstance(value, dict):
            return {str(name): walk(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [walk(each) for each in value]
        if isinstance(value, float) and value - value != 0:
            return None
        return value

    return {name: walk(value) for name, value in values.items()}


def list_supports(guarantees: Sequence[Guarantee]) -> tuple[Support, ...]:
    """Return the files that order the values of sensitive columns, one for each tree."""
    made: dict[str, Support] = {}
    for guarantee in guarantees:
        if guarantee.support is None:
            continue
        column = str(guarantee.column)
        out = io.StringIO()
        writer = csv.writer(out, delimiter=";", lineterminator="\n")
        writer.writerows(guarantee.support.rows())
        made.setdefault(
            column,
            Support(name=f"support/{len(made)}.csv", column=column, text=out.getvalue()),
        )
    return tuple(made.values())


def merged_classes(plan: Plan, classes: Classes) -> tuple[Classes, NDArray[np.int64]]:
    """Return the released classes, and that of each cell: cells written alike are one."""
    written = pl.DataFrame(list(plan.released))
    into, n_classes = class_of_row(written, quasi_identifiers=written.columns)
    released = classes.coarsened(into, n_classes)
    if any(guarantee.needs_written for guarantee in plan.guarantees):
        codes = class_codes(written, into, n_classes, written.columns)
        released = replace(released, written=codes)
    return released, into


def with_people(
    released: Classes,
    into: NDArray[np.int64],
    people: PlacedPeople | PeopleOfNode | None,
    counts: CellCounts,
) -> Classes:
    """Return the released classes with the people who fit each, where a guarantee needs them."""
    if people is None:
        return released
    written, class_of_cell = people.classes(counts)
    cell = np.empty(released.n_classes, dtype=np.int64)
    cell[into[::-1]] = np.arange(len(into) - 1, -1, -1)  # the first cell of each class
    at = class_of_cell[cell]
    shared = None if written.shared is None else written.shared[at]
    return replace(
        released,
        population=written.people[at],
        shared=shared,
        outside=written.outside,
        inside=written.inside,
    )


def released_guarantees(
    guarantees: Sequence[Guarantee], released: Classes
) -> tuple[Guarantee, ...]:
    """Return the guarantees with hierarchies cut down to the released values.

    A value that only suppressed rows had is named nowhere in a release, its support files included.
    """
    return tuple(
        guarantee.restricted(_leaving_leaves(guarantee, released))
        if guarantee.order is not None
        else guarantee
        for guarantee in guarantees
    )


def _leaving_leaves(guarantee: Guarantee, released: Classes) -> pl.Series:
    leaves = pl.Series(guarantee.order or (), dtype=pl.String)
    totals = released.histogram(str(guarantee.column)).totals[: len(leaves)]
    return leaves.filter(pl.Series(totals > 0))


def make_claims(
    guarantees: Sequence[Guarantee], classes: Classes, quasi_identifiers: Sequence[str]
) -> tuple[ClassClaim, ...]:
    """Judge the released classes, and state each guarantee with what was counted for it."""
    support_of = {each.column: each.name for each in list_supports(guarantees)}
    claims = []
    for guarantee in guarantees:
        judgement = guarantee.judge(classes)
        claims.append(
            ClassClaim(
                model=guarantee.model,
                parameters=guarantee.parameters,
                column=guarantee.column,
                quasi_identifiers=tuple(quasi_identifiers),
                evidence=Evidence(
                    achieved=judgement.achieved,
                    classes=judgement.classes,
                    rows=judgement.rows,
                    smallest_class=int(classes.sizes.min()),
                ),
                support=None if guarantee.support is None else support_of[str(guarantee.column)],
                unit="row" if classes.members is None else "person",
                basis=guarantee.basis,
            )
        )
    return tuple(claims)
