"""What became of the points that masks moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import polars as pl

from halfmask.assess.masking import assess_places
from halfmask.geo import PlaceColumns, PointMap
from halfmask.masks import map_names
from halfmask.masks.geo import Geomask
from halfmask.microdata._class_fit import redraw

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halfmask.assess.masking import PlaceAssessment
    from halfmask.geo import AreaMap, Unit
    from halfmask.microdata._masked_rows import MaskedRows

#: The wanted number of people near a masked place, where a mask names none.
_K: Final = 10


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
