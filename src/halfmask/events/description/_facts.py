"""What was counted of one place of a sample of events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from halfmask.description.column_names import NameHint, hint_of, words_of
from halfmask.description.profile import profile_of
from halfmask.description.verdicts import can_be
from halfmask.events.block._paths import Path, Step
from halfmask.events.block._values import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from halfmask.description.profile import ColumnProfile
    from halfmask.events.description._tree import Node

#: JSON's words for what is met, in this order.
_WORDS: Final = {
    Kind.NULL: "null",
    Kind.TRUE: "boolean",
    Kind.INTEGER: "integer",
    Kind.NUMBER: "number",
    Kind.STRING: "string",
    Kind.OBJECT: "object",
    Kind.ARRAY: "array",
}
_LARGEST: Final = 1 << 63


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FieldFacts:
    """Counts of a place, and its scalars while they are looked at."""

    place: Path
    types: Mapping[str, int]
    events: int
    profile: ColumnProfile
    names: int
    longest: int
    hint: NameHint | None
    series: pl.Series = field(repr=False)
    event: NDArray[np.int64] = field(repr=False)

    @property
    def path(self) -> str:
        """The place as text."""
        return self.place.place

    @property
    def words(self) -> tuple[str, ...]:
        """The words of its own name; of an element, those of its array."""
        names = [step for step in self.place.steps if isinstance(step, str)]
        own = next((it for it in reversed(self.place.steps) if it is not Step.ELEMENT), None)
        return words_of(names[-1]) if isinstance(own, str) and names else ()

    @property
    def above(self) -> tuple[str, ...]:
        """The words of the name of what encloses it."""
        names = [step for step in self.place.steps if isinstance(step, str)]
        return words_of(names[-2]) if len(names) > 1 else ()

    @property
    def scalar_types(self) -> tuple[str, ...]:
        """The types of its scalars; numbers are one type, null is none."""
        found = {"number" if it == "integer" else it for it in self.types}
        return tuple(sorted(found - {"null", "object", "array"}))

    @property
    def nested(self) -> bool:
        """Whether it was met as an object or an array."""
        return "object" in self.types or "array" in self.types

    @property
    def of_events(self) -> bool:
        """Whether it is a field of the event, outside of arrays and maps."""
        return self.place.concrete and not self.place.level


def facts_of(steps: tuple[str | Step, ...], node: Node) -> FieldFacts:
    """Count what was met at a place."""
    place = Path(steps=steps)
    starred = Step.FIELD in steps  # counts of several names were added up
    series, hint = _series(place, node), _hint(steps)
    profile = profile_of(series)
    return FieldFacts(
        place=place,
        types={word: node.kinds[kind] for kind, word in _WORDS.items() if node.kinds[kind]},
        events=len(set(node.events)) if starred and node.values else node.met,
        profile=profile,
        names=node.names,
        longest=node.longest,
        hint=hint if hint is not None and can_be(profile, hint) else None,
        series=series,
        event=np.array(node.events, np.int64),
    )


def _series(place: Path, node: Node) -> pl.Series:
    """Return the scalars as a column; of several types, or too large numbers, as texts."""
    kinds = {type(value) for value in node.values}
    name = str(place.steps[-1])
    if kinds == {bool}:
        return pl.Series(name, node.values, dtype=pl.Boolean)
    if kinds == {int} and all(-_LARGEST <= value < _LARGEST for value in node.values):
        return pl.Series(name, node.values, dtype=pl.Int64)
    if kinds <= {int, float} and kinds:
        if float not in kinds:
            return pl.Series(name, list(map(str, node.values)), dtype=pl.String)
        return pl.Series(name, list(map(float, node.values)), dtype=pl.Float64)
    return pl.Series(name, list(map(str, node.values)), dtype=pl.String)


def _hint(steps: tuple[str | Step, ...]) -> NameHint | None:
    """Return what the name says; one that says little is read with the name before it."""
    names = [step for step in steps if isinstance(step, str)]
    if not names or steps[-1] is Step.FIELD:
        return None
    alone = hint_of(names[-1])
    if alone is None or alone.strong or len(names) == 1:
        return alone
    together = hint_of(f"{names[-2]} {names[-1]}")
    return together if together is not None and together.strong else alone
