"""What a place is generalized by: from a point to the label of its finest area, and up from it.

Then what rules have in common: labels of places, and least numbers of people.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import polars as pl

from halfmask._errors import DataError, HierarchyError, ParameterError
from halfmask._validation import integer_at_least, list_of
from halfmask.data import Hierarchy
from halfmask.geo._maps import PointMap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

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


def each_label(
    label: Callable[..., Sequence[str]], there: NDArray[np.bool_], *of: NDArray[np.generic]
) -> pl.Series:
    """Return a label for each point that is there, made once for each place."""
    names = [str(number) for number in range(len(of))]
    at = pl.DataFrame(dict(zip(names, of, strict=True)))
    places = at.unique(maintain_order=True)
    made = pl.Series(label(*(places[name].to_numpy() for name in names)), dtype=pl.String)
    labels = at.join(places.with_columns(label=made), on=names, how="left", maintain_order="left")
    numbers = np.where(there, np.cumsum(there) - 1, -1)
    return labels["label"].gather(pl.Series(numbers).replace(-1, None))


def rooted(levels: Iterable[pl.Series | Sequence[str]], column: str) -> Hierarchy:
    """Return the hierarchy of levels, the finest first, with the root above."""
    named = {str(number): pl.Series(it, dtype=pl.String) for number, it in enumerate(levels)}
    frame = pl.DataFrame(named).sort(list(named)[::-1])
    return Hierarchy.from_levels(frame, column=column, root=True)


def check_known(known: Sequence[bool], column: str, what: str) -> None:
    """Raise if a column has values that are no labels of a rule."""
    strange = len(known) - sum(known)
    if strange:
        raise HierarchyError(
            f"Column {column!r} has {strange} values that are no {what} of its hierarchy."
        )


def rising(least: object, *, owner: str) -> tuple[int, ...]:
    """Return numbers of people, each level's greater than the one before."""
    list_of("integers", lambda it: isinstance(it, int), owner=owner, least=least)
    found: tuple[int, ...] = tuple(least)  # type: ignore[arg-type] # a list, as was checked
    for many in found:
        integer_at_least(1, owner=owner, least=many)
    if list(found) != sorted(set(found)):
        raise ParameterError(f"The 'least' of {owner} must rise from level to level.")
    return found


def check_people(people: object, *kinds: type, owner: str) -> None:
    """Raise unless a map is of one of these kinds and says how many people there are."""
    if not isinstance(people, kinds) or getattr(people, "people", None) is None:
        wanted = "named areas" if PointMap not in kinds else "points"
        without = " without people" if isinstance(people, kinds) else ""
        raise ParameterError(
            f"The 'people' parameter of {owner} must be a map of {wanted} with numbers of people. "
            f"Got {type(people).__name__}{without}.",
            hint='Name the column of the map that has them: people = "POPULATION".',
        )


def check_enough(people: float, least: int, *, owner: str) -> None:
    """Raise if a whole map has too few people."""
    if people < least:
        raise DataError(
            f"The map of people of {owner} has {people:g} in all, fewer than the {least} of "
            "'least'."
        )
