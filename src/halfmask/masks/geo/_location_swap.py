"""Location swap: a point becomes the place of another row, or another address, near it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from halfmask._errors import DataError
from halfmask.geo import PointMap
from halfmask.geo.nearest import Neighbours
from halfmask.masks.geo._geomask import Geomask, check_rising

if TYPE_CHECKING:
    from halfmask.geo import Points
    from halfmask.masks.geo._geomask import DrawnPlaces, Ints

#: An address so near, in metres, is the place itself in other digits.
_SAME: Final = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class LocationSwap(Geomask):
    """Write another row's place, or another address, between two radii of each point.

    Parameters
    ----------
    columns, unit, crs, person, same_within, within, maps, domain, scope
        See `Geomask`.
    radius
        The least and the greatest distance of the other place, in metres.
    addresses
        A map of points to choose from; by default the places of the table's other rows.

    Notes
    -----
    Location swapping (Zhang and others 2017). Each person of `addresses` between the radii is
    chosen with the same chance, or else each place of the table.

    **Guarantees.** No place is written for itself, and with `person` none of the same person. Equal
    places of a person have equal masked places. They also have it in other releases of the scope
    with the same `addresses`. Without `addresses`, they depend on the other rows, not on their
    order.

    **Edge cases.** Places without another one between the radii are an error. An address file can
    have a home some metres off: take a least radius that is larger. What is written is a place
    where others live, who may be taken for the person.

    Examples
    --------
    >>> import polars as pl
    >>> homes = pl.DataFrame({"x": [0.0, 300.0, None], "y": [0.0, 0.0, None]})
    >>> mask = LocationSwap(columns=("x", "y"), unit="metres", radius=(100, 500))
    >>> mask.fit(homes, bytes(32)).apply(homes, 0).rows()
    [(300.0, 0.0), (0.0, 0.0), (None, None)]
    """

    name: ClassVar[str] = "location-swap"
    further: ClassVar[tuple[str, ...]] = ("places-of-others", "within-distance")

    radius: tuple[float, float]
    addresses: str | None = field(default=None, metadata={"min_length": 1})

    def _check_own(self) -> None:
        check_rising(owner="LocationSwap", radius=self.radius)

    @property
    def draws_by_rows(self) -> bool:
        """Whether the places of the table are those that are written."""
        return self.addresses is None

    def _masked(self, places: DrawnPlaces) -> Points:
        if not len(places):
            return places.points
        whose = np.array(places.persons or [""] * len(places))
        others = PointMap(points=places.points, people=np.ones(len(places)))
        if self.addresses is not None:
            others = self._map(self.addresses, PointMap, places.points)
        order = np.lexsort((others.points.y, others.points.x))
        if own_rows := self.addresses is None:
            order = np.lexsort((whose, others.points.y, others.points.x))
        # Whatever the order of rows, a draw chooses the same one.
        others = PointMap(points=others.points.take(order), people=others.people[order])
        near = Neighbours(others)

        def draw(which: Ints, attempt: int) -> Points:
            points = places.points.take(which)
            (share,) = places.fractions(1, which=which, attempt=attempt)
            found, chosen = near.between(points, max(self.radius[0], _SAME), self.radius[1], share)
            alone = int((found == 0).sum())
            if alone:
                raise DataError(
                    f"{alone} of {len(places)} places have no other one from {self.radius[0]:g} to "
                    f"{self.radius[1]:g} metres away.",
                    hint="Give a larger radius, or a map of addresses.",
                )
            made = others.points.take(chosen)
            if own_rows and places.persons is not None:
                own = whose[which] == whose[order[chosen]]
                made = replace(made, x=np.where(own, np.nan, made.x))
            return self._rounded(made)

        return self._tried(places, draw, asked="a place of another person")
