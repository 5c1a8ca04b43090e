"""What rules of places have in common: labels of places, and least numbers of people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import DataError, HierarchyError, ParameterError
from halfmask._validation import integer_at_least, list_of
from halfmask.data import Hierarchy
from halfmask.geo._maps import PointMap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray


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
