"""What became of places: points that masks moved, and areas that classes are written by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from halfmask.assess.masking import assess_places
from halfmask.geo import PointColumns, PointMap, Unit
from halfmask.microdata._class_fit import redraw

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halfmask.assess.masking import PlaceAssessment
    from halfmask.geo import AreaMap
    from halfmask.microdata._masked_rows import MaskedRows

#: The wanted number of people near a masked place, where a mask names none.
_K = 10


def assess_moved(rows: MaskedRows, *, share: float) -> Iterator[PlaceAssessment]:
    """Measure the points that each mask moved, on a share of the rows."""
    masks: list[Any] = [mask for mask in rows.policy.table_masks if _moves_points(mask)]
    maps = rows.policy.opened_maps() if masks else {}
    nobodys = {getattr(mask, "nodes", None) for mask in masks}
    for mask in masks:
        person = [it for it in (getattr(mask, "person", None),) if it is not None]
        before, after = (
            redraw(source, columns, share=share, engine=rows.engine)
            for source, columns in (
                (rows.table.unmasked, [*mask.columns, *person]),
                (rows.table.masked, list(mask.columns)),
            )
        )
        found = assess_places(
            before,
            after.with_columns(before[name] for name in person),
            PointColumns(mask.columns, mask.unit),
            maps=[it for name, it in maps.items() if name not in nobodys and _fits(it, mask.unit)],
            k=(getattr(mask, "k", None) or (_K,))[0],
            person=next(iter(person), None),
        )
        if found is not None:
            yield found


def _moves_points(mask: object) -> bool:
    """Return whether a mask changes points: two columns in a unit of places."""
    return len(getattr(mask, "columns", ())) == 2 and getattr(mask, "unit", "") in get_args(Unit)


def _fits(found: PointMap | AreaMap, unit: Unit) -> bool:
    """Return whether a map and points in a unit are both on the earth, or both in a plane."""
    own = found.points.unit if isinstance(found, PointMap) else found.unit
    return (own == "degrees") == (unit == "degrees")
