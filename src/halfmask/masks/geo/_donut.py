"""Donut: a point moves in a random direction, by at least one radius and at most another."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from halfmask._errors import DataError, ParameterError
from halfmask.geo import PointMap
from halfmask.geo.nearest import Neighbours
from halfmask.masks.geo._geomask import Geomask, check_rising

if TYPE_CHECKING:
    from halfmask.geo import Points
    from halfmask.masks.geo._geomask import DrawnPlaces, Ints, Numbers

#: The farthest that places may move by density, in metres.
_FARTHEST: Final = 1e6
#: What rounding of a coordinate may add, in metres.
_ROUNDING: Final = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Donut(Geomask):
    """Move each point in a random direction, by a random distance between two radii.

    Parameters
    ----------
    columns, unit, crs, person, same_within, within, maps, domain, scope
        See `Geomask`.
    radius
        The least and the greatest distance in metres.
    k
        In its place: the inner circle round a place holds the first number of `addresses`, the
        outer one the second.
    addresses
        A map of points: homes that could be the one.
    people
        In place of both: how many people live in the inner and in the outer circle, by `density`.
    density
        A map of areas with people.

    Raises
    ------
    ParameterError
        If there isn't exactly one of `radius`, `k` and `people`, or one can't be.

    Notes
    -----
    Donut masking (Hampton and others 2010). Every direction has the same chance, and so has every
    spot of the ring.

    **Guarantees.** A masked point lies in the ring, up to a centimetre; with radii above 50 km up
    to 0.5 % of the distance, for the earth isn't flat. With `k`, at least
    ``k[0]`` addresses are at most as far from the masked point as the place is. They are counted
    for each place, after rounding. Equal places of a person have equal masked places, in
    each release of the scope with the same parameters. Draws are unknown without the key.

    **Edge cases.** Missing places stay missing. A place for which no draw is found, as beyond the
    areas of `within`, is an error. With `same_within`, distances are from the middle of the
    square. Where the second `k` people live at one address, its points stay. Of a place with
    several people, all rows move to one point unless `person` is given.

    Examples
    --------
    >>> import polars as pl
    >>> homes = pl.DataFrame({"x": [0.0, 0.0, None], "y": [0.0, 0.0, None]})
    >>> mask = Donut(columns=("x", "y"), unit="metres", radius=(100.0, 500.0))
    >>> moved = mask.fit(homes, bytes(32)).apply(homes, 0)
    >>> bool(100 <= (moved["x"][0] ** 2 + moved["y"][0] ** 2) ** 0.5 <= 500)
    True
    >>> moved.row(0) == moved.row(1), moved.row(2)
    (True, (None, None))
    """

    name: ClassVar[str] = "donut"
    further: ClassVar[tuple[str, ...]] = ("within-distance",)

    radius: tuple[float, ...] | None = None
    k: tuple[int, ...] | None = None
    addresses: str | None = field(default=None, metadata={"min_length": 1})
    people: tuple[float, ...] | None = None
    density: str | None = field(default=None, metadata={"min_length": 1})

    def _check_own(self) -> None:
        given = [it for it in (self.radius, self.k, self.people) if it is not None]
        if len(given) != 1:
            raise ParameterError(
                "The mask 'donut' has one of 'radius', 'k' and 'people'. "
                f"Got {len(given)} of them.",
                hint="Write radius = [100, 500], in metres.",
            )
        for name in ("radius", "k", "people"):
            pair = getattr(self, name)
            if pair is not None:
                check_rising(whole=name == "k", owner="Donut", **{name: pair})
        for name, named in (("k", "addresses"), ("people", "density")):
            if (getattr(self, name) is None) != (getattr(self, named) is None):
                raise ParameterError(
                    f"The mask 'donut' has {name!r} and {named!r} together, or neither.",
                    hint=f"{named!r} names a map, by which {name!r} is counted.",
                )

    def _masked(self, places: DrawnPlaces) -> Points:
        near = None
        if self.addresses is not None:
            near = Neighbours(self._map(self.addresses, PointMap, places.points))
        inner, outer = self._radii(places.points, near)
        drawn = replace(places, measures=(inner.round(2), outer.round(2)))

        def draw(which: Ints, attempt: int) -> Points:
            share, turn = drawn.fractions(2, which=which, attempt=attempt)
            # Rounding takes the point neither into the hole nor out of the ring.
            room = np.minimum(_ROUNDING, (outer - inner)[which] / 2)
            low, high = inner[which] + room, outer[which] - room
            homes = places.points.take(which)
            found = self._moved(homes, np.sqrt(low**2 + share * (high**2 - low**2)), turn)
            if near is not None and self.k is not None:
                few = near.actual_k(homes, found) < self.k[0]
                found.x[few] = found.y[few] = np.nan
            return found

        asked = "" if self.k is None else f"{self.k[0]} addresses as near as the place"
        return self._tried(places, draw, asked=asked)

    def _radii(self, points: Points, near: Neighbours | None) -> tuple[Numbers, Numbers]:
        """Return the inner and the outer radius of each place, in metres."""
        if near is not None and self.k is not None:
            return near.radius_to(points, self.k[0]), near.radius_to(points, self.k[1])
        if self.people is not None and self.density is not None:
            areas, number = self._areas(self.density, points)
            if areas.people is None:
                raise ParameterError(
                    f"The map {self.density!r} of the mask {self.name!r} has no people.",
                    hint='Write people = "POP": the property that says how many live in an area.',
                )
            with np.errstate(divide="ignore"):
                each = 1e6 * (areas.square_kilometres() / areas.people)[number] / np.pi
            far = int((each * self.people[1] > _FARTHEST**2).sum())
            if far:
                raise DataError(
                    f"{far} of {len(points)} places lie where so few people live that the mask "
                    f"{self.name!r} would move them more than {_FARTHEST / 1000:,.0f} km.",
                    hint="Ask for fewer 'people', or leave these places out.",
                )
            return np.sqrt(each * self.people[0]), np.sqrt(each * self.people[1])
        low, high = self.radius or (0.0, 0.0)
        return np.full(len(points), low), np.full(len(points), high)
