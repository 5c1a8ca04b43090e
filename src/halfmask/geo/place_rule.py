"""What a place is generalized by: from a point to the label of its finest area, and up from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import polars as pl

    from halfmask.data import Hierarchy
    from halfmask.geo.points import Points


@runtime_checkable
class PlaceRule(Protocol):
    """A hierarchy of places, which also says in which finest area a point lies."""

    def locate(self, points: Points) -> pl.Series:
        """Return the label of the finest area of each point, as texts; missing for missing ones.

        Parameters
        ----------
        points
            Of one batch. The label of a point depends on nothing else of the batch.

        Raises
        ------
        DataError
            If points lie in no area, with their number.
        """

    def of_codes(self, codes: pl.Series, *, column: str) -> pl.Series:
        """Return the label of the finest area of each code; missing for missing ones.

        Where a rule has a least number of people, only this keeps smaller areas out of a release.

        Parameters
        ----------
        codes, column
            Names of areas, cells of H3 or postal codes, and the column that has them.

        Raises
        ------
        DataError
            If codes aren't known, with their number.
        ParameterError
            If the rule needs points.
        """

    def build(self, values: pl.Series, *, column: str) -> Hierarchy:
        """Build the hierarchy above finest areas; see `halfmask.data.HierarchyRule`."""

    def people_of(self, label: str) -> float | None:
        """Return how many people the owner's map has in an area; ``None`` where it isn't known."""

    def outline(self, label: str) -> dict[str, Any] | None:
        """Return the geometry of a label of any level as GeoJSON has it; ``None``: of the root.

        Longitude and latitude where the points have them, else x and y.
        """
