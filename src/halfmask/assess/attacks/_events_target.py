"""EventsTarget: events as they left, the events that they were made of, and whose they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl

from halfmask._errors import ParameterError
from halfmask.assess.attacks._inputs import (
    TakenInputs,
    as_frame,
    as_whole_numbers,
    check_columns,
    check_owners,
    check_plain,
    listed,
    several,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess._arrays import Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EventsTarget(TakenInputs):
    """Released events, the original ones, and the roles of their columns.

    Both are flat frames of polars: a row for each event, or for each item of a nested one, such as
    the products of an order; :meth:`of_events` makes them of dicts. Names of columns are those of
    the original.

    Parameters
    ----------
    released
        What left.
    original
        The rows it was made of, and any others that are known at home.
    entity
        Whose an event is. Attacks are judged by it and never see it. Rows without an entity are in
        the way of attackers, and aren't attacked.
    event
        What joins the rows of one event, which is one entity's; empty: each row is one.
    time
        When it was: dates, times, ISO 8601 text, or seconds. Empty if there is none.
    items
        What an attacker may know of a row that is no number: a product, a page, a place. A column
        of public generalizations may be added to the original to be compared with released ones.
    numbers
        The numbers that an attacker may know.
    pseudonym
        The *released* column whose equal values join events; empty: nothing joins them, and an
        attacker looks for single events. Where it is missing in a row, its event is alone.
    names
        The released name of each original column that was renamed. What isn't in the released
        columns was dropped.
    owners
        For each released row the number of its original row, or of any row of the same event where
        they are indistinguishable. ``None``: rows are in the same order.
    control
        Rows of entities that had no part in the release, with the original's columns.
    later
        A second release with the columns of the first, and its owners: attacks that join two need
        it.
    time_bounds
        The least and the most seconds by which a released time lies behind the true one, which a
        public policy states: a grid of an hour (-3600, 0). ``None``: measured on both.

    Raises
    ------
    ParameterError
        If owners are missing, no whole numbers, out of range, or too few, or columns are no list.
    ColumnNotFoundError
        If a column of a role is missing.
    DataError, SchemaError
        If a table is no frame, or one that can't be turned, or a column with a role holds lists or
        objects.

    Examples
    --------
    >>> released = [{"who": "ann", "at": 0.0, "page": "a"}, {"who": "bob", "at": 5.0, "page": "b"}]
    >>> left = [{"nr": 2, "at": 0.0, "page": "a"}, {"nr": 1, "at": 5.0, "page": "b"}]
    >>> EventsTarget.of_events(
    ...     left, released, entity="who", time="at", items=("page",), pseudonym="nr"
    ... )
    EventsTarget(2 released of 2 rows, joined by a pseudonym)
    """

    released: pl.DataFrame = field(metadata={"take": as_frame})
    original: pl.DataFrame = field(metadata={"take": as_frame})
    entity: str
    event: str = ""
    time: str = ""
    items: tuple[str, ...] = field(default=(), metadata={"take": listed("columns")})
    numbers: tuple[str, ...] = field(default=(), metadata={"take": listed("columns")})
    pseudonym: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    owners: NDArray[np.int64] | None = field(default=None, metadata={"take": as_whole_numbers})
    control: pl.DataFrame | None = field(default=None, metadata={"take": as_frame})
    later: tuple[pl.DataFrame, NDArray[np.int64] | None] | None = None
    time_bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        TakenInputs.__post_init__(self)
        if self.later is not None:
            later = several(
                self.later, parameter="later", owner="EventsTarget", of="a release and its owners"
            )
            if len(later) != 2:
                raise ParameterError("later must be a second release and its owners, or None.")
            owners = later[1]
            if owners is not None:
                owners = as_whole_numbers(owners, parameter="owners", owner="EventsTarget")
            object.__setattr__(self, "later", (as_frame(later[0]), owners))
        _require(self.columns, self.original, "the original")
        if self.control is not None:
            _require(self.columns, self.control, "the control rows")
        kept = [self.released_name(name) for name in self.columns if name != self.entity]
        named = [*self.names.values(), *([self.pseudonym] * bool(self.pseudonym))]
        for released, owners in self.releases:
            _require([*named, *filter(None, kept)], released, "the released rows")
            check_owners(owners, released.height, self.original.height)
        _require([*self.names], self.original.select(self.columns), "the roles")
        if self.time_bounds is not None:
            self._check_bounds(self.time_bounds)

    def _check_bounds(self, bounds: object) -> None:
        numbers = bounds if isinstance(bounds, tuple | list) else ()
        if not all(isinstance(each, int | float) for each in numbers) or not (
            len(numbers) == 2 and numbers[0] <= numbers[1]
        ):
            raise ParameterError("time_bounds must be the least and the most seconds.")

    @classmethod
    def of_events(
        cls,
        released: Sequence[Mapping[str, Any]],
        original: Sequence[Mapping[str, Any]],
        *,
        entity: str,
        control: Sequence[Mapping[str, Any]] | None = None,
        owners: Sequence[int] | None = None,
        **roles: Any,  # noqa: ANN401 # those of the class
    ) -> Self:
        """Make one of nested events, as they are read from JSON lines.

        Parameters
        ----------
        released, original, control
            Events as dicts. Fields of objects are named ``a.b``, of objects in an array
            ``products[].id``; of two arrays one is followed, the first that a role names.
        entity
            As of the class.
        owners
            For each released event the number of its original one; ``None``: in the same order.
        **roles
            As of the class, except for ``event``, which is the event itself.
        """
        wanted = [entity, *(it for it in (roles.get("time", ""),) if it)]
        wanted += [*roles.get("items", ()), *roles.get("numbers", ())]
        names = dict(roles.get("names", {}))
        left = [names.get(it, it) for it in wanted if it != entity]
        left += [roles["pseudonym"]] if roles.get("pseudonym") else []
        arrays = {name.split("[]")[0] for name in names.values() if "[]" in name}
        if arrays:  # what isn't in the array under its new name was dropped
            left = [name for name in left if "[]" not in name or name.split("[]")[0] in arrays]
        inner, rows = flattened(original, wanted)
        outer, made = flattened(released, left)
        kept = {name: cells for name, cells in made.items() if any(it is not None for it in cells)}
        events = np.arange(len(released)) if owners is None else np.asarray(owners, dtype=np.int64)
        whose = events[outer]
        first = np.searchsorted(inner, whose)
        counts = np.bincount(inner, minlength=len(original))
        place = np.arange(len(outer)) - np.searchsorted(outer, outer)
        return cls(
            released=_with_event(outer, kept),
            original=_with_event(inner, rows),
            control=None if control is None else _with_event(*flattened(control, wanted)),
            entity=entity,
            event="_EVENT",
            owners=first + np.minimum(place, np.maximum(counts[whose] - 1, 0)),
            **roles,
        )

    def unprotected(self) -> Self:
        """Return the same events with pseudonyms and nothing else: the positive control."""
        name = "pseudonym"
        while name in self.original.columns:
            name += "_"
        number = self.original.select(pl.col(self.entity).cast(pl.String).rank("dense"))
        roles = [self.original[column] for column in self.columns if column != self.entity]
        numbered = pl.DataFrame([*roles, number.to_series().alias(name)])
        owners = [_owners(frame, given) for frame, given in self.releases]
        return replace(
            self,
            released=numbered[owners[0]],
            owners=owners[0],
            pseudonym=name,
            names={},
            later=(numbered[owners[1]], owners[1]) if self.later is not None else None,
            time_bounds=(0.0, 0.0),
        )

    def __repr__(self) -> str:
        joined = "joined by a pseudonym" if self.pseudonym else "not joined"
        return (
            f"EventsTarget({self.released.height} released of {self.original.height} rows, "
            f"{joined})"
        )

    @property
    def columns(self) -> list[str]:
        """The original's columns that have a role, each once."""
        one = [self.entity, *([self.event] if self.event else []), *([self.time] * bool(self.time))]
        return list(dict.fromkeys([*one, *self.items, *self.numbers]))

    @property
    def releases(self) -> list[tuple[pl.DataFrame, NDArray[np.int64] | None]]:
        """The release, and the later one where there is one, with their owners."""
        return [(self.released, self.owners), *([] if self.later is None else [self.later])]

    @property
    def owner_of_row(self) -> NDArray[np.int64]:
        """The number of each released row's original row."""
        return _owners(self.released, self.owners)

    def released_name(self, column: str) -> str:
        """Return the released name of an original column; empty if it was dropped.

        Parameters
        ----------
        column
            The name in the original events.
        """
        name = self.names.get(column, column)
        return name if name in self.released.columns else ""


