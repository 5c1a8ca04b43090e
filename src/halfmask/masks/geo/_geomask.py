"""What masks of points have in common: which columns, whose draws, and within which areas."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

import numpy as np
import polars as pl

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError
from halfmask._random import derived_key
from halfmask._validation import number_between
from halfmask.geo import AreaMap, Cells, Maps, PlaceColumns, PointMap, Points, Unit
from halfmask.masks._mask import MaskTraits
from halfmask.masks._numbers import EXACT, check_numeric, is_number
from halfmask.masks._row_draws import fractions
from halfmask.masks._strata import check_apart
from halfmask.masks._table_mask import HeldColumns
from halfmask.masks._token import text_of
from halfmask.masks.pseudonym import Pseudonym

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Ints = NDArray[np.int64]

_Map = TypeVar("_Map", PointMap, AreaMap)

#: Draws of a place until one does. Of 200 places near a border, 1 in 10**9 needs more of 1 in 2.
_TRIES: Final = 200
#: Fields that a draw doesn't depend on: those of one person at one place are the same without.
_NOT_DRAWN_BY: Final = frozenset({"columns", "person", "domain", "scope", "maps"})


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DrawnPlaces:
    """The different places of a table, each of one person, with random numbers of their own."""

    points: Points
    persons: tuple[str, ...] | None = field(repr=False)
    key: bytes = field(repr=False)
    #: Such as the radii: two releases of one bearing and other radii show the way to the place.
    measures: tuple[Numbers, ...] = field(default=(), repr=False)

    def __len__(self) -> int:
        return len(self.points)

    def fractions(self, n: int, *, which: Ints | None = None, attempt: int = 0) -> Numbers:
        """Return up to 8 numbers between 0 and 1 for each of some places, shape (n, places).

        They depend on the key, the person, the coordinates, the measures and the attempt alone.
        """
        chosen = np.arange(len(self)) if which is None else which
        parts = np.column_stack([self.points.x, self.points.y, *self.measures])[chosen]
        raw, width = parts.astype("<f8").tobytes(), 8 * parts.shape[1]
        persons = [b""] * len(chosen)
        if self.persons is not None:
            persons = [self.persons[i].encode() for i in chosen.tolist()]
        made = partial(
            hashlib.blake2b,
            key=self.key,
            digest_size=64,
            salt=attempt.to_bytes(16, "little"),
            person=b"halfmask/place",
        )
        digests = [
            made(raw[i * width : (i + 1) * width] + it).digest() for i, it in enumerate(persons)
        ]
        drawn = np.frombuffer(b"".join(digests), dtype="<u8").reshape(len(chosen), 8)
        return fractions(drawn[:, :n].T.astype(np.uint64))


@dataclass(frozen=True, slots=True, kw_only=True)
class Geomask(Pseudonym):
    """What masks that move points have in common.

    Parameters
    ----------
    columns
        Longitude and latitude, in this order; of a plane, x and y.
    unit, crs
        See `halfmask.geo.PlaceColumns`.
    person
        The column that says whose row it is: two people at one place have two masked places.
    same_within
        Metres, from 1: points within one square of this width count as the place in its middle.
    within
        A map of areas: a masked place lies in the same area as the place.
    maps
        The opened maps by name. A policy has them as ``[maps.NAME]``.
    domain, scope
        Where a place has the same masked place; see `Pseudonym`.
    """

    coarsens: ClassVar[bool] = False
    is_matchable: ClassVar[bool] = True  # roughly
    needs_rows: ClassVar[bool] = True  # so that an error counts all places without a masked one
    suppresses: ClassVar[bool] = False
    name: ClassVar[str] = "geomask"
    further: ClassVar[tuple[str, ...]] = ()  # weaknesses
    without: ClassVar[tuple[str, ...]] = ()  # fields that it doesn't take
    #: Digits behind the point of what is written: a centimetre or two.
    decimals: ClassVar[Mapping[str, int]] = {
        "degrees": 7, "metres": 2, "kilometres": 5, "feet": 2
    }  # fmt: skip

    columns: tuple[str, ...]
    unit: Unit = "degrees"
    crs: str | None = None
    person: str | None = None
    same_within: float = field(default=0.0, metadata={"ge": 0})
    within: str | None = field(default=None, metadata={"min_length": 1})
    maps: Maps = field(default_factory=dict, repr=False, compare=False)

    def _check_together(self) -> None:
        check_apart(self.columns, self.reads, mask=self.name, named="person")
        point_columns(self)
        if self.same_within:
            number_between(1, 1e7, owner=type(self).__name__, same_within=self.same_within)
        given = [it.name for it in fields(self) if getattr(self, it.name) != it.default]
        refused = [name for name in given if name in self.without]
        if refused:
            raise ParameterError(
                f"The mask {self.name!r} takes no {refused[0]!r}: it wouldn't do what it says.",
                hint="Leave it out, or take the mask 'donut'.",
            )
        self._check_own()
        for it in fields(self):  # draws depend on how numbers are written: 1 and 1.0 are the same
            kind = next((kind for kind in (float, int) if kind.__name__ in str(it.type)), None)
            value = getattr(self, it.name)
            if kind is not None and value is not None:
                same = kind(value) if is_number(value) else tuple(map(kind, value))
                object.__setattr__(self, it.name, same)

    def _check_own(self) -> None:
        """Raise unless the parameters of the technique go together."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The column of the person."""
        return () if self.person is None else (self.person,)

    @property
    def map_names(self) -> tuple[str, ...]:
        """The maps that it needs, as a policy calls them."""
        given = (getattr(self, it, None) for it in ("within", "addresses", "density", "nodes"))
        return tuple(dict.fromkeys(it for it in given if it is not None))

    @property
    def traits(self) -> MaskTraits:
        """The person: rows of one must stay rows of one."""
        return MaskTraits(keyed_by=self.reads, unstated=("maps",))

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """The names of the technique's weaknesses."""
        drawn = () if self.coarsens else ("averaging",)
        return (*drawn, "equality-leaking", "exact-other-columns", "nulls-visible", *self.further)

    def written(self, dtypes: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
        """Return Float64 for both coordinates; see `TableMask`."""
        absent = [it for it in (*self.columns, *self.reads) if it not in dtypes]
        if absent:
            raise ColumnNotFoundError.of(absent, list(dtypes), where="the table")
        for name in self.columns:
            if dtypes[name] != pl.String:  # refused where it is read, with a cure
                check_numeric(name, dtypes[name], mask=self.name, decimals=True)
        return dict.fromkeys(self.columns, pl.Float64())

    def fit(self, table: pl.DataFrame, key: bytes) -> HeldColumns:
        """Return the plan, which holds the masked places of all rows; see `TableMask`."""
        self.written(table.schema)
        places, rows, place = self._places(table, key)
        masked, made = self._masked(places), []
        for name, new in zip(self.columns, (masked.x, masked.y), strict=True):
            cells = table[name].cast(pl.Float64)
            numbers = cells.to_numpy().copy()
            numbers[rows] = new[place]
            made.append(pl.Series(name, numbers).set(cells.is_null(), None))
        return HeldColumns(pl.DataFrame(made))

    def _masked(self, places: DrawnPlaces) -> Points:
        """Return the masked place of each place."""
        raise NotImplementedError

    def _places(self, table: pl.DataFrame, key: bytes) -> tuple[DrawnPlaces, Ints, Ints]:
        """Return the different places; the rows that have one, and the number of the place."""
        points = point_columns(self).read(table)
        rows = np.flatnonzero(points.present)
        points = points.take(rows)
        if self.same_within:
            points = middles(points, self.same_within)
        # -0.0 is the place of 0.0.
        frame = pl.DataFrame({"x": points.x + 0.0, "y": points.y + 0.0})
        if self.person is not None:
            frame = frame.with_columns(self._persons(table[rows]).alias("person"))
        different = frame.unique(maintain_order=True)
        place = frame.join(
            different.with_row_index("place"), on=frame.columns, how="left", maintain_order="left"
        )["place"]
        places = DrawnPlaces(
            points=replace(points, x=different["x"].to_numpy(), y=different["y"].to_numpy()),
            persons=None if self.person is None else tuple(different["person"].to_list()),
            key=derived_key(key, self._drawn_by()),
        )
        return places, rows, place.to_numpy().astype(np.int64)

    def _persons(self, placed: pl.DataFrame) -> pl.Series:
        persons = text_of(placed[self.person or ""])
        nobodys = persons.null_count()
        if nobodys:
            raise DataError(
                f"Column {self.person!r} is missing in {nobodys} rows that have a place: whose "
                "masked place they get isn't known.",
                hint="Drop these rows, or make their places missing.",
            )
        return persons

    def _drawn_by(self) -> str:
        """Return the parameters that draws depend on: others give other draws."""
        given = [(it.name, getattr(self, it.name), it.default) for it in fields(self)]
        said = [f"{name}={it!r}" for name, it, default in given if it != default]
        kept = [it for it in said if it.partition("=")[0] not in _NOT_DRAWN_BY]
        return "\0".join([self.name, *kept, *("person" for _ in self.reads)])

    def _map(self, name: str, kind: type[_Map], points: Points) -> _Map:
        """Return an opened map: points in the unit of the table's, or areas."""
        found = self.maps.get(name)
        if not isinstance(found, kind):
            got = "none" if found is None else f"a {type(found).__name__}"
            raise ParameterError(
                f"The mask {self.name!r} needs the map {name!r}, one {kind.__name__}. Got {got}.",
                hint="[[Give maps={NAME: ...}|Add [maps.NAME] to the policy]].",
            )
        if isinstance(found, PointMap):
            return replace(found, points=found.points.in_system(points.unit, points.crs))
        return found

    def _moved(self, points: Points, far: Numbers, turn: Numbers) -> Points:
        """Return points moved by metres, at an angle of so many turns, and rounded."""
        angle = 2 * np.pi * turn
        return self._rounded(points.moved(far * np.sin(angle), far * np.cos(angle)))

    def _rounded(self, points: Points) -> Points:
        """Return points with so many digits behind the point as their unit has."""
        digits = self.decimals[points.unit]
        large = int((np.maximum(np.abs(points.x), np.abs(points.y)) * 10**digits >= EXACT).sum())
        if large:
            raise DataError(
                f"{large} of {len(points)} points are so large that floats have no digits left for "
                f"a move of {10.0**-digits:g} {points.unit}.",
                hint="Make points that stand for 'unknown' missing.",
            )
        return replace(points, x=points.x.round(digits) + 0.0, y=points.y.round(digits) + 0.0)

    def _tried(
        self, places: DrawnPlaces, draw: Callable[[Ints, int], Points], *, asked: str = ""
    ) -> Points:
        """Return for each place the first draw that does, and that lies in the same area.

        `draw` takes numbers of places and that of the attempt, and returns missing points where
        its draw isn't as `asked`.
        """
        left, x, y = np.arange(len(places)), np.empty(len(places)), np.empty(len(places))
        areas, home = self._areas(self.within, places.points) if self.within else (None, left)
        if (
            areas is not None
        ):  # reach is for places, which may be drawn off a coast; none goes there
            areas = replace(areas, reach=0.0)
        for attempt in range(_TRIES):
            found = draw(left, attempt)
            good = found.present
            if areas is not None:
                good[good] = areas.locate(found.take(good)) == home[left[good]]
            x[left[good]], y[left[good]] = found.x[good], found.y[good]
            left = left[~good]
            if not len(left):
                return replace(places.points, x=x, y=y)
        words = [asked] * bool(asked) + [f"the same area of {self.within!r}"] * bool(self.within)
        raise DataError(
            f"{len(left)} of {len(places)} places have no masked place in {_TRIES} tries of the "
            f"mask {self.name!r}, which asks for {' and '.join(words)}.",
            hint="Give a larger radius, or leave these places out.",
        )

    def _areas(self, name: str, points: Points) -> tuple[AreaMap, Ints]:
        """Return a map of areas, and the number of the area of each point."""
        areas = self._map(name, AreaMap, points)
        found = areas.locate(points)
        beyond = int((found < 0).sum())
        if beyond:
            raise DataError(
                f"{beyond} of {len(points)} places lie in no area of the map {name!r}.",
                hint="Leave these places out, or take a map with their areas.",
            )
        return areas, found


def point_columns(mask: Any) -> PlaceColumns:  # noqa: ANN401 # one that has them
    """Return the two columns of a mask of points."""
    return PlaceColumns(mask.columns, mask.unit, getattr(mask, "crs", None))


def middles(points: Points, metres: float) -> Points:
    """Return the middle of the square of each point, of this width."""
    return Cells((metres / 1000,), points.unit, points.crs).middles(points)


def check_rising(*, whole: bool = False, most: float = 1e7, owner: str, **named: object) -> None:
    """Raise unless a parameter is two numbers, the second above 0 and at least the first."""
    ((name, pair),) = named.items()
    is_pair = isinstance(pair, list | tuple) and len(pair) == 2 and all(map(is_number, pair))
    numbers: Any = pair if is_pair else (-1, -1)
    low, high = numbers
    if not (whole <= low <= high <= most and high > 0) or (whole and (low % 1 or high % 1)):
        raise ParameterError(
            f"The {name!r} parameter of {owner} must be two "
            f"{'whole numbers from 1' if whole else 'numbers above 0'} to {most:g}, the "
            "smaller one first.",
            hint="Write radius = [100, 500], for example.",
        )
