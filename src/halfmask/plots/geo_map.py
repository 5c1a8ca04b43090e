"""Maps: areas, shaded by what is counted in them, and points before and after.

Longitudes and latitudes are drawn by Lambert's azimuthal equal-area projection (Snyder 1987, page
182) about the middle of what is drawn, so that poles and the antimeridian need nothing special.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from halfmask.plots import svg
from halfmask.plots.svg import safe, text, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    #: The rings of an area on the drawing, what it is called, and what is counted in it.
    _Outline = tuple[list[Floats], str, float | None]

#: More areas, or points of one series, are joined in squares: a page stays small.
MOST_SHAPES: Final = 2_000
#: More points than these aren't joined with their originals by lines.
_MOST_LINES: Final = 300
_EARTH: Final = 6_371_008.8
_WIDE: Final = svg.WIDTH - 2 * (svg.MARGIN + svg.INSET)
_LOW, _HIGH, _LEGEND = 260.0, 600.0, 64.0
_STEPS: Final = 5
#: Corners of an area that are nearer to the one before aren't drawn, in units of the drawing.
_NEAR: Final = 0.6


@dataclass(frozen=True, slots=True)
class MapArea:
    """An area: its geometry as GeoJSON has it, what it is called, and what is counted in it."""

    geometry: Mapping[str, Any]
    label: str = ""
    count: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GeoMap:
    """A map of areas and of points before and after; the same ones give the same bytes."""

    name: str
    title: str
    description: str = ""
    areas: Sequence[MapArea] = ()  # coarse ones are drawn below fine ones
    before: Floats | None = None  # shape (n, 2), missing points are NaN
    after: Floats | None = None
    metres: float | None = None  # of a unit of x and y; None: longitudes and latitudes
    counted: str = "rows"
    rows: ClassVar[tuple[()]] = ()

    def svg(self) -> str:
        """Return the map as an SVG element of a page, in the page's colours."""
        name, (height, parts) = self._id, self._drawn()
        return (
            f'<svg class="chart" viewBox="0 0 {_WIDE} {height:.0f}" role="img" '
            f'aria-labelledby="{name}-title {name}-desc">'
            f'<title id="{name}-title">{safe(self.title)}</title>'
            f'<desc id="{name}-desc">{safe(self.description)}</desc>{"".join(parts)}</svg>'
        )

    def drawing(self) -> str:
        """Return the map as a file of its own, in a light and a dark scheme."""
        height, parts = self._drawn()
        inside = f'<g transform="translate({svg.MARGIN + svg.INSET} {84 + svg.INSET})">'
        head = [
            text(svg.MARGIN, 34, "halfmask map", "soft"),
            text(svg.MARGIN, 64, wrapped(self.title, 62)[0], "title"),
            svg.card(84, height + 2 * svg.INSET),
        ]
        whole = height + 84 + 2 * svg.INSET + svg.MARGIN
        return svg.drawing(
            self._id,
            self.title,
            [*head, inside, *parts, "</g>"],
            height=whole,
            described=self.description,
        )

    @property
    def _id(self) -> str:
        return safe("-".join(self.name.split()))

    def _drawn(self) -> tuple[float, list[str]]:
        """Return the height of the map with its legend, and its shapes."""
        rings = [_rings(each.geometry) for each in self.areas]
        points = [
            np.empty((0, 2)) if it is None else np.asarray(it, dtype=float)
            for it in (self.before, self.after)
        ]
        every = np.concatenate([np.empty((0, 2)), *(it for each in rings for it in each), *points])
        every = every[np.isfinite(every).all(axis=1)]
        if not len(every):
            return 40.0, [text(0, 24, "There is no place to draw.", "soft")]
        flat = _flattened(every) if self.metres is None else (lambda xy: xy * self.metres)
        put, height, scale = _fitted(flat(every), flat)
        side = sqrt(_WIDE * height / MOST_SHAPES)
        outlines = [
            ([put(it) for it in own], each.label, each.count)
            for own, each in zip(rings, self.areas, strict=True)
            if own
        ]
        if len(outlines) > MOST_SHAPES:
            outlines = _joined(outlines, side)
        parts, shades = _areas(outlines)
        before, after = map(put, points)
        parts += _lines(before, after) if 0 < len(before) == len(after) <= _MOST_LINES else []
        parts += [*_dots(before, "before", side), *_dots(after, "after", side)]
        parts += [*_scale(height + 18, scale), *self._legend(shades, height)]
        return height + _LEGEND, parts

    def _legend(self, shades: Sequence[tuple[float, float]], height: float) -> list[str]:
        """Return what the shades and the points are."""
        parts, y = [], height + _LEGEND - 8
        x = 0.0
        for number, (low, high) in enumerate(shades):
            words = f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}"
            if number == len(shades) - 1:
                words += f" {self.counted}"
            shade = f'fill-opacity="{_shade(number):.2f}" d="M{x:.1f} {y - 10:.1f}h13v13h-13z"'
            parts += [f'<path class="after" {shade}/>', text(x + 19, y + 1, words, "small")]
            x += 34 + 6.4 * len(words)
        x, y = _WIDE / 2, height + 18
        for points, series, words in (
            (self.before, "before", "original"),
            (self.after, "after", "released"),
        ):
            if points is not None:
                parts += [_dot(x, y - 3, 4, series), text(x + 14, y + 1, words, "small")]
                x += 84
        return parts