def _owners(frame: pl.DataFrame, owners: Ints | None) -> Ints:
    return np.arange(frame.height, dtype=np.int64) if owners is None else np.asarray(owners)


def _with_event(number: Ints, cells: dict[str, list[object]]) -> pl.DataFrame:
    return pl.DataFrame({"_EVENT": number, **cells}, strict=False)


def _require(names: Sequence[str], frame: pl.DataFrame, where: str) -> None:
    check_columns(names, frame.columns, where=where)
    check_plain(frame, names, where=where)


def flattened(
    events: Sequence[Mapping[str, Any]], paths: Sequence[str]
) -> tuple[Ints, dict[str, list[object]]]:
    """Return the number of each row's event, and a column for each path.

    An event whose array is empty or absent has one row. What is missing is ``None``, and so is a
    container: it has no value of its own.

    Examples
    --------
    >>> order = {"who": "ann", "products": [{"id": "x"}, {"id": "y"}]}
    >>> flattened([order], ["who", "products[].id"])
    (array([0, 0]), {'who': ['ann', 'ann'], 'products[].id': ['x', 'y']})
    """
    arrays = sorted({path.split("[]")[0] for path in paths if "[]" in path})
    if len(arrays) > 1:
        raise ParameterError("Roles must name fields of one array of events at most.")
    columns: dict[str, list[object]] = {path: [] for path in paths}
    within = {path: path.split("[]", 1)[1].lstrip(".") for path in paths if "[]" in path}
    number: list[int] = []
    for place, event in enumerate(events):
        elements = _at(event, arrays[0], leaf=False) if arrays else None
        parts = elements if isinstance(elements, list) and elements else [None]
        number += [place] * len(parts)
        for path in paths:
            if path in within:
                columns[path].extend(_at(part, within[path]) for part in parts)
            else:
                columns[path].extend([_at(event, path)] * len(parts))
    return np.asarray(number, dtype=np.int64), columns


def _at(value: object, path: str, *, leaf: bool = True) -> object:
    """Return what stands at a path without arrays; ``None`` where nothing does."""
    for name in path.split(".") if path else ():
        value = value.get(name) if isinstance(value, Mapping) else None
    return None if leaf and isinstance(value, Mapping | list) else value
