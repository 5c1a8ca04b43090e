"""Grid: a point is written as the centre of its square."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from halfmask.geo import Unit  # noqa: TC001 # of a field
from halfmask.masks._checked_mask import CheckedMask
from halfmask.masks._mask import counted_claim
from halfmask.masks.geo._geomask import move_rows, point_columns, written_as
from halfmask.masks.geo._squares import middles

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from halfmask.claims import Claim
    from halfmask.masks._mask import ReadColumns
    from halfmask.masks._table_mask import HeldColumns


@dataclass(frozen=True, slots=True, kw_only=True)
class GridCentres(CheckedMask):
    """Write each point as the centre of its square of a grid.

    Parameters
    ----------
    columns, unit
        See `Geomask`.
    width
        Of the squares, in metres.

    Notes
    -----
    **Guarantees.** A point moves by at most 0.71 widths in a plane. On the earth, squares lie in
    rows between parallels and are about as wide as high: at most 0.9 widths, more at the poles.
    Points of one square have one centre.

    **Edge cases.** How many people live in a square isn't counted: use a place with `cells` or
    `quadtree` as quasi-identifier for that.

    Examples
    --------
    >>> import polars as pl
    >>> homes = pl.DataFrame({"x": [120.0, 499.0], "y": [7.0, 480.0]})
    >>> mask = GridCentres(columns=("x", "y"), unit="metres", width=500.0)
    >>> mask.fit(homes, bytes(32)).apply(homes, 0).rows()
    [(250.0, 250.0), (250.0, 250.0)]
    """

    name: ClassVar[str] = "grid"
    coarsens: ClassVar[bool] = True
    is_matchable: ClassVar[bool] = True
    needs_rows: ClassVar[bool] = True
    suppresses: ClassVar[bool] = False
    reads: ClassVar[tuple[str, ...]] = ()
    weaknesses: ClassVar[tuple[str, ...]] = ("equality-leaking", "exact-other-columns")

    columns: tuple[str, ...]
    unit: Unit = "degrees"
    width: float = field(metadata={"ge": 1, "le": 1e7})

    def _check_together(self) -> None:
        point_columns(self)

    def claims(self, columns: Sequence[str], read: ReadColumns) -> list[Claim]:
        """Return the claim that all points are centres; see `ClaimingMask`."""
        return [counted_claim("grid-centres", columns, width=self.width, unit=self.unit)]

    def written(self, dtypes: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
        """Return Float64 for both coordinates; see `TableMask`."""
        return written_as(self.columns, dtypes, mask=self.name)

    def fit(self, table: pl.DataFrame, key: bytes) -> HeldColumns:
        """Return the plan, which holds the centres; see `TableMask`."""
        self.written(table.schema)
        return move_rows(table, point_columns(self), lambda it: middles(it, self.width))
