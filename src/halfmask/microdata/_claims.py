"""Claims of a release, counted on the released classes, and their support files."""

from __future__ import annotations

import csv
import hashlib
import io
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask.claims._table_manifest import ClassClaim, Evidence
from halfmask.guarantees import Classes, class_codes, class_of_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize import CellCounts, PeopleOfNode, PlacedPeople, Plan
    from halfmask.guarantees import Guarantee


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """The order or tree of a sensitive column's values, as a file next to the data."""

    name: str
    column: str
    text: str

    @property
    def sha256(self) -> str:
        """The hexadecimal SHA-256 of the file."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def supports(guarantees: Sequence[Guarantee]) -> tuple[Support, ...]:
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
    support_of = {each.column: each.name for each in supports(guarantees)}
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