def _rings(geometry: Mapping[str, Any]) -> list[Floats]:
    """Return the rings of polygons; of each point, a ring without extent."""
    if geometry["type"] == "GeometryCollection":
        return [ring for each in geometry["geometries"] for ring in _rings(each)]
    found: Any = geometry["coordinates"]
    if geometry["type"].startswith("Multi"):
        one = geometry["type"].removeprefix("Multi")
        return [it for each in found for it in _rings({"type": one, "coordinates": each})]
    rings = [[found]] if geometry["type"] == "Point" else found
    return [np.array([it[:2] for it in ring], dtype=float).reshape(-1, 2) for ring in rings]


def _flattened(every: Floats) -> Callable[[Floats], Floats]:
    """Return the projection about the middle of all coordinates, in metres."""

    def on_sphere(places: Floats) -> Floats:
        lon, lat = np.radians(places).T
        return np.column_stack((np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)))

    low, high = on_sphere(every).min(axis=0), on_sphere(every).max(axis=0)
    middle = (low + high) / 2
    length = float(np.linalg.norm(middle))
    up = middle / length if length > 1e-9 else np.array([1.0, 0.0, 0.0])
    lon = np.arctan2(up[1], up[0])
    east = np.array([-np.sin(lon), np.cos(lon), 0.0])
    north = np.cross(up, east)

    def flat(places: Floats) -> Floats:
        found = on_sphere(places)
        stretch = np.sqrt(2 / np.maximum(1 + found @ up, 1e-9))
        return np.asarray(_EARTH * stretch[:, None] * (found @ np.column_stack((east, north))))

    return flat


def _fitted(
    every: Floats, flat: Callable[[Floats], Floats]
) -> tuple[Callable[[Floats], Floats], float, float]:
    """Return what puts coordinates on the drawing, its height, and its units for a metre."""
    low, high = every.min(axis=0), every.max(axis=0)
    wide, tall = np.maximum(high - low, 100.0) * 1.04  # one address has a surrounding, too
    scale = min(_WIDE / wide, _HIGH / tall)
    height = max(_LOW, tall * scale)
    middle, centre = (low + high) / 2, np.array([_WIDE / 2, height / 2])

    def put(places: Floats) -> Floats:
        return np.asarray(centre + (flat(places) - middle) * (scale, -scale))

    return put, height, scale


