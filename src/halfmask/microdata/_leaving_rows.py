"""What the book keeps of rows in classes, and which rows wait for a later release."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import GuaranteeNotMetError
from halfmask.anonymize.reusing import seal_plan
from halfmask.guarantees import class_of_row
from halfmask.microdata._class_fit import fit_without
from halfmask.microdata._masked_rows import draws_of
from halfmask.microdata._policy_checks import whose_columns
from halfmask.release.booking import Leaving, LeavingRows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from halfmask.book.section import BookSection
    from halfmask.data import Schema
    from halfmask.guarantees import Guarantee
    from halfmask.masks import MaskedTable
    from halfmask.microdata._class_fit import ProtectionFit
    from halfmask.microdata._classed_rows import ClassedRows
    from halfmask.microdata._policy import Policy
    from halfmask.microdata.evaluation import ClassFacts
    from halfmask.release import Release
    from halfmask.release.booking import Booking


def leaving(release: Release[ClassFacts]) -> Leaving:
    """Return whose rows are released, in which class, and the plan for later releases."""
    rows: ClassedRows = release.source
    section = None if release.booking is None else release.booking.section
    found = read_rows(rows.policy, rows.table, rows.schema, rows.guarantees, section)
    written = pl.DataFrame(list(rows.plan.released))
    of_cell, _ = class_of_row(written, quasi_identifiers=written.columns)
    cells = _found_cells(rows) if rows.cells is None else rows.cells
    drawn = draws_of(rows.policy, rows.source, rows.key)
    return Leaving(
        rows=replace(_in_cells(found, cells, of_cell), drawn=drawn), plan=seal_plan(rows.plan)
    )


def read_rows(
    policy: Policy,
    table: MaskedTable,
    schema: Schema,
    guarantees: Sequence[Guarantee],
    section: BookSection | None,
) -> LeavingRows:
    """Read what is booked of all rows without cells that must not be missing, in one class."""
    names, matched = whose_columns(policy, section)
    judged = [each.column for each in guarantees if each.column]
    sensitive = list(dict.fromkeys([*schema.sensitive, *judged]))
    behind = list(dict.fromkeys([*sensitive, *schema.suppressing]))
    if table.masked is table.unmasked:
        rows = table.masked.read(columns=list(dict.fromkeys([*names, *behind])))
        whose = rows.select(names)
    else:
        whose = table.unmasked.read(columns=names)
        rows = table.masked.read(columns=behind) if behind else pl.DataFrame()
    if schema.suppressing:
        complete = pl.all_horizontal(pl.col(*schema.suppressing).is_not_null())
        whose = whose.filter(rows.select(complete).to_series())
        rows = rows.filter(complete)
    return LeavingRows(
        whose=whose,
        classes=np.zeros(whose.height, dtype=np.int64),
        sensitive=rows.select(sensitive),
        matched=matched,
    )


def fit_leaving(
    booking: Booking, rows: LeavingRows, fit: Callable[..., ProtectionFit]
) -> tuple[ProtectionFit, int]:
    """Fit classes such that the floor holds over all releases; return how many rows wait, too.

    Who would have to wait even if all rows were one class waits first: cells that lack people
    without them are merged. Then cells are judged, and not what is written for them: without the
    rows that wait, two cells may no longer be written alike.
    """
    first = booking.waiting(rows)
    made = fit(waiting=first if first.any() else None)
    cells = made.cells
    if cells is None:  # nobody waits: of a sample, no row can
        return made, 0
    placed = cells >= 0
    stays = placed
    while True:
        again = np.zeros(len(cells), dtype=np.bool_)
        in_cells = _in_cells(rows, made.fitted.cell_of_row, np.arange(made.plan.partition.n_cells))
        again[stays] = booking.waiting(in_cells)
        if not again.any():
            break
        made = fit_without(made, again)
        asked, stays = stays & ~again, made.fitted.cell_of_row >= 0
        if (asked == stays).all():  # else cells went that miss a guarantee now: look again
            break
    if made.waiting is not None:
        first = made.waiting
    gone = first | (placed & ~stays)
    _check_share(rows, gone, booking.section.leave_out)
    return made, int(gone.sum())


def _check_share(rows: LeavingRows, gone: NDArray[np.bool_], leave_out: float) -> None:
    """Raise if more people wait than may, once cells that miss a guarantee wait as a whole."""
    people = rows.whose if not rows.matched else rows.whose.with_row_index("\0row")
    n_people, n_left = people.n_unique(), people.filter(pl.Series(~gone)).n_unique()
    if n_people - n_left > leave_out * n_people:
        raise GuaranteeNotMetError(
            f"{1 - n_left / n_people:.2%} of people would have to wait so that each class keeps "
            f"its guarantees; at most {leave_out:.2%} may.",
            hint="Raise [[leave_out|--leave-out]], make classes coarser from the first "
            "release on, or ask for a smaller k than the reused classes have.",
        )


def _in_cells(
    rows: LeavingRows, cells: NDArray[np.int32], class_of_cell: NDArray[np.int64]
) -> LeavingRows:
    """Return the rows that have a cell, in the class of their cell."""
    stays = pl.Series(cells >= 0)
    return replace(
        rows,
        whose=rows.whose.filter(stays),
        classes=class_of_cell[cells[cells >= 0]].astype(np.int64),
        sensitive=rows.sensitive.filter(stays) if rows.sensitive.width else rows.sensitive,
    )


def _found_cells(rows: ClassedRows) -> NDArray[np.int32]:
    """Return the cell of each row of a table whose cells were found on a sample."""
    needing = rows.schema.suppressing
    columns = list(dict.fromkeys([*rows.plan.quasi_identifiers, *needing]))
    batches = rows.source.batches(columns=columns)
    kept = (batch.drop_nulls(needing) if needing else batch for batch in batches)
    return np.concatenate([rows.plan.cells(batch) for batch in kept])
