"""The outlines of places: every area that the data names, and how many people live there."""

from __future__ import annotations

import json
import math
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from halfmask._errors import VerificationError
from halfmask.verifier.tables._findings import Finding, compare_rows
from halfmask.verifier.tables._support import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from halfmask.claims import ClassClaim
    from halfmask.verifier.tables._files import StoredRows

#: The labels of everywhere: it has no outline, and people beyond number.
_ROOTS: Final = ("*", "* or missing")
#: How deep the positions of each kind of geometry lie, and how many a line of it has at least.
_KINDS: Final = {
    "Point": (0, 1),
    "MultiPoint": (1, 1),
    "Polygon": (2, 4),
    "MultiPolygon": (3, 4),
}


def check_outlines(claim: ClassClaim, stored: StoredRows, support: Mapping[str, Path]) -> Finding:
    """Count the areas of a place in the data, and look each up in the file of outlines."""
    finding = Finding()
    least = claim.parameters.get("least", 0)
    if (
        claim.column is None
        or claim.support not in support
        or set(claim.parameters) - {"least"}
        or not isinstance(least, int)
        or (claim.unit, claim.basis) != ("row", "counted")
    ):
        finding.reasons.append("it isn't as claims of its model are, or lacks its file")
        return finding
    rows = stored.fold(partial(_rows_of_labels, claim.column), _added)
    try:
        areas = _read_areas(support[str(claim.support)])
    except VerificationError as error:
        finding.reasons.append(f"{error.what[0].lower()}{error.what[1:].rstrip('.')}")
        return finding
    finding.counted = finding.wildcard = counted = _compare(finding, rows, areas, least)
    if claim.evidence.achieved > counted:
        finding.reasons.append("its evidence states a better level than was counted")
    compare_rows(finding, claim)
    return finding


def _compare(
    finding: Finding,
    rows: dict[str, int],
    areas: Mapping[str, tuple[float | None, int]],
    least: int,
) -> float:
    """Return the fewest people, or how many areas there are; note where data and file differ."""
    # CSV files have an apostrophe before what may be a formula.
    named = {each if each in areas else each.removeprefix("'"): n for each, n in rows.items()}
    lacking, unused = len(named.keys() - areas), len(areas.keys() - named.keys())
    known = {each: areas[each] for each in named if each in areas}
    miscounted = sum(rows != named[each] for each, (_, rows) in known.items())
    people = [it[0] for each, it in known.items() if each not in _ROOTS]
    fewest = min((-math.inf if each is None else each for each in people), default=math.inf)
    finding.words = f"{len(known)} of {len(rows)} areas of the data have an outline in its file"
    if least and math.isfinite(fewest):
        finding.words += f", and by the owner's map {fewest:,.0f} people or more live in each"
    faults = {
        f"its file lacks {lacking} areas that the data has and has {unused} others": (
            lacking or unused or len(named) < len(rows)
        ),
        f"its file has another number of rows for {miscounted} areas": miscounted,
        f"areas have fewer than {least} people, or nobody says how many": least and fewest < least,
    }
    finding.reasons += [fault for fault, holds in faults.items() if holds]
    finding.classes, finding.rows = len(rows), sum(rows.values())
    finding.smallest = min(rows.values(), default=0)
    return fewest if least else float(len(rows))


def _rows_of_labels(column: str, table: pl.LazyFrame) -> dict[str, int]:
    labels = table.select(pl.col(column).cast(pl.String)).drop_nulls()
    return dict(labels.group_by(column).len().collect(engine="streaming").iter_rows())


def _added(left: dict[str, int], right: dict[str, int]) -> dict[str, int]:
    return {label: left.get(label, 0) + right.get(label, 0) for label in {**left, **right}}


def _read_areas(path: Path) -> dict[str, tuple[float | None, int]]:
    """Return the people and rows of each label; all areas but the root have an outline."""
    if path.stat().st_size > MAX_BYTES:
        raise VerificationError("Its file is larger than outlines can be.")
    try:
        features = json.loads(path.read_bytes())["features"]
        areas = dict(map(_area, features))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise VerificationError("Its file isn't GeoJSON with a label for each area.") from None
    if len(areas) < len(features):
        raise VerificationError("Its file names an area twice.")
    return areas


def _area(feature: Any) -> tuple[str, tuple[float | None, int]]:  # noqa: ANN401 # JSON of anybody
    own, geometry = feature["properties"], feature["geometry"]
    label, people, rows = own["label"], own.get("people"), own["rows"]
    if not isinstance(label, str) or feature["type"] != "Feature":
        raise TypeError
    if label not in _ROOTS:
        _check_positions(geometry["coordinates"], *_KINDS[geometry["type"]])
    if people is not None and not (type(people) in {int, float} and people >= 0):
        raise TypeError
    return label, (people, rows)


def _check_positions(found: Any, depth: int, least: int) -> None:  # noqa: ANN401 # the same
    """Raise unless there are positions, of two finite numbers each, at a depth."""
    if depth:
        if not isinstance(found, list) or len(found) < (least if depth == 1 else 1):
            raise TypeError
        for each in found:
            _check_positions(each, depth - 1, least)
    elif len(found) != 2 or not all(type(it) in {int, float} and math.isfinite(it) for it in found):
        raise TypeError
