"""Planar Laplace: noise that makes places near each other about as likely, up to epsilon."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
import polars as pl

from halfmask._errors import DataError, ParameterError
from halfmask.claims import Claim
from halfmask.masks.geo._geomask import Geomask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.geo import Points
    from halfmask.masks._mask import ReadColumns
    from halfmask.masks.geo._geomask import DrawnPlaces

#: The share of epsilon that draws use. The rest is for floats, rounding and the earth's shape.
DRAWN_SHARE: Final = 0.999
#: The least epsilon per metre: with a smaller one, the earth isn't flat enough for that rest.
_LEAST, _MOST = 1e-4, 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanarLaplace(Geomask):
    """Move each point by planar Laplace noise: geo-indistinguishability.

    Parameters
    ----------
    columns, unit, crs, person, same_within, within, maps, domain, scope
        See `Geomask`. It takes neither `within` nor `same_within`.
    epsilon, metres
        How much the masked place may reveal about places so many metres apart, such as 1.386, the
        logarithm of 4, at 200 metres. Their quotient is 0.0001 to 1.
    places
        How many different places a person has at most. Their epsilons add up.

    Raises
    ------
    ParameterError
        If epsilon per metre is out of range, `within` or `same_within` are given, or `places` are
        several and no `person` is named.

    Notes
    -----
    Andrés and others 2013. The distance has the law Gamma(2, 1 / epsilon): its mean is
    ``2 * metres / epsilon``.

    **Guarantees.** For two places d metres apart, no masked place is more than
    ``exp(d * epsilon / metres)`` times as likely from one as from the other; distances below a
    metre count as one. Draws use 0.999 epsilon. The rest covers what floats, the rounding of what
    is written (0.00001 degrees, or 1 metre) and the shape of the earth lose. All of a person's
    places together have ``places * epsilon``. It is of one key: draws of other keys add theirs.

    **Edge cases.** Which rows have one place of a person stays visible. Without `person`, this
    holds for rows of all people, so several of them at one place are seen. A person with more
    than `places` is an error. So are rows that have a place and no person.

    Examples
    --------
    >>> import polars as pl
    >>> home = pl.DataFrame({"lon": [4.9], "lat": [52.4]})
    >>> mask = PlanarLaplace(columns=("lon", "lat"), epsilon=1.386, metres=200.0)
    >>> (claim,) = mask.claims(mask.columns, home.select)
    >>> claim.parameters["epsilon"], claim.parameters["metres"], claim.basis
    (1.386, 200.0, 'accounted')
    """

    name: ClassVar[str] = "planar-laplace"
    further: ClassVar[tuple[str, ...]] = ("unseen-sampling",)
    without: ClassVar[tuple[str, ...]] = ("same_within", "within")
    decimals: ClassVar[Mapping[str, int]] = {
        "degrees": 5, "metres": 0, "kilometres": 3, "feet": 0
    }  # fmt: skip

    epsilon: float = field(metadata={"gt": 0})
    metres: float = field(default=1.0, metadata={"gt": 0})
    places: int = field(default=1, metadata={"ge": 1})

    def _check_own(self) -> None:
        if not _LEAST <= self.epsilon / self.metres <= _MOST:
            raise ParameterError(
                f"The mask {self.name!r} has an 'epsilon' of {self.epsilon / self.metres:g} per "
                f"metre. It must be {_LEAST:g} to {_MOST:g}.",
                hint="Write epsilon = 1.386 and metres = 200: ln 4 for places 200 metres apart.",
            )
        if self.places > 1 and self.person is None:
            raise ParameterError(
                f"The mask {self.name!r} has several 'places' of a person and no 'person'.",
                hint="Name the column that says whose row it is.",
            )

    def claims(self, columns: Sequence[str], read: ReadColumns) -> list[Claim]:
        """Return the claim of geo-indistinguishability; see `ClaimingMask`."""
        return [
            Claim(
                model="geo-indistinguishability",
                parameters={
                    "epsilon": self.epsilon,
                    "metres": self.metres,
                    "places": self.places,
                },
                about={
                    "columns": list(columns),
                    "unit": "place" if self.person is None else "place of a person",
                    "person": self.person,
                },
                basis="accounted",
                evidence={
                    "drawn_epsilon_per_metre": DRAWN_SHARE * self.epsilon / self.metres,
                    "epsilon_of_all_places": self.places * self.epsilon,
                    "decimals": self.decimals[self.unit],
                },
            )
        ]

    def _masked(self, places: DrawnPlaces) -> Points:
        counts = pl.Series(places.persons or ()).value_counts()["count"]
        more = int((counts > self.places).sum())
        if more:
            raise DataError(
                f"{more} people have more places than {self.places}, up to {max(counts)}.",
                hint="Give more 'places', each of which costs an epsilon, or drop some of theirs.",
            )
        high, low, turn = places.fractions(3)
        # 106 bits where few are left, so that the tail has its law.
        beyond = np.minimum(high - 2.0**-54 + low * 2.0**-53, 1 - 2.0**-53)
        from scipy.special import lambertw  # noqa: PLC0415 # scipy comes with scikit-learn; 60 ms

        rate = DRAWN_SHARE * self.epsilon / self.metres
        far = -(1 + lambertw(-beyond / np.e, k=-1).real) / rate
        return self._moved(places.points, far, turn)
