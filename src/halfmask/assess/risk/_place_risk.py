"""Risk of moved places: how many people live as near to a masked point as the person does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from halfmask._facts import Facts
from halfmask._validation import integer_at_least
from halfmask.assess._places import paired
from halfmask.assess._risk import percent
from halfmask.geo import PointMap

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halfmask.geo import AreaMap, Points

#: The shares of points of which `PlaceRisk` has the highest k.
QUANTILES: Final = (0.01, 0.05, 0.25, 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceRisk(Facts):
    """How many people live as near to a masked point as the person does.

    Parameters
    ----------
    by
        ``"addresses"``: people were counted. ``"areas"``: they are estimated, spread evenly over
        each area.
    points
        How many points were judged.
    k
        The wanted k.
    share_under_k
        The share of points with fewer people.
    least
        The fewest people of a point.
    quantiles
        The highest k of the 1 %, 5 %, 25 % and 50 % of points that have least, by these shares.
    """

    by: Literal["addresses", "areas"]
    points: int
    k: int
    share_under_k: float
    least: float
    quantiles: Mapping[str, float]

    @property
    def sentence(self) -> str:
        """How many points have fewer people than k, and how few they have."""
        live = "live" if self.by == "addresses" else "are estimated to live"
        return (
            f"For {percent(self.share_under_k)} of {self.points:,} points, fewer than {self.k} "
            f"people {live} as near to the masked point as the person does; {self.least:,.4g} for "
            f"the worst, {self.quantiles['0.5']:,.4g} for the median."
        )


def place_risk(
    homes: Points, masked: Points, *, people: PointMap | AreaMap, k: int = 10
) -> PlaceRisk:
    """Count the people who live as near to each masked point as the person does.

    Parameters
    ----------
    homes, masked
        The points before and after, one of each for each row. Missing ones are left out.
    people
        All addresses of the region, with the people at each; or areas with polygons and people.
    k
        The wanted number of people, at least 1.

    Returns
    -------
    PlaceRisk

    Raises
    ------
    DataError
        If there are other numbers of points before and after, or no point in both.

    Notes
    -----
    Allshouse et al., "Geomasking sensitive health data and privacy protection" (Geocarto
    International 2010): actual k counts addresses, estimated k spreads the people of an area evenly
    over it. Knowing how far points are moved leaves fewer candidates than these: attack
    with ``places/snapping``, too.
    """
    from halfmask.geo import nearest  # noqa: PLC0415 # scipy loads late

    integer_at_least(1, owner="place_risk", k=k)
    homes, masked = paired(homes, masked)
    counted = isinstance(people, PointMap)
    if isinstance(people, PointMap):
        found = nearest.Neighbours(people).actual_k(homes, masked)
    else:
        found = nearest.k_by_areas(people, homes, masked)
    return PlaceRisk(
        by="addresses" if counted else "areas",
        points=len(found),
        k=k,
        share_under_k=float((found < k).mean()),
        least=float(found.min()),
        quantiles={
            f"{share:g}": float(np.quantile(found, share, method="lower")) for share in QUANTILES
        },
    )
