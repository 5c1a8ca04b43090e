"""What became of places: points that masks moved, and areas that classes are written by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from halfmask._facts import Facts
from halfmask.anonymize import Level
from halfmask.assess.masking import assess_places
from halfmask.geo import PlaceColumns, PointMap, Points
from halfmask.geo.points import arc_of
from halfmask.masks import map_names
from halfmask.masks.geo import Geomask
from halfmask.microdata._class_fit import redraw
from halfmask.microdata._outlined_places import MIXED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from halfmask.anonymize import CellCounts, Plan
    from halfmask.assess.masking import PlaceAssessment
    from halfmask.geo import AreaMap, PlaceRule, Unit
    from halfmask.microdata._masked_rows import MaskedRows
    from halfmask.microdata._policy import Policy

#: The wanted number of people near a masked place, where a mask names none.
_K: Final = 10
#: So many rows are drawn to measure generalized places: each takes two outlines.
_DRAWN: Final = 2000


def assess_moved(rows: MaskedRows, *, share: float, least: int) -> Iterator[PlaceAssessment]:
    """Measure the points that each mask moved, on a share of the rows.

    Of fewer places than the least, measures would say how far each one was moved.
    """
    masks: list[Any] = [mask for mask in rows.policy.table_masks if isinstance(mask, Geomask)]
    maps = rows.policy.opened_maps() if masks else {}
    nobodys = {getattr(mask, "nodes", None) for mask in masks}
    for mask in masks:
        person = [it for it in (mask.person,) if it is not None]
        own = sorted(maps.items(), key=lambda it: it[0] not in map_names(mask))
        before, after = (
            redraw(source, columns, share=share, engine=rows.engine)
            for source, columns in (
                (rows.table.unmasked, [*mask.columns, *person]),
                (rows.table.masked, list(mask.columns)),
            )
        )
        x, y = (before[name].cast(pl.Float64).fill_nan(None) for name in mask.columns)
        if before.filter(x.is_not_null() & y.is_not_null()).select(mask.columns).n_unique() < least:
            continue
        found = assess_places(
            before,
            after.with_columns(before[name] for name in person),
            PlaceColumns(mask.columns, mask.unit, mask.crs),
            maps=[it for name, it in own if name not in nobodys and _fits(it, mask.unit)],
            k=(getattr(mask, "k", None) or (_K,))[0],
            person=next(iter(person), None),
            centre=getattr(mask, "centre", None),
        )
        if found is not None:
            yield found


def _fits(found: PointMap | AreaMap, unit: Unit) -> bool:
    """Return whether a map and points in a unit are both on the earth, or both in a plane."""
    own = found.points.unit if isinstance(found, PointMap) else found.unit
    return (own == "degrees") == (unit == "degrees")


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneralizedPlaces(Facts):
    """How far the centres of written areas are from those of the finest ones, in metres.

    Of rows whose area has an outline; `whole` is the share of the others.
    """

    column: str
    median: float
    greatest: float
    whole: float

    @property
    def row(self) -> tuple[str, str, str]:
        """Name, number and sentence."""
        sentence = (
            "Median distance from the centre of the finest area of a row to that of the written "
            f"one; {self.greatest / 1000:,.3g} km at most. {self.whole:.1%} of the rows have an "
            "area without an outline."
        )
        return (
            f"Distance to the centre of {self.column!r}",
            f"{self.median / 1000:,.3g} km",
            sentence,
        )


def generalized_places(
    policy: Policy, plan: Plan, counts: CellCounts
) -> Iterator[GeneralizedPlaces]:
    """Measure the places that are written by levels, on rows that are drawn."""
    for number, coding in enumerate(plan.codings):
        name = coding.column.name
        cells, codes, n = counts.entries(number)
        known = np.flatnonzero(codes < coding.n_values)
        is_place = policy.columns[name].place and isinstance(plan.written_as(name), Level)
        if not is_place or not len(known):
            continue
        weights = None if n is None else n[known] / n[known].sum()
        drawn = np.random.default_rng(0).choice(known, _DRAWN, p=weights)
        rule = policy.place_rule(name)
        finest, written = (
            _centres(rule, labels)
            for labels in (coding.values[codes[drawn]], plan.written[number][cells[drawn]])
        )
        straight = np.linalg.norm(written - finest, axis=1)
        far = arc_of(straight) if rule.outline_unit == "degrees" else straight
        whole = np.isnan(far)
        if not whole.all():
            yield GeneralizedPlaces(
                column=name,
                median=float(np.median(far[~whole])),
                greatest=float(far[~whole].max()),
                whole=float(whole.mean()),
            )


def _centres(rule: PlaceRule, labels: pl.Series) -> NDArray[np.float64]:
    """Return the mean of the corners of each area in space; NaN without an outline."""
    found = {}
    for label in labels.unique():
        outline = None if label is None else rule.outline(label.removesuffix(MIXED))
        flat = [np.nan, np.nan] if outline is None else list(_numbers(outline["coordinates"]))
        x, y = np.unique(np.reshape(flat, (-1, 2)), axis=0).T  # rings name their first corner twice
        points = Points(x=x, y=y, unit=rule.outline_unit)
        found[label] = points.in_space().mean(axis=0)
    return np.stack([found[label] for label in labels])


def _numbers(nested: Any) -> Iterator[float]:  # noqa: ANN401 # lists of lists of two numbers
    for each in nested:
        if isinstance(each, list | tuple):
            yield from _numbers(each)
        else:
            yield each
