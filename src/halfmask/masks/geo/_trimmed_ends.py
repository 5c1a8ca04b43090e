"""Trimmed ends: rows of trips near where they begin and end are dropped."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
import polars as pl

from halfmask._errors import DataError, SchemaError
from halfmask._foreign import need
from halfmask.geo import Unit  # noqa: TC001 # of a field
from halfmask.geo.points import straight_of
from halfmask.masks._checked_mask import CheckedMask
from halfmask.masks._mask import MaskTraits
from halfmask.masks._sampling import KeptRows
from halfmask.masks._strata import check_apart
from halfmask.masks.geo._geomask import middles, point_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.geo import Points

#: In widths of a square: one more than its corners are from its middle.
_ZONE: Final = 1.75


@dataclass(frozen=True, slots=True, kw_only=True)
class TrimmedEnds(CheckedMask):
    """Drop rows of trips near where a trip begins or ends, such as at home.

    Parameters
    ----------
    columns, unit
        Longitude and latitude, or x and y, and what both are in.
    trip
        The column that says which trip a row belongs to.
    time
        The column by which a trip's rows are ordered.
    metres
        All rows within this distance of an end are dropped.
    person
        The column that says whose trip it is. Then rows of all trips of a person are dropped near
        each end of any of them.

    Notes
    -----
    **Guarantees.** No row is kept within `metres` of the first or the last place of its trip, or,
    with `person`, of any trip of the person. Up to 2.5 times as far, rows are dropped round the
    middle of the end's square of this width. So the hole shows the square, and not where in it
    the end is. A circle round the end itself would show it (Hassan and others 2018).

    **Edge cases.** Short trips vanish. Rows without a place are kept, and don't count as ends.
    Rows with a place and without a trip, time or person are an error. Of rows that are first at
    the same time, each is an end.

    Examples
    --------
    >>> ride = pl.DataFrame(
    ...     {"ride": [1] * 4, "at": range(4), "x": [0.0, 600.0, 900.0, 1500.0], "y": [0.0] * 4}
    ... )
    >>> mask = TrimmedEnds(
    ...     columns=("x", "y"), unit="metres", trip="ride", time="at", metres=200
    ... )
    >>> mask.fit(ride, 4, bytes(32)).kept(0, 4).to_list()
    [False, True, True, False]
    """

    name: ClassVar[str] = "trimmed-ends"
    weaknesses: ClassVar[tuple[str, ...]] = ("trips-between-ends-kept",)

    columns: tuple[str, ...]
    trip: str
    time: str
    metres: float = field(metadata={"ge": 1, "le": 1e6})
    unit: Unit = "degrees"
    person: str | None = None

    def _check_together(self) -> None:
        check_apart(self.columns, (*self._whose, self.time), mask=self.name, named="trip")
        point_columns(self)

    @property
    def _whose(self) -> tuple[str, ...]:
        return (self.trip,) if self.person is None else (self.person, self.trip)

    @property
    def reads(self) -> tuple[str, ...]:
        """The coordinates, the time, the trip and the person."""
        return (*self.columns, self.time, *self._whose)

    @property
    def traits(self) -> MaskTraits:
        """It measures raw places; rows of one trip must stay rows of one."""
        return MaskTraits(reads_raw=True, keyed_by=self._whose)

    def fit(self, table: pl.DataFrame | None, n_rows: int, key: bytes) -> KeptRows:
        """Return the plan, which holds whether each row is kept; see `RowMask`."""
        assert table is not None  # noqa: S101 # it reads columns
        kept = np.ones(n_rows, dtype=np.bool_)
        points = point_columns(self).read(table)
        rows = np.flatnonzero(points.present)
        points, owners, ends = points.take(rows), *self._ends(table[rows])
        centres = middles(points.take(ends), self.metres)
        # Squares near the poles can be longer: there, the end itself is a centre, too.
        long = centres.metres_to(points.take(ends)) > (_ZONE - 1) * self.metres
        more = ends[long]
        pairs = ((owners[ends], owners), (centres.x, points.x), (centres.y, points.y))
        columns = [np.append(zone, row[more]) for zone, row in pairs]
        zones = pl.DataFrame(columns, schema=["owner", "x", "y"]).unique(maintain_order=True)
        kept[rows[self._near(points, owners, zones)]] = False
        return KeptRows(kept)

    def _ends(self, placed: pl.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return whose each row is, as numbers, and the rows that are first or last of a trip."""
        if not (placed[self.time].dtype.is_numeric() or placed[self.time].dtype.is_temporal()):
            raise SchemaError(
                f"Column {self.time!r} orders the rows of a trip. Got the type "
                f"{placed[self.time].dtype.base_type()}.",
                hint="Read the column as datetime.",
            )
        needed = [*self._whose, self.time]
        if placed[self.time].dtype.is_float():
            placed = placed.with_columns(pl.col(self.time).fill_nan(None))
        lacking = int(placed.select(pl.any_horizontal(pl.col(needed).is_null())).sum().item())
        if lacking:
            raise DataError(
                f"{lacking} rows have a place, and no {', '.join(map(repr, needed[:-1]))} or "
                f"{self.time!r}: to which trip they belong isn't known.",
                hint="Drop these rows, or make their places missing.",
            )
        time, whose = pl.col(self.time), list(self._whose)
        found = placed.select(
            (pl.struct(whose[:1]).rank("dense") - 1).cast(pl.Int64).alias("owner"),
            ((time == time.min()) | (time == time.max())).over(whose).alias("end"),
        )
        return found["owner"].to_numpy(), np.flatnonzero(found["end"].to_numpy())

    def _near(
        self, points: Points, owners: NDArray[np.int64], zones: pl.DataFrame
    ) -> NDArray[np.bool_]:
        """Return which rows are in a zone of their owner."""
        need("scipy")
        from scipy.spatial import cKDTree  # noqa: PLC0415 # scipy loads late

        centres = replace(points, x=zones["x"].to_numpy(), y=zones["y"].to_numpy())
        most = np.array(_ZONE * self.metres)
        most = straight_of(most) if points.on_earth else most
        # On one more axis, owners are further apart than a zone reaches.
        tree = cKDTree(np.column_stack((centres.in_space(), 2 * most * zones["owner"].to_numpy())))
        asked = np.column_stack((points.in_space(), 2 * most * owners))
        far, _ = tree.query(asked, distance_upper_bound=np.nextafter(most, np.inf), workers=-1)
        return np.asarray(far <= most)
