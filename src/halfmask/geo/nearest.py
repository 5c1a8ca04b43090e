"""How many people live near points, by addresses or by areas."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from halfmask._errors import DataError
from halfmask._foreign import need
from halfmask.engines import map_in_order
from halfmask.geo.points import arc_of, straight_of

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.spatial import cKDTree

    Floats = NDArray[np.float64]

    from halfmask.geo._maps import AreaMap, PointMap
    from halfmask.geo.points import Points

_LEAF: Final = 8  # addresses, about
_BLOCK: Final = 1 << 15  # points that are asked about at once
_PAIRS: Final = 1 << 22  # points times near addresses that are held at once
_SMALLEST: Final = 6.3e6  # less than any radius of the earth
_AS_LARGE: Final = 1.000804  # the radius of a polygon of 64 corners over that of its circle
_CLOSE: Final = 1 + 1e-12  # distances that differ by rounding only are equal


class Neighbours:
    """The addresses near points, and the people there.

    Distances are ways on the ground, in metres. Missing points have the result NaN.

    Examples
    --------
    >>> from halfmask.geo import PointMap, Points
    >>> def at(*x: float) -> Points:
    ...     return Points(x=np.array(x), y=np.zeros(len(x)), unit="metres")
    >>> near = Neighbours(PointMap(points=at(0, 1, 2, 3, 4, 5, 7), people=np.ones(7)))
    >>> near.actual_k(homes=at(0, 0, 0), masked=at(1, 2, 3)).tolist()
    [3.0, 5.0, 6.0]
    """

    def __init__(self, addresses: PointMap) -> None:
        need("numba")
        self.points = addresses.points
        self._numbers = np.flatnonzero(self.points.present & (addresses.people > 0))
        if not len(self._numbers):
            raise DataError("The map of addresses has no people.")
        space = _in_three(self.points.take(self._numbers))
        order = np.argsort(_curve(space), kind="stable")
        self._numbers, space = self._numbers[order], space[order]
        self._tree = _grown(space, addresses.people[self._numbers].astype(float))

    def __repr__(self) -> str:
        return f"<Neighbours among {len(self._numbers)} addresses>"

    def radius_to(self, points: Points, k: float) -> Floats:
        """Return the distance within which `k` people live, with those at the point itself."""
        people = float(self._tree[3][1])
        if people < k:
            raise DataError(
                f"The map of addresses has {people:,.6g} people, and k is {k:g}.",
                hint="Take a smaller k, or a map of all addresses.",
            )
        there, asked = self._asked(points)
        straight, left = np.empty(len(there)), np.arange(len(there))
        n_near = int(np.ceil(k * len(self._numbers) / people))
        alike = np.ptp(self._tree[1]) == 0  # then the furthest decides
        while len(left):
            n_near, missed = min(n_near, len(self._numbers)), [left[:0]]
            for some in _blocks(left, max(1, _PAIRS // n_near)):
                ranks = np.arange(n_near if alike else 1, n_near + 1)
                far, which = self._nearest.query(asked[some], ranks, workers=-1)
                enough = alike | (np.cumsum(self._tree[1][which], axis=1) >= k)
                straight[some] = far[np.arange(len(some)), enough.argmax(axis=1)]
                missed.append(some[~enough[:, -1]])
            left, n_near = np.concatenate(missed), 4 * n_near
        found = np.full(len(points), np.nan)
        found[there] = arc_of(straight) if self.points.on_earth else straight
        return found

    @cached_property
    def _nearest(self) -> cKDTree:
        need("scipy")
        from scipy.spatial import cKDTree  # noqa: PLC0415 # scipy loads late

        return cKDTree(self._tree[0])

    def count_within(self, points: Points, metres: Floats | float) -> Floats:
        """Return how many people live at most so far from each point."""
        return self.between(points, -1.0, metres)[0]

    def actual_k(self, homes: Points, masked: Points) -> Floats:
        """Return how many people live at most as far from masked points as their homes are.

        Those at a home count where the map has it: one that it lacks adds nobody.
        """
        return self.count_within(masked, masked.metres_to(homes))

    def between(
        self,
        points: Points,
        above: Floats | float,
        metres: Floats | float,
        drawn: Floats | None = None,
    ) -> tuple[Floats, NDArray[np.int64]]:
        """Return how many people live further than one distance and at most another.

        And the number of the address where one of them lives, -1 without anyone: numbers from 0 to
        below 1 choose the person, each with the same chance.
        """
        from halfmask.kernels.geo.tree import sums_between  # noqa: PLC0415 # as above

        there, asked = self._asked(points)
        low, high = (np.broadcast_to(it, len(points))[there] for it in (above, metres))
        if self.points.on_earth:
            low, high = np.where(low < 0, low, straight_of(low)), straight_of(high)
        limits = np.where(low < 0, -1.0, (low * _CLOSE) ** 2), (high * _CLOSE) ** 2

        def passed(wanted: Floats) -> list[NDArray[Any]]:
            parts = zip(*map(_blocks, (asked, *limits, wanted)), strict=True)
            done = map_in_order(
                parts, lambda it: sums_between(it[0], it[1], it[2], it[3], *self._tree)
            )
            return [np.concatenate(it) for it in zip(*done, strict=True)]

        people, numbers = np.full(len(points), np.nan), np.full(len(points), -1)
        if len(there):
            people[there] = passed(np.full(len(there), np.inf))[0]
        if len(there) and drawn is not None:
            place = passed(drawn[there] * people[there] / _CLOSE)[1]  # sums differ by rounding
            numbers[there] = np.where(place < 0, -1, self._numbers[place])
        return people, numbers

    def _asked(self, points: Points) -> tuple[NDArray[np.int64], Floats]:
        """Return which points aren't missing, and where: near ones follow each other."""
        there = np.flatnonzero(points.present)
        own = points.take(there).in_system(self.points.unit, self.points.crs)
        space = _in_three(own)
        order = np.argsort(_curve(space), kind="stable")
        return there[order], space[order]


