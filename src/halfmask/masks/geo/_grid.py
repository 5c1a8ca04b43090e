"""Grid: a point is written as the centre of its square."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from halfmask.masks._mask import counted_claim
from halfmask.masks.geo._geomask import Geomask, middles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.claims import Claim
    from halfmask.geo import Points
    from halfmask.masks._mask import ReadColumns
    from halfmask.masks.geo._geomask import DrawnPlaces


@dataclass(frozen=True, slots=True, kw_only=True)
class GridCentres(Geomask):
    """Write each point as the centre of its square of a grid.

    Parameters
    ----------
    columns, unit, crs, person, same_within, within, maps, domain, scope
        See `Geomask`. It takes the first three.
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
    without: ClassVar[tuple[str, ...]] = ("person", "same_within", "within", "domain", "scope")

    width: float = field(metadata={"ge": 1, "le": 1e7})

    def claims(self, columns: Sequence[str], read: ReadColumns) -> list[Claim]:
        """Return the claim that all points are centres; see `ClaimingMask`."""
        return [counted_claim("grid-centres", columns, width=self.width, unit=self.unit)]

    def _masked(self, places: DrawnPlaces) -> Points:
        return self._rounded(middles(places.points, self.width))
