"""PlaceAssessment: what moving points leaves at risk, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask._facts import Facts
from halfmask.assess.attacks import PlacesTarget, attack, explain_verdicts
from halfmask.assess.masking._assessment import ARMS, three_arms
from halfmask.assess.risk import PlaceRisk, percent, place_risk
from halfmask.assess.utility import place_utility
from halfmask.geo import PointMap
from halfmask.plots.geo_map import GeoMap
from halfmask.release import PicturesBlock, TableBlock

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from halfmask.assess._arrays import Floats
    from halfmask.assess.attacks import Finding
    from halfmask.assess.utility import PlaceUtility
    from halfmask.geo import AreaMap, PlaceColumns, Points


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceAssessment(Facts):
    """The measured risk and utility of points that were moved.

    Parameters
    ----------
    columns
        The columns of the points.
    utility
        How far points were moved, and what is left of their pattern.
    risks
        The people near masked points, by each map of people.
    findings
        Attacks on the masked points: by addresses, and by a few known places.
    before, after
        The points, for `to_svg` alone.
    """

    facts = ("columns", "utility", "risks", "attacks=findings")

    columns: tuple[str, str]
    utility: PlaceUtility
    risks: tuple[PlaceRisk, ...]
    findings: tuple[Finding, ...]
    before: Points = field(repr=False, compare=False)
    after: Points = field(repr=False, compare=False)

    @property
    def warning(self) -> str | None:
        """What the most successful attack finds; ``None`` if all are resisted."""
        broken = [it for it in self.findings if it.verdict == "broken"]
        worst = max(broken, key=lambda it: it.outcome.excess.value, default=None)
        return None if worst is None else f"Places can be found: {worst.sentence}"

    def to_svg(self) -> str:
        """Draw original and masked points on one map, as SVG.

        It shows original places: keep it private.
        """
        return self._map("Places before and after", before=_drawn(self.before)).drawing()

    def _map(self, title: str, before: Floats | None = None) -> GeoMap:
        return GeoMap(
            name=f"places-{'-'.join(self.columns)}",
            title=title,
            description=self.utility.sentence,
            before=before,
            after=_drawn(self.after),
            metres=None if self.after.on_earth else 1.0,
        )

    def blocks(self) -> tuple[TableBlock | PicturesBlock, ...]:
        """Return tables and a map for the page of a release, without original places."""
        named = " and ".join(map(repr, self.columns))
        measured = TableBlock(
            title=f"Places in {named}",
            columns=("measure", "before", "after", "change"),
            rows=list(_rows(self.utility)),
            caption=f"{self.utility.sentence} Clark-Evans is 1 for points at random, less for "
            "clusters. Ripley's L(r) - r is 0 for points at random.",
        )
        near = TableBlock(
            title=f"People near masked places in {named}",
            columns=("by", "k", "under k", "least", "1 %", "5 %", "median"),
            rows=[
                [it.by, f"{it.k}", percent(it.share_under_k), f"{it.least:,.4g}"]
                + [f"{it.quantiles[share]:,.4g}" for share in ("0.01", "0.05", "0.5")]
                for it in self.risks
            ],
            caption="People who live at most as far from the masked place as the person does.",
        )
        attacks = TableBlock(
            title=f"Attacks on places in {named}",
            columns=("attack and measure", *ARMS),
            rows=[
                [f"{it.outcome.attack}: {it.outcome.measure}", *three_arms(it)]
                for it in self.findings
            ],
            caption=" ".join(explain_verdicts(self.findings)),
        )
        caption = f"{self.utility.points:,} of the released points."
        released = self._map(f"Masked places in {named}")
        drawn = PicturesBlock(f"Map of {named}", "", [("", released, caption)], series=("", ""))
        return (*(block for block in (measured, near, attacks) if block.rows), drawn)


def assess_places(
    original: pl.DataFrame,
    masked: pl.DataFrame,
    points: PlaceColumns,
    *,
    maps: Sequence[PointMap | AreaMap] = (),
    k: int = 10,
    person: str | None = None,
    centre: tuple[float, float] | None = None,
) -> PlaceAssessment | None:
    """Measure what moving points leaves at risk, and what it costs.

    Parameters
    ----------
    original, masked
        The rows before and after, in the same order.
    points
        The columns of the points.
    maps
        Maps of addresses, and of areas. Homes are attacked by the first one of addresses, and
        points are counted in the first one of areas.
    k
        The wanted number of people near a masked place.
    person
        The column that says whose row it is.
    centre
        The point round which an affine mask turns others.

    Returns
    -------
    PlaceAssessment
        ``None`` where no row has a point before and after.
    """
    addresses = next((it for it in maps if isinstance(it, PointMap)), None)
    target = PlacesTarget(
        released=masked,
        original=original,
        points=points.columns,
        unit=points.unit,
        crs=points.crs,
        person=person,
        addresses=addresses,
        centre=centre,
    )
    true, seen, _ = target.pairs()
    if not len(true):
        return None
    areas = [it for it in maps if not isinstance(it, PointMap)]
    located = (it for it in areas if it.shapes is not None or it.centres is not None)
    people: list[PointMap | AreaMap] = [] if addresses is None else [addresses]
    people += [it for it in areas if it.shapes is not None and it.people is not None]
    return PlaceAssessment(
        columns=points.columns,
        before=true,
        after=seen,
        utility=place_utility(true, seen, areas=next(located, None)),
        risks=tuple(place_risk(true, seen, people=it, k=k) for it in people),
        findings=attack(target, unprotected=target.unprotected()).findings,
    )


def _drawn(points: Points) -> Floats:
    return np.column_stack((points.x, points.y)) if points.on_earth else points.in_space()


def _rows(found: PlaceUtility) -> Iterator[list[str]]:
    """Yield what is shown of patterns: before, after, and the change."""
    yield ["centroid", "", "", f"{found.centroid_drift:,.0f} m"]
    yield ["place", "", "", f"{found.mean:,.0f} m (mean)"]
    before, after, change = found.before, found.after, found.ripley_change
    if before is not None and after is not None and change is not None:
        yield ["nearest other place", f"{before.nearest:,.0f} m", f"{after.nearest:,.0f} m", ""]
        yield ["Clark-Evans", f"{before.clark_evans:.3f}", f"{after.clark_evans:.3f}", ""]
        yield ["Ripley's L(r)", "", "", f"{change:,.0f} m (largest)"]
    if found.hot_spots_kept is not None:
        yield ["hot spots", f"{found.hot_spots:,}", "", f"{percent(found.hot_spots_kept)} in both"]
    if found.count_change is not None:
        yield ["places in an area", "", "", f"{found.count_change:,.4g} (mean)"]
