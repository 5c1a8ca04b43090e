"""The areas that a release names: their outlines as GeoJSON, and what their size costs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from halfmask._errors import GuaranteeNotMetError
from halfmask._facts import Facts
from halfmask.anonymize import Level
from halfmask.claims import ClassClaim, Evidence
from halfmask.claims.manifest import check_name
from halfmask.claims.table_claims import AREAS_OF_PLACES, PLACES
from halfmask.geo import Points
from halfmask.geo.points import arc_of
from halfmask.microdata._writing import Support

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize import CellCounts, Coding, Plan
    from halfmask.geo import PlaceRule
    from halfmask.microdata._policy import Policy

_ROOT: Final = "*"
#: What ends the label of a class in which places are missing, too.
_MIXED: Final = " or missing"
#: So many rows are drawn to measure generalized places: each takes two outlines.
_DRAWN: Final = 2000


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
        own = label if label in level_of else label.removesuffix(_MIXED)
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
        outline = None if label is None else rule.outline(label.removesuffix(_MIXED))
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
