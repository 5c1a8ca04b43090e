"""Areas of a map, merged with their neighbours where few people live, and what they are part of."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import polars as pl

from halfmask._errors import DataError, ParameterError
from halfmask.data import Hierarchy, leaf_text
from halfmask.geo._maps import AreaMap, PointMap
from halfmask.geo._place_rule import (
    PlaceRule,
    check_enough,
    check_known,
    check_people,
    rising,
    rooted,
)
from halfmask.geo.points import Points

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.geo.points import Unit

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


_COVER: Final = "Give a map that covers all places, or declare its reach in metres."
_LOST: Final = "Codes that were stored as numbers have lost zeros: read them as texts."
#: What releases write for everywhere, and at the end for classes that lack some places.
_RESERVED: Final = r"^\*$| or missing$"
_UNEQUAL: Final = (
    "Name areas alike in both maps: codes that were stored as numbers have lost zeros in front. "
    "Leave rows out where nobody is counted."
)


class _Level(NamedTuple):
    """The regions of a level: of which number each area is, and their labels."""

    of: Ints
    labels: list[str]


@dataclass(frozen=True)
class Areas(PlaceRule):
    """Areas of a map, their parents, and the root ``"*"`` above.

    Parameters
    ----------
    areas
        The map.
    people
        Where people live, or how many live in each area; by default what `areas` says.
    least
        How many people live at least in each region of the finest levels, and in each parent.
        Without it the finest level has the areas themselves.

    Raises
    ------
    DataError
        If fewer people live on the whole map.

    Notes
    -----
    The region with the fewest people joins the one with the fewest that it touches, or the nearest
    if it touches none, until each has enough. Regions stay within their parent; a parent with too
    few people joins another one first. The lowest name of an area and the number of others name a
    region. Areas whose people aren't known belong to no region.
    """

    areas: AreaMap
    people: PointMap | AreaMap | None = None
    least: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "least", rising(self.least, owner="Areas"))
        if not isinstance(self.areas, AreaMap):
            raise ParameterError("The 'areas' parameter of Areas must be a map of named areas.")
        named = pl.concat([self.areas.names, *self.areas.parents])
        if reserved := int(named.str.contains(_RESERVED).sum()):
            raise DataError(
                f"{reserved} names of areas are '*' or end in ' or missing', as the labels of "
                "everywhere and of missing places do.",
                hint="Choose other names in the file of the map.",
            )
        if self.least or self.people is not None:
            people = self.areas if self.people is None else self.people
            check_people(people, AreaMap, PointMap, owner="Areas")
        if self.least and self._people is not None:
            check_enough(float(np.nansum(self._people)), self.least[-1], owner="Areas")

    def locate(self, points: Points) -> pl.Series:
        """Return the finest region of each point; see `PlaceRule`."""
        there = points.present
        numbers = np.full(len(points), -1)
        numbers[there] = self.areas.locate(points.take(there))
        return self._labels(numbers, there, "points lie")

    def of_codes(self, codes: pl.Series, *, column: str) -> pl.Series:
        """Return the finest region of each name of an area; see `PlaceRule`."""
        texts = leaf_text(codes)
        numbers = texts.replace_strict(self._numbers, default=-1, return_dtype=pl.Int64)
        there = texts.is_not_null().to_numpy()
        hint = _LOST if codes.dtype.is_numeric() else _COVER
        return self._labels(numbers.to_numpy(), there, f"values of column {column!r} lie", hint)

    def build(self, values: pl.Series, *, column: str) -> Hierarchy:
        """Build the hierarchy of regions, or of names of areas; see `PlaceRule`."""
        texts = leaf_text(values)
        finest = self._levels[0]
        areas = {finest.labels[it]: number for number, it in enumerate(finest.of) if it >= 0}
        are_names = not all(it in areas for it in texts)
        if are_names:
            areas = {name: it for name, it in self._numbers.items() if finest.of[it] >= 0}
        check_known([it in areas for it in texts], column, "areas")
        at = [areas[it] for it in texts]
        levels = ([level.labels[level.of[it]] for it in at] for level in self._levels)
        return rooted((*([texts] if are_names else []), *levels), column)

    def outline(self, label: str) -> dict[str, Any] | None:
        """Return the borders of a region, or the centres of its areas."""
        numbers = self._members.get(label)
        return None if numbers is None else self.areas.outline(numbers)

    @property
    def outline_unit(self) -> Unit:
        """Degrees if the reference system of the map is known."""
        return self.areas.unit if self.areas.crs is None else "degrees"

    def people_of(self, label: str) -> float | None:
        """Return how many people live in a region."""
        if self._people is None or label not in self._members:
            return None
        people = float(self._people[self._members[label]].sum())
        return None if np.isnan(people) else people

    def _labels(
        self, numbers: Ints, there: NDArray[np.bool_], what: str, hint: str = _COVER
    ) -> pl.Series:
        """Return the label of the region of each area."""
        finest = self._levels[0]
        outside = int((there & (numbers < 0)).sum())
        if outside:
            raise DataError(f"{outside} {what} in no area of the map.", hint=hint)
        region = np.where(numbers >= 0, finest.of[numbers], -1)
        alone = int((there & (region < 0)).sum())
        if alone:
            lacking = len(finest.of) - len(self._order)
            raise DataError(
                f"{alone} {what} in areas whose people aren't known: the map of people lacks "
                f"{lacking} of the {len(finest.of)} areas.",
                hint=_UNEQUAL,
            )
        return pl.Series(finest.labels, dtype=pl.String).gather(pl.Series(region).replace(-1, None))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.areas.names)}

    @cached_property
    def _members(self) -> dict[str, Ints]:
        """The areas of each label."""
        found: dict[str, Ints] = {}
        for level in self._levels:
            order = np.argsort(level.of, kind="stable")
            order = order[level.of[order] >= 0]
            starts = np.searchsorted(level.of[order], np.arange(1, len(level.labels)))
            found.update(zip(level.labels, np.split(order, starts), strict=True))
        return found

    @cached_property
    def _people(self) -> Floats | None:
        """The people of each area; NaN where they aren't known."""
        if isinstance(self.people, PointMap):
            area = self.areas.locate(self.people.points)
            inside = area >= 0
            many = np.bincount(area[inside], self.people.people[inside], len(self.areas.names))
            return many.astype(float)
        if self.people is None or self.people.people is None:
            return self.areas.people
        of = dict(zip(self.people.names, self.people.people.tolist(), strict=True))
        return np.array([of.get(name, np.nan) for name in self.areas.names])

    @cached_property
    def _levels(self) -> list[_Level]:
        """The levels, the finest first."""
        names = self.areas.names.gather(self._order)
        parents = [it.gather(self._order) for it in self.areas.parents]
        # From the coarsest down: what each area is part of, and the regions that are made of it.
        each = np.arange(len(names))
        part = region = np.zeros_like(each)
        above = pl.Series([parents[-1].name if parents else ""]).new_from_index(0, len(names))
        coarse: list[tuple[Ints, Ints, pl.Series, pl.Series]] = []
        for parent in parents[::-1]:
            part = _numbered(part, parent)
            region = self._grown(part, region, self.least[-1:])
            coarse.insert(0, (region, part, parent, above))
            above = parent
        fine = []
        grown = each
        for least in self.least:
            grown = self._grown(grown, region, (least,))
            people = pl.Series([f"{least} people"]).new_from_index(0, len(names))
            fine.append((grown, each, names, people))
        levels = []
        used: dict[str, tuple[int, int]] = {}
        for of, parts, named, apart in [*(fine or [(each, each, names, names)]), *coarse]:
            numbers = np.full(len(self.areas.names), -1)
            numbers[self._order] = of
            levels.append(_Level(numbers, _labels(of, parts, named, apart, used)))
        return levels

    @cached_property
    def _order(self) -> Ints:
        """The areas in the order of their names, which decides between equals."""
        order: Ints = self.areas.names.arg_sort().to_numpy().astype(np.int64)
        if not self.least or self._people is None:
            return order
        return order[~np.isnan(self._people[order])]

    def _grown(self, start: Ints, within: Ints, least: tuple[int, ...]) -> Ints:
        """Return regions merged until each has enough people, each within what it is part of."""
        if not least or self._people is None:
            return start
        place = np.full(len(self.areas.names), -1)
        place[self._order] = np.arange(len(self._order))
        pairs = place[self._pairs]
        return _merged(
            start,
            least[0],
            within=within,
            people=self._people[self._order],
            pairs=pairs[(pairs >= 0).all(axis=1)],
            middles=self._middles[self._order],
        )

    @cached_property
    def _pairs(self) -> Ints:
        return self.areas.neighbours()

    @cached_property
    def _middles(self) -> Floats:
        """A point of each area in space."""
        if self.areas.centres is not None:
            return self.areas.centres.in_space()
        import shapely  # noqa: PLC0415 # of an extra

        x, y = shapely.get_coordinates(shapely.point_on_surface(self.areas.shapes)).T
        return Points(x=x, y=y, unit=self.areas.unit).in_space()


