"""Voronoi: a point moves to the nearest edge between its own place and the next ones."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
import polars as pl

from halfmask._errors import DataError
from halfmask._foreign import need
from halfmask.geo import PointMap
from halfmask.masks.geo._geomask import Geomask

if TYPE_CHECKING:
    from halfmask.geo import Points
    from halfmask.masks.geo._geomask import DrawnPlaces, Numbers

#: Next places that are looked at first.
_NEXT: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class VoronoiEdges(Geomask):
    """Move each point to the nearest edge of its Voronoi cell.

    Parameters
    ----------
    columns, unit, crs, person, same_within, within, maps, domain, scope
        See `Geomask`. It doesn't take `within`.
    addresses
        A map of points whose cells are taken; by default those of the table's own places.

    Notes
    -----
    Seidl and others (2015). All spots of a cell are nearer to its place than to any other place.

    **Guarantees.** A masked point is as far from two different places: the one whose cell has the
    point, and another one. Nothing is drawn.

    **Edge cases.** A table or a map with one place is an error. An attacker with all places finds
    the two, so two people at most may be meant. Where homes stand close, points hardly move.

    Examples
    --------
    >>> homes = pl.DataFrame({"x": [0.0, 100.0, 400.0], "y": [0.0, 0.0, 0.0]})
    >>> mask = VoronoiEdges(columns=("x", "y"), unit="metres")
    >>> mask.fit(homes, bytes(32)).apply(homes, 0)["x"].to_list()
    [50.0, 50.0, 250.0]
    """

    name: ClassVar[str] = "voronoi"
    further: ClassVar[tuple[str, ...]] = ("between-two-places",)
    without: ClassVar[tuple[str, ...]] = ("within",)

    addresses: str | None = field(default=None, metadata={"min_length": 1})

    @property
    def draws_by_rows(self) -> bool:
        """Whether the places of the table bound the cells."""
        return self.addresses is None

    def _masked(self, places: DrawnPlaces) -> Points:
        need("scipy")
        sites = places.points
        if self.addresses is not None:
            sites = self._map(self.addresses, PointMap, sites).points
        different = pl.DataFrame({"x": sites.x + 0.0, "y": sites.y + 0.0}).unique()
        if different.height < 2 and len(places):
            raise DataError("The mask 'voronoi' needs two different places.")
        sites = replace(sites, x=different["x"].to_numpy(), y=different["y"].to_numpy())
        edges = places.points.below(_edges(places.points.in_space(), sites.in_space()))
        return self._rounded(edges)


def _edges(points: Numbers, sites: Numbers) -> Numbers:
    """Return the nearest spot of each point's cell where another site is as near as its own."""
    from scipy.spatial import cKDTree  # noqa: PLC0415 # scipy loads late

    found, left, tree = np.array(points), np.arange(len(points)), cKDTree(sites)
    near = min(_NEXT, len(sites))
    while len(left):
        here = points[left]
        apart, which = tree.query(here, near, workers=-1)
        own, others = sites[which[:, :1]], sites[which[:, 1:]]
        between = np.linalg.norm(others - own, axis=2)
        # How far the plane between the two sites is. The nearest such plane bounds the cell.
        away = (apart[:, 1:] ** 2 - apart[:, :1] ** 2) / (2 * between)
        best = away.argmin(axis=1)
        row = np.arange(len(left))
        step = (away[row, best] / between[row, best])[:, None]
        found[left] = here + (others[row, best] - own[:, 0]) * step
        # The plane of a site that is further than all these is at least so far.
        surely = 2 * away[row, best] <= apart[:, -1] - apart[:, 0]
        left = left[~surely] if near < len(sites) else left[:0]
        near = min(4 * near, len(sites))
    return found