def k_by_areas(areas: AreaMap, homes: Points, masked: Points) -> Floats:
    """Return how many people live at most as far from masked points as their homes are.

    The people of an area are spread evenly over it; NaN for missing points.
    """
    need("shapely")
    import shapely  # noqa: PLC0415 # an extra

    if areas.shapes is None or areas.people is None:
        raise DataError("An estimate of k needs a map of areas with shapes and people.")
    there = np.flatnonzero(masked.present & homes.present)
    radii = masked.take(there).metres_to(homes.take(there))
    centres = masked.take(there).in_system(areas.unit, areas.crs)
    counted, tree = np.zeros(len(there)), shapely.STRtree(areas.shapes)
    for some in _blocks(np.arange(len(there))):
        boxes, owner = _boxes(centres.take(some), radii[some])
        box, area = tree.query(shapely.box(*boxes.T))
        disc, area = np.unique(np.stack((some[owner[box]], area)), axis=1)
        shapes = _seen_from(centres.take(disc), areas.shapes[area])
        far = straight_of(radii[disc]) if areas.unit == "degrees" else radii[disc]
        far = np.maximum(far, 1e-6) * _AS_LARGE
        circles = shapely.buffer(shapely.Point(0, 0), far, quad_segs=16)
        share = shapely.area(shapely.intersection(shapes, circles)) / shapely.area(shapes)
        counted += np.bincount(disc, share * areas.people[area], minlength=len(there))
    found = np.full(len(masked), np.nan)
    found[there] = counted
    return found


def _boxes(centres: Points, radii: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return boxes that hold circles, in the unit of their centres, and whose they are."""
    owner = np.arange(len(centres))
    if not centres.on_earth:
        edge = centres.moved(radii, radii)
        wide, high = edge.x - centres.x, edge.y - centres.y
        turns = [0]
    else:
        high = np.degrees(radii / _SMALLEST)
        across = np.sin(np.radians(np.minimum(high, 90)))
        widest = np.cos(np.radians(np.minimum(np.abs(centres.y) + high, 90)))
        wide = np.where(across < widest, np.degrees(across / np.maximum(widest, 1e-9)) * 2, 360)
        turns = [-360, 0, 360]
    box = (centres.x - wide, centres.y - high, centres.x + wide, centres.y + high)
    found = [np.add(np.column_stack(box), [turn, 0, turn, 0]) for turn in turns]
    return np.concatenate(found), np.tile(owner, len(turns))


def _seen_from(centres: Points, shapes: Any) -> Any:  # noqa: ANN401 # arrays of shapely
    """Return shapes in metres round centres: Lambert's azimuthal projection keeps areas."""
    import shapely  # noqa: PLC0415 # an extra

    at, which = shapely.get_coordinates(shapes, return_index=True)
    here = centres.take(which)
    away = replace(here, x=at[:, 0], y=at[:, 1]).seen_from(here)
    if centres.on_earth:
        far = np.hypot(*away.T)
        away *= (straight_of(far) / np.maximum(far, 1e-9))[:, None]
    seen = shapely.set_coordinates(np.array(shapes), away)
    invalid = ~shapely.is_valid(seen)  # round a pole
    seen[invalid] = shapely.make_valid(seen[invalid])
    return seen


def _in_three(points: Points) -> Floats:
    """Return points in space; those of a plane have the height 0."""
    space = points.in_space()
    return np.column_stack((space, np.zeros((len(space), 3 - space.shape[1]))))


def _grown(space: Floats, people: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return what `sums_between` walks through: points, people, boxes and sums of each node."""
    first = 1 << (len(people) // _LEAF).bit_length()  # the number of the first leaf
    starts = len(people) * np.arange(first) // first
    boxes, sums = np.empty((2 * first, 6)), np.empty(2 * first)
    sums[first:] = np.add.reduceat(people, starts)
    # The largest of negative coordinates is the smallest.
    boxes[first:] = np.maximum.reduceat(np.hstack((-space, space)), starts)
    while first > 1:
        first //= 2
        both = boxes[2 * first : 4 * first], sums[2 * first : 4 * first]
        boxes[first : 2 * first] = np.maximum(both[0][::2], both[0][1::2])
        sums[first : 2 * first] = both[1][::2] + both[1][1::2]
    boxes[:, :3] *= -1
    return space, people, boxes, sums


def _blocks(values: NDArray[Any], size: int = _BLOCK) -> list[NDArray[Any]]:
    return [values[i : i + size] for i in range(0, len(values), size)]


def _curve(space: Floats) -> NDArray[np.int64]:
    """Return numbers, 21 bits of each coordinate by turns: near points have near ones."""
    low, high = space.min(axis=0, initial=np.inf), space.max(axis=0, initial=-np.inf)
    cells = ((space - low) / np.maximum(high - low, 1e-9) * (2**21 - 1)).astype(np.int64)
    found = np.zeros(len(space), np.int64)
    for bit in range(21):
        for axis in range(3):
            found |= (cells[:, axis] >> bit & 1) << (3 * bit + axis)
    return found
