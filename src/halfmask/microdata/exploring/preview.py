"""Preview a release on rows in memory: what takes a fraction of a second, and no more.

`PreviewTable` holds the rows, read and summarized once for all policies of the same columns.
`changed_cells` is the same for a policy of masks alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from halfmask._errors import HalfmaskError
from halfmask._progress import silent
from halfmask.assess.risk import classes_risk
from halfmask.assess.utility import information_loss
from halfmask.data import Schema, open_table
from halfmask.engines import LocalEngine, map_in_order
from halfmask.guarantees import measure
from halfmask.microdata._claims import merged_classes
from halfmask.microdata._class_measures import leaving_extents
from halfmask.microdata._detail_kept import weighed_loss
from halfmask.microdata._masked_rows import MaskedRows
from halfmask.microdata._policy_checks import with_hierarchies
from halfmask.microdata.exploring._explored_table import ExploredTable
from halfmask.microdata.opening import behind_masks
from halfmask.release import Inputs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halfmask.anonymize import Protection
    from halfmask.guarantees import Guarantee
    from halfmask.microdata._policy import Policy

#: Random numbers of masks: the same rows have the same preview.
_KEY: Final = bytes(32)
#: Digits of the nearest parameter that can be met.
_DIGITS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePreview:
    """What a release of some rows would be: its risk, and the detail that it keeps."""

    rows: int
    suppressed: int
    classes: int
    smallest: int
    highest: float
    average: float
    unique: float
    kept: float
    detail: Mapping[str, float]
    levels: Mapping[str, tuple[int, int]]
    """The level of each column and the greatest there is, where all rows have the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NearestGuarantee:
    """The nearest value of a parameter that the rows can meet."""

    number: int
    parameter: str
    value: float


@dataclass(frozen=True, slots=True)
class PreviewTable:
    """Rows that policies of the same columns are previewed on."""

    table: ExploredTable

    @classmethod
    def of(cls, rows: pl.DataFrame, policy: Policy) -> PreviewTable:
        """Summarize rows that were read as the policy says."""
        table = ExploredTable.of(open_table(rows), policy, at_most=rows.height, key=_KEY)
        return cls(table)

    def preview(self, policy: Policy) -> ReleasePreview:
        """Measure the release that a policy would make; it raises where there can't be one."""
        return self._preview(self.table.protection(policy))

    def without_each_column(self, policy: Policy) -> dict[str, ReleasePreview]:
        """Measure the release without each quasi-identifier, where there can be one."""
        protection = self.table.protection(policy)
        names = protection.schema.quasi_identifiers
        if len(names) == 1:
            return {}

        def tried(name: str) -> ReleasePreview | None:
            try:
                return self._preview(_without(protection, name))
            except HalfmaskError:
                return None

        found = zip(names, map_in_order(names, tried), strict=True)
        return {name: it for name, it in found if it is not None}

    def _preview(self, protection: Protection) -> ReleasePreview:
        plan, fitted, counts = protection.plan_counted(protection.fit(self.table.summary))
        released, class_of_cell = merged_classes(plan, counts.classes)
        suppressed = self.table.rows.height - released.rows
        risk = classes_risk(released.by_person()).prosecutor
        loss = information_loss(leaving_extents(plan, counts), suppressed=suppressed)
        every = self.table.sizes_over_all(released, class_of_cell, fitted.cell_of_row)
        names = [it.column.name for it in plan.codings]
        levels = getattr(plan.partition, "levels", None)
        heights = getattr(plan.partition, "heights", ())
        chosen = () if levels is None else zip(names, levels, heights, strict=True)
        return ReleasePreview(
            rows=self.table.rows.height,
            suppressed=suppressed,
            classes=released.n_classes,
            smallest=int(released.by_person().sizes.min()),
            highest=risk.highest.value,
            average=risk.average.value,
            unique=int(np.count_nonzero(every == 1)) / released.rows,
            kept=1 - weighed_loss(loss, protection),
            detail={name: 1 - each.loss for name, each in loss.columns.items()},
            levels={name: (level, most) for name, level, most in chosen},
        )

    def nearest(self, policy: Policy) -> NearestGuarantee | None:
        """Return the nearest parameter that one class of all rows meets, where that misses one.

        Merging never breaks a monotone guarantee: what one class misses, no classes meet.
        """
        for number, each in enumerate(self.table.protection(policy).guarantees):
            if each.monotone and not each.needs_population and not each.of_table:
                found = _nearest_of(each, self.table.rows)
                if found is not None:
                    return NearestGuarantee(number=number, parameter=each.bounded, value=found)
        return None


def _nearest_of(guarantee: Guarantee, rows: pl.DataFrame) -> float | None:
    columns = pl.repeat(0, pl.len()).alias("rows") if guarantee.column is None else guarantee.column
    try:
        found = measure(rows.select(columns), quasi_identifiers=[], guarantees=[guarantee])[0]
    except HalfmaskError:
        return None
    if found.holds:
        return None
    types = {it.name: it.type for it in fields(guarantee)}
    if types[guarantee.bounded] == "int":
        return int(found.achieved)
    scale = 10**_DIGITS
    rounded = math.ceil if guarantee.worse_when_larger else math.floor
    return rounded(found.achieved * scale) / scale


def _without(protection: Protection, name: str) -> Protection:
    """Return the protection of a table whose column is dropped."""
    columns = (
        replace(each, role="identifier", hierarchy=None, order=(), label=False)
        if each.name == name
        else each
        for each in protection.schema.columns
    )
    recodings = {each: it for each, it in protection.column_recodings.items() if each != name}
    return replace(protection, schema=Schema(tuple(columns)), column_recodings=recodings)


def changed_cells(rows: pl.DataFrame, policy: Policy) -> tuple[dict[str, float], int]:
    """Return the share of the cells of each column that masks change, and the rows that stay."""
    source = open_table(rows)
    schema = policy.schema()
    schema.check(source.columns)
    engine = LocalEngine()
    masks = with_hierarchies(policy.table_masks, schema)
    table = behind_masks(source, policy, masks, Inputs(progress=silent), key=_KEY, engine=engine)
    columns = MaskedRows(policy=policy, table=table, n_in=source.n_rows, key=_KEY).columns
    before, after = (it.read(columns=columns) for it in (table.unmasked, table.masked))
    return {name: _changed(before[name], after[name]) for name in columns}, after.height


def _changed(before: pl.Series, after: pl.Series) -> float:
    if not len(after):
        return 0.0
    if before.dtype != after.dtype:
        before, after = before.cast(pl.String), after.cast(pl.String)
    return int(before.ne_missing(after).sum()) / len(after)
