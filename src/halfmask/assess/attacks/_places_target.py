"""PlacesTarget: places as they were released, the true ones, and whose they are."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from halfmask._errors import DataError
from halfmask.assess._places import middle_of
from halfmask.assess.attacks._inputs import (
    TakenInputs,
    as_frame,
    as_whole_numbers,
    check_columns,
    check_owners,
    check_plain,
)
from halfmask.geo import PlaceColumns, PointMap, Unit

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from halfmask.geo import Points


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlacesTarget(TakenInputs):
    """Released places, the true places, and whose they are.

    `unprotected` returns the positive control.

    Parameters
    ----------
    released, original
        The table after and before places were masked. Both have the columns of the points.
    points
        The columns of longitude and latitude, in this order, or of x and y.
    unit
        What they are in: degrees, metres, kilometres or feet.
    person
        The column of both tables that says whose row it is; it may hold a pseudonym in the released
        one. ``None``: each row is one person.
    time
        The column of both tables that says when it was. Trips need it.
    addresses
        All addresses of the region, which an attacker knows; as `halfmask.geo.PointMap`.
    centre
        The point round which a mask turns all others, if a public policy names it: affine maps of
        more than a town are fitted round it.
    owners
        For each released row the number of its original row; ``None``: in the same order. Several
        releases of the same people are one table: their rows one below the other.
    crs
        The reference system of x and y, if addresses are in another one.

    Raises
    ------
    ParameterError
        If there are too few owners, or not two columns of points.
    ColumnNotFoundError, DataError, SchemaError
        If a table is no frame, or lacks a column, or coordinates are none.

    Examples
    --------
    >>> import polars as pl
    >>> homes = pl.DataFrame({"lon": [4.89, 4.9], "lat": [52.37, 52.38]})
    >>> PlacesTarget(released=homes, original=homes, points=("lon", "lat"))
    PlacesTarget(2 released of 2 places)
    """

    released: pl.DataFrame = field(metadata={"take": as_frame})
    original: pl.DataFrame = field(metadata={"take": as_frame})
    points: tuple[str, str]
    unit: Unit = "degrees"
    person: str | None = None
    time: str | None = None
    addresses: PointMap | None = None
    centre: tuple[float, float] | None = None
    owners: NDArray[np.int64] | None = field(default=None, metadata={"take": as_whole_numbers})
    crs: str | None = None
    _read: Any = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        TakenInputs.__post_init__(self)
        columns = PlaceColumns(self.points, self.unit, self.crs)
        names = [*columns.columns, *(it for it in (self.person, self.time) if it is not None)]
        for table, where in ((self.original, "the original"), (self.released, "the release")):
            check_columns(names, table.columns, where=where)
            check_plain(table, names, where=where)
        check_owners(self.owners, self.released.height, self.original.height)
        # Once: columns that are read in an unusual way are warned of.
        read = columns.read(self.original), columns.read(self.released)
        object.__setattr__(self, "_read", read)
        for table, places in zip((self.original, self.released), read, strict=True):
            persons = None if self.person is None else table[self.person].is_null().to_numpy()
            if persons is not None and (gaps := int((persons & places.present).sum())):
                raise DataError(f"Column {self.person!r} is missing in {gaps:,} rows with a place.")

    def __repr__(self) -> str:
        return f"PlacesTarget({self.released.height} released of {self.original.height} places)"

    @property
    def owner_of_row(self) -> NDArray[np.int64]:
        """The number of each released row's original row."""
        return np.arange(self.released.height) if self.owners is None else self.owners

    def unprotected(self) -> Self:
        """Return the same rows with their true places: the positive control."""
        true = self.original.select(self.points)[self.owner_of_row]
        return replace(self, released=self.released.with_columns(true.get_columns()))

    @property
    def places(self) -> tuple[Points, Points]:
        """The places of the original and of the released rows."""
        found: tuple[Points, Points] = self._read
        return found

    @property
    def middle(self) -> Points:
        """The centre, or a true place in the middle of all."""
        true = self.places[0]
        if self.centre is None:
            return middle_of(true.take(true.present))
        x, y = (np.array([float(each)]) for each in self.centre)
        return replace(true, x=x, y=y)

    def pairs(self) -> tuple[Points, Points, NDArray[np.int64]]:
        """Return true and released places of rows with both, and the numbers of these."""
        true, seen = self.places[0].take(self.owner_of_row), self.places[1]
        rows = np.flatnonzero(true.present & seen.present)
        return true.take(rows), seen.take(rows), rows
