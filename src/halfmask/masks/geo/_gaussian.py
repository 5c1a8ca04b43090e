"""Gaussian: a point moves by normal noise in each direction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask.masks.geo._geomask import Geomask

if TYPE_CHECKING:
    from halfmask.geo import Points
    from halfmask.masks.geo._geomask import DrawnPlaces, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianPoints(Geomask):
    """Move each point by normal noise, the same in all directions.

    Parameters
    ----------
    columns, unit, crs, person, same_within, within, maps, domain, scope
        See `Geomask`.
    sigma
        The standard deviation of the move eastwards and of that northwards, in metres.

    Notes
    -----
    Isotropic Gaussian masking (Cassa and others 2006). The mean distance is 1.25 sigma.

    **Guarantees.** Every direction has the same chance. Equal places of a person have equal
    masked places, in each release of the scope with the same parameters. Draws are unknown without
    the key. It is no differential privacy.

    **Edge cases.** As of `Donut`. Some points hardly move: 1 in 200 by less than a tenth of sigma.

    Examples
    --------
    >>> import polars as pl
    >>> home = pl.DataFrame({"lon": [4.9], "lat": [52.4]})
    >>> mask = GaussianPoints(columns=("lon", "lat"), sigma=300.0)
    >>> bool((mask.fit(home, bytes(32)).apply(home, 0) - home).rows() == [(0.0, 0.0)])
    False
    """

    name: ClassVar[str] = "gaussian"

    sigma: float = field(metadata={"gt": 0, "le": 1e6})

    def _masked(self, places: DrawnPlaces) -> Points:
        def draw(which: Ints, attempt: int) -> Points:
            share, turn = places.fractions(2, which=which, attempt=attempt)
            far = self.sigma * np.sqrt(-2 * np.log(share))
            return self._moved(places.points.take(which), far, turn)

        return self._tried(places, draw)
