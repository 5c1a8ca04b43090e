"""Outlines of the areas that a release names, as GeoJSON: receivers can draw its places."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from halfmask._errors import GuaranteeNotMetError
from halfmask.anonymize import Level
from halfmask.claims import ClassClaim, Evidence
from halfmask.claims.manifest import check_name
from halfmask.claims.table_claims import AREAS_OF_PLACES, PLACES
from halfmask.microdata._writing import Support

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.anonymize import CellCounts, Coding, Plan
    from halfmask.geo import PlaceRule
    from halfmask.microdata._policy import Policy

_ROOT: Final = "*"
#: What ends the label of a class in which places are missing, too.
MIXED: Final = " or missing"


def outlined_places(
    policy: Policy, plan: Plan, counts: CellCounts, quasi_identifiers: Sequence[str]
) -> dict[Support, ClassClaim]:
    """Return the file of outlines of each place that is written by levels, with its claim."""
    made = {}
    for place, coding in enumerate(plan.codings):
        name = coding.column.name
        if not policy.columns[name].place or not isinstance(plan.written_as(name), Level):
            continue
        sizes = pl.DataFrame({"label": plan.written[place], "rows": counts.classes.sizes})
        areas = sizes.filter(pl.col("rows") > 0).drop_nulls().group_by("label").sum()
        rule = policy.place_rule(name)
        features = _features(rule, coding, areas.sort("label"))
        if features is None:
            continue
        least, fewest = _least(rule, features, name)
        file = Support(name=_file_name(name, place), column=name, text=_geojson(features, rule))
        made[file] = ClassClaim(
            model=AREAS_OF_PLACES,
            parameters={} if least is None else {"least": least},
            column=name,
            quasi_identifiers=tuple(quasi_identifiers),
            evidence=Evidence(
                achieved=float(len(features)) if least is None else fewest,
                classes=areas.height,
                rows=int(areas["rows"].sum()),
                smallest_class=int(areas["rows"].min() or 0),  # type: ignore[arg-type] # counts
            ),
            support=file.name,
        )
    return made


def _features(rule: PlaceRule, coding: Coding, areas: pl.DataFrame) -> list[dict[str, Any]] | None:
    """Return each area as GeoJSON; ``None`` where areas have no outline, as ZIP codes."""
    tree = coding.hierarchy
    assert tree is not None  # noqa: S101 # levels are written
    level_of = {it: up for up in reversed(range(tree.height)) for it in tree.labels(up)}
    features = []
    for label, rows in areas.iter_rows():
        own = label if label in level_of else label.removesuffix(MIXED)
        properties: dict[str, Any] = {"label": label, "level": level_of[own], "rows": rows}
        geometry = None
        if own != _ROOT:
            geometry, people = rule.outline(own), rule.people_of(own)
            if geometry is None:
                return None
            if people is not None:
                properties["people"] = int(people) if people == int(people) else people
        features.append({"type": "Feature", "properties": properties, "geometry": geometry})
    return features


def _least(
    rule: PlaceRule, features: Sequence[dict[str, Any]], column: str
) -> tuple[int | None, float]:
    """Return the least number of people of the rule, and the fewest of an area; raise below it."""
    areas = (each["properties"] for each in features if each["geometry"] is not None)
    people = [float(each.get("people", -1)) for each in areas]
    least: int | None = next(iter(getattr(rule, "least", ())), None)
    small = sum(each < (least or -1) for each in people)
    if small:
        raise GuaranteeNotMetError(
            f"{small} areas of column {column!r} have fewer than {least:,} people by the map."
        )
    return least, min(people, default=0.0)


def _file_name(column: str, place: int) -> str:
    name = f"{PLACES}/{column}.geojson"
    return name if check_name(name, PLACES) else f"{PLACES}/place-{place + 1}.geojson"


def _geojson(features: Sequence[dict[str, Any]], rule: PlaceRule) -> str:
    """Return a collection of features, with the unit of x and y of a plane that nobody knows."""
    about = {"type": "FeatureCollection"}
    if rule.outline_unit != "degrees":
        about["unit"] = rule.outline_unit
    lines = ",\n".join(json.dumps(it, ensure_ascii=False, allow_nan=False) for it in features)
    return f'{json.dumps(about)[:-1]}, "features": [\n{lines}\n]}}\n'
