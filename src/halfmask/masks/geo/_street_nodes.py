"""Street nodes: a point becomes a near crossing or bend of the streets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask._errors import DataError
from halfmask.geo import PointMap
from halfmask.geo.nearest import Neighbours
from halfmask.masks.geo._geomask import Geomask

if TYPE_CHECKING:
    from halfmask.geo import Points
    from halfmask.masks.geo._geomask import DrawnPlaces, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class StreetNodes(Geomask):
    """Write a near node of the streets in place of each point.

    Parameters
    ----------
    columns, unit, crs, person, same_within, within, maps, domain, scope
        See `Geomask`.
    nodes
        A map of points, or of lines whose points are taken.
    nearest
        One of so many nearest nodes is drawn, each with the same chance.

    Notes
    -----
    As the street masks of Swanlund and others (2020), with a file in place of their network.

    **Guarantees.** A masked point is a node of the map, one of the `nearest` ones. Equal places of
    a person have equal masked places in each release of the scope with the same map.

    **Edge cases.** With one node, all homes near it are written as it, and how many these are isn't
    counted. Nodes that are equally far all count as near. A home that is a node may stay where it
    is. A map with fewer nodes is an error.

    Examples
    --------
    >>> import polars as pl
    >>> from halfmask.geo import Points
    >>> at = Points(x=np.array([0.0, 100.0]), y=np.zeros(2), unit="metres")
    >>> mask = StreetNodes(
    ...     columns=("x", "y"),
    ...     unit="metres",
    ...     nodes="streets",
    ...     maps={"streets": PointMap(points=at, people=np.ones(2))},
    ... )
    >>> homes = pl.DataFrame({"x": [30.0, 70.0], "y": [9.0, 9.0]})
    >>> mask.fit(homes, bytes(32)).apply(homes, 0)["x"].to_list()
    [0.0, 100.0]
    """

    name: ClassVar[str] = "street-nodes"

    nodes: str = field(metadata={"min_length": 1})
    nearest: int = field(default=1, metadata={"ge": 1, "le": 1000})

    def _masked(self, places: DrawnPlaces) -> Points:
        nodes = self._map(self.nodes, PointMap, places.points).points
        nodes = nodes.take(np.lexsort((nodes.y, nodes.x)))  # whatever the order of the file
        if len(nodes) < self.nearest:
            raise DataError(f"The map {self.nodes!r} has {len(nodes)} nodes for {self.nearest}.")
        near = Neighbours(PointMap(points=nodes, people=np.ones(len(nodes))))
        far = near.radius_to(places.points, self.nearest)

        def draw(which: Ints, attempt: int) -> Points:
            points = places.points.take(which)
            (share,) = places.fractions(1, which=which, attempt=attempt)
            _, chosen = near.between(points, -1.0, far[which], share)
            return self._rounded(nodes.take(chosen))

        return self._tried(places, draw)