def _joined(outlines: Sequence[_Outline], side: float) -> list[_Outline]:
    """Return squares with what is counted in the areas whose middle is in each."""
    sums: dict[tuple[float, ...], float | None] = {}
    for rings, _, count in outlines:
        at = tuple((np.concatenate(rings).mean(axis=0) // side).tolist())
        sums[at] = sums.get(at) if count is None else (sums.get(at) or 0.0) + count
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    return [([(corners + at) * side], "", count) for at, count in sorted(sums.items())]


def _shade(step: int) -> float:
    return 0.14 + 0.17 * step


def _areas(outlines: Sequence[_Outline]) -> tuple[list[str], list[tuple[float, float]]]:
    """Return the areas, the largest below, and from where to where each shade goes."""
    counts = [count for *_, count in outlines if count is not None]
    edges = np.unique(counts)
    shades = [(it, it) for it in edges.tolist()]
    if len(edges) > _STEPS:
        shares = np.linspace(0, 1, _STEPS + 1)
        shades = list(pairwise(np.unique(np.quantile(counts, shares, method="nearest")).tolist()))
    parts = []
    for rings, label, count in sorted(outlines, key=lambda it: -sum(map(_ground, it[0]))):
        drawn, fill, words = _path(rings), "0", label
        if count is not None:
            step = np.searchsorted([low for low, _ in shades[1:]], count, side="right")
            fill, words = f"{_shade(int(step)):.2f}", f"{label}: {count:,.0f}"
            # The shade of an area below doesn't add to its own.
            parts.append(f'<path class="ground" fill="{svg.CARD}" d="{drawn}"/>')
        parts.append(
            f'<path class="after area" fill-opacity="{fill}" stroke="{svg.RULE}" d="{drawn}">'
            f"{f'<title>{safe(words)}</title>' if label else ''}</path>"
        )
    return parts, shades


def _ground(ring: Floats) -> float:
    """Return how much of the drawing a ring encloses."""
    x, y = ring.T
    return abs(float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))) / 2


def _path(rings: Sequence[Floats]) -> str:
    drawn = []
    for ring in rings:
        # Of corners in a row that are in one cell of a fine raster the first is drawn.
        cells = np.floor(ring / _NEAR)
        kept = ring[np.append(True, (cells[1:] != cells[:-1]).any(axis=1))]
        if len(kept) < 3:  # a centre, or smaller than what can be seen
            drawn.append(f"M{kept[0, 0] - 2:.1f} {kept[0, 1] - 2:.1f}h4v4h-4z")
        else:
            drawn.append("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in kept) + "z")
    return "".join(drawn)


def _dot(x: float, y: float, radius: float, series: str) -> str:
    return f'<circle class="{series}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.2g}"/>'


def _dots(marks: Floats, series: str, side: float) -> list[str]:
    """Return a dot for each point; of many points, one for each square, larger for more of them."""
    marks = marks[np.isfinite(marks).all(axis=1)]
    radii = np.full(len(marks), 3.2 if len(marks) <= _MOST_LINES else 2.0)
    if len(marks) > MOST_SHAPES:
        cells, many = np.unique(np.floor(marks / side), axis=0, return_counts=True)
        marks, radii = (cells + 0.5) * side, np.maximum(0.6, np.sqrt(many / many.max()) * side / 2)
    return [_dot(x, y, radius, series) for (x, y), radius in zip(marks, radii, strict=True)]


def _lines(before: Floats, after: Floats) -> list[str]:
    """Return from where to where points were moved, if they are few."""
    ends = np.column_stack((before, after))
    drawn = "".join(
        f"M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}"
        for x, y, to_x, to_y in ends[np.isfinite(ends).all(axis=1)]
    )
    return [f'<path class="floor" stroke="{svg.GREY}" stroke-opacity=".6" d="{drawn}"/>']


def _scale(y: float, scale: float) -> list[str]:
    """Return a bar as long as a round number of metres, and an arrow to the north."""
    most = 160 / scale
    power = 10.0 ** (ceil(np.log10(most)) - 1)
    long = max(it * power for it in (1, 2, 5) if it * power <= most or it == 1)
    words = f"{long:,.0f} m" if long < 1000 else f"{long / 1000:,.0f} km"
    end = long * scale
    bar = f"M0 {y - 4:.1f}v4h{end:.1f}v-4"
    arrow = f"M{_WIDE - 8} {y - 12:.1f}l5 14l-5-4l-5 4z"
    return [
        f'<path class="floor" fill="none" stroke="{svg.INK}" d="{bar}"/>',
        text(end + 8, y + 1, words, "small"),
        f'<path class="floor" fill="{svg.SOFT}" d="{arrow}"/>',
        text(_WIDE - 20, y + 1, "N", "small", end=True),
    ]
