"""Affine: all points turn around a centre, come nearer or go away, and shift together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from halfmask._errors import DataError, ParameterError
from halfmask._validation import list_of
from halfmask.geo import Points
from halfmask.masks._numbers import is_number
from halfmask.masks._row_draws import row_fractions
from halfmask.masks.geo._geomask import Geomask, check_rising

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.masks.geo._geomask import DrawnPlaces

#: The farthest from a centre on the earth, in metres: up to there it is flat enough.
_FARTHEST: Final = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class AffinePoints(Geomask):
    """Turn, scale and shift all points together, by secret numbers.

    Parameters
    ----------
    columns, unit, crs, person, same_within, within, maps, domain, scope
        See `Geomask`. It takes neither `person` nor `same_within` nor `within`.
    centre
        The point that the others turn around: longitude and latitude, or x and y.
    rotation
        The most degrees that points turn, in both directions: 0 to 180.
    scale
        The least and the greatest factor of distances from the centre.
    shift
        The most metres that all points move in one direction.

    Notes
    -----
    Affine transformations of maps (Armstrong, Rushton and Zimmerman 1999).

    **Guarantees.** Shapes stay: distances between points have one factor, angles stay. Draws are
    unknown without the key.

    **Edge cases.** From two known places an attacker computes all others, since all directions
    have one factor; from three, without knowing that. Take it for pictures,
    not for data that others get. Points of the earth more than 1,000 km from the centre are an
    error.

    Examples
    --------
    >>> import polars as pl
    >>> homes = pl.DataFrame({"x": [0.0, 3.0], "y": [0.0, 4.0]})
    >>> mask = AffinePoints(
    ...     columns=("x", "y"), unit="metres", centre=(0, 0), rotation=180, scale=(2, 2), shift=50
    ... )
    >>> moved = mask.fit(homes, bytes(32)).apply(homes, 0).to_numpy()
    >>> round(float(((moved[1] - moved[0]) ** 2).sum() ** 0.5), 1)
    10.0
    """

    name: ClassVar[str] = "affine"
    coarsens: ClassVar[bool] = True
    further: ClassVar[tuple[str, ...]] = ("known-points",)
    without: ClassVar[tuple[str, ...]] = ("person", "same_within", "within")

    centre: tuple[float, ...]
    rotation: float = field(metadata={"ge": 0, "le": 180})
    scale: tuple[float, ...]
    shift: float = field(metadata={"ge": 0, "le": _FARTHEST})

    def _check_own(self) -> None:
        check_rising(owner="AffinePoints", most=10, scale=self.scale)
        list_of("two numbers", is_number, owner="AffinePoints", centre=self.centre)
        if len(self.centre) != 2 or not self.scale[0]:
            raise ParameterError(
                f"The mask {self.name!r} has two coordinates as its 'centre', and factors above 0."
            )
        self._centre(1).checked(self.columns)
        if not self.rotation and not self.shift and tuple(self.scale) == (1, 1):
            raise ParameterError(
                f"The mask {self.name!r} would change nothing.", hint="Give a 'rotation'."
            )

    def _masked(self, places: DrawnPlaces) -> Points:
        turned, scaled, far, turn = row_fractions(4, key=places.key)
        factor = self.scale[0] + scaled * (self.scale[1] - self.scale[0])
        angle = np.radians(self.rotation) * (2 * turned - 1)
        found = self._from_centre(places.points) * factor * np.exp(1j * angle)
        found += self.shift * np.sqrt(far) * np.exp(2j * np.pi * turn)
        return self._rounded(self._centre(len(places)).moved(found.real, found.imag))

    def _centre(self, n: int) -> Points:
        x, y = (np.full(n, float(it)) for it in self.centre)
        return Points(x=x, y=y, unit=self.unit)

    def _from_centre(self, points: Points) -> NDArray[np.complex128]:
        """Return how many metres east of the centre points are, and north as imaginary part."""
        away = points.seen_from(self._centre(1))
        beyond = int((np.hypot(*away.T) > _FARTHEST).sum())
        if beyond and points.on_earth:
            raise DataError(
                f"{beyond} points lie more than {_FARTHEST / 1000:,.0f} km from the centre of the "
                f"mask {self.name!r}.",
                hint="Give another 'centre', or mask them in parts.",
            )
        return np.asarray(away @ (1, 1j))
