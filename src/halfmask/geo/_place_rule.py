"""What a place is generalized by: from a point to the label of its finest area, and up from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from halfmask._errors import ParameterError

if TYPE_CHECKING:
    import polars as pl

    from halfmask.data import Hierarchy
    from halfmask.geo.points import Points, Unit


@runtime_checkable
class PlaceRule(Protocol):
    """A hierarchy of places that finds the finest area of a point or a code."""

    def locate(self, points: Points) -> pl.Series:
        """Return the label of the finest area of each point; missing for missing ones.

        Parameters
        ----------
        points
            Of one batch. The label of a point depends on nothing else of the batch.

        Raises
        ------
        DataError
            If points lie in no area, with their number.
        ParameterError
            If the rule needs codes.
        """
        raise ParameterError(f"{type(self).__name__} needs codes. Got {len(points)} points.")

    def of_codes(self, codes: pl.Series, *, column: str) -> pl.Series:
        """Return the label of the finest area of each code; missing for missing ones.

        With a least number of people, only this keeps smaller areas out of a release.

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
        raise ParameterError(
            f"{type(self).__name__} needs points. Column {column!r} has values of type "
            f"{codes.dtype.base_type()}."
        )

    def build(self, values: pl.Series, *, column: str) -> Hierarchy:
        """Build the hierarchy above finest areas; see `halfmask.data.HierarchyRule`.

        Parameters
        ----------
        values, column
            Labels of finest areas, each once, and the column that has them.

        Raises
        ------
        HierarchyError
            If values are no labels of finest areas, with their number.
        """

    def outline(self, label: str) -> dict[str, Any] | None:  # noqa: ARG002 # most rules have some
        """Return the geometry of a label as GeoJSON has it; ``None`` of the root.

        Longitude and latitude where the points have them, or a system is known, else x and y.

        Parameters
        ----------
        label
            Of any level.
        """
        return None

    @property
    def outline_unit(self) -> Unit:
        """What the coordinates of outlines are in."""
        return "degrees"

    def people_of(self, label: str) -> float | None:  # noqa: ARG002 # some rules count people
        """Return how many people live in an area; ``None`` where it isn't known.

        Parameters
        ----------
        label
            Of any level.
        """
        return None