def _numbered(within: Ints, names: pl.Series) -> Ints:
    """Return numbers of names, which are others within other wholes."""
    frame = pl.DataFrame({"within": within, "name": names})
    return frame.select(pl.struct("within", "name").rank("dense") - 1).to_series().to_numpy()


def _labels(
    of: Ints, parts: Ints, names: pl.Series, apart: pl.Series, used: dict[str, tuple[int, int]]
) -> list[str]:
    """Return the labels of regions: the lowest name, how many others, what tells equals apart."""
    frame = pl.DataFrame({"of": of, "part": parts, "name": names, "apart": apart})
    regions = frame.with_row_index("first").sort("name", "first", maintain_order=True)
    summed = regions.group_by("of", maintain_order=True).agg(
        pl.col("name", "apart").first(), pl.col("part").n_unique(), pl.len(), pl.col("first").min()
    )
    labels = []
    for _, name, other, n_parts, n_areas, first in summed.sort("of").iter_rows():
        label = name if n_parts == 1 else f"{name} + {n_parts - 1} more"
        # Regions nest: there is one of a first area and a size.
        own = first, n_areas
        others = (f"{label} ({other}{number or ''})" for number in itertools.count())
        tries = itertools.chain([label], others)
        labels.append(next(it for it in tries if used.setdefault(it, own) == own))
    return labels


def _merged(
    start: Ints, least: int, *, within: Ints, people: Floats, pairs: Ints, middles: Floats
) -> Ints:
    """Return regions of areas, grown until each has so many people; greedy.

    The smallest joins the smallest that it touches, or the nearest if it touches none. One that is
    alone within its state stays. Pairs of areas touch; middles are a point of each in space.
    """
    region, sums = start.copy(), np.bincount(start, people).tolist()
    first = np.unique(start, return_index=True)[1].tolist()
    near: list[set[int]] = [set() for _ in sums]

    def touch(one: int, other: int) -> None:
        if one != other:
            near[one].add(other)
            near[other].add(one)

    def key(number: int) -> tuple[float, int, int]:
        return sums[number], first[number], number

    for one, other in start[pairs[within[pairs[:, 0]] == within[pairs[:, 1]]]].tolist():
        touch(one, other)
    queue = [key(number) for number in range(len(sums))]
    heapq.heapify(queue)
    while queue and queue[0][0] < least:
        number = queue[0][-1]
        if heapq.heappop(queue) != key(number):
            continue  # it has grown since, or is part of another
        mine = region == number
        if not near[number]:
            others = np.flatnonzero((within == within[first[number]]) & ~mine)
            if not len(others):
                continue
            far = [np.linalg.norm(middles[others] - it, axis=1) for it in middles[mine]]
            near[number] = {int(region[others[np.min(far, axis=0).argmin()]])}
        other = min(near[number], key=key)
        region[mine] = other
        sums[other] += sums[number]
        first[other] = min(first[other], first[number])
        sums[number] = -1.0
        for each in near[number]:
            near[each].discard(number)
            touch(each, other)
        heapq.heappush(queue, key(other))
    return np.unique(region, return_inverse=True)[1]
