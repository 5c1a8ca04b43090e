"""The places of a sample of events, and what was met at each; maps aren't records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import polars as pl

from halfmask.data.value_patterns import PATTERNS
from halfmask.events.block._paths import Step
from halfmask.events.block._values import Kind

#: An object with more names than this is a map, and so is whatever is met beyond so many places.
MOST_NAMES: Final = 200
MOST_PLACES: Final = 20_000
#: Fewer names than this may be rare by chance.
FEWEST_NAMES: Final = 8
#: Names that so few of the objects have are values.
RARE_SHARE: Final = 0.01
RARE_OBJECTS: Final = 2
VALUE_NAMES: Final = 0.3
#: Where all that stands under names is alike, they are values if objects have at most half of
#: them, or if half of them, and two at least, are met as values elsewhere.
FULL_SHARE: Final = 0.5
FEWEST_MET: Final = 2
#: How many names of a map are counted, and how much of a text is looked at.
MOST_COUNTED: Final = 100_000
LETTERS: Final = 500

#: In the syntax of Rust's regex crate, as the others.
_NUMBER_OR_DAY: Final = r"^\d+$|^\d{4}-\d{2}-\d{2}"
_HEXADECIMAL: Final = r"^(?i:[0-9a-f]{8,})$"
_KINDS: Final = {bool: Kind.TRUE, int: Kind.INTEGER, float: Kind.NUMBER, str: Kind.STRING}


class Node:
    """A place: how often it was met as what, and the scalars that stood there."""

    __slots__ = (
        "_last", "_names", "element", "events", "fields", "kinds", "longest", "met", "star",
        "values",
    )  # fmt: skip

    def __init__(self) -> None:
        self.kinds: Counter[Kind] = Counter()
        self.values: list[Any] = []
        self.events: list[int] = []
        self.met = 0
        self.longest = 0
        self.fields: dict[str, Node] = {}
        self.element: Node | None = None
        self.star: Node | None = None
        self._last = -1
        self._names: set[int] = set()

    @property
    def names(self) -> int:
        """How many names it had, up to the limit of counting."""
        return len(self._names) if self.star is not None else len(self.fields)

    def note(self, kind: Kind, event: int) -> None:
        """Count that it was met."""
        self.kinds[kind] += 1
        if event != self._last:
            self._last = event
            self.met += 1

    def as_map(self) -> Node:
        """Take its fields for the values of a map, and return the place of them all."""
        if self.star is None:
            self.star = Node()
            self._names = set(map(hash, self.fields))
            for child in self.fields.values():
                self.star.take_in(child)
            self.fields = {}
        return self.star

    def named(self, name: str) -> None:
        """Count a name of a map."""
        if len(self._names) < MOST_COUNTED:
            self._names.add(hash(name))

    def take_in(self, other: Node) -> None:
        """Add all that was met at another place."""
        self.kinds.update(other.kinds)
        self.values += other.values
        self.events += other.events
        self.met += other.met
        self.longest = max(self.longest, other.longest)
        if other.element is not None:
            self.element = self.element or Node()
            self.element.take_in(other.element)
        if other.star is not None:
            self.as_map().take_in(other.star)
            self._names |= other._names
        for name, child in other.fields.items():
            if self.star is not None:
                self.named(name)
                self.star.take_in(child)
            else:
                self.fields.setdefault(name, Node()).take_in(child)
        if self.star is None and len(self.fields) > MOST_NAMES:
            self.as_map()

    def settle(self, met: frozenset[str], *, is_event: bool = False) -> None:
        """Find what is a map: by how many names there are, how rare they are, how they look.

        `met` are names that are met as values, too. The event's own names are those of fields also
        where what stands under them is alike.
        """
        is_map = self._looks_like_a_map() or (not is_event and self._is_of_values(met))
        if self.star is None and is_map:
            self.as_map()
        for child in self._beneath():
            child.settle(met)

    def _beneath(self) -> Iterator[Node]:
        yield from self.fields.values()
        yield from (each for each in (self.element, self.star) if each is not None)

    def values_among(self, names: set[str]) -> set[str]:
        """Return which names are met as values, here or beneath."""
        found: set[str] = names.intersection(self.values)
        return found.union(*(child.values_among(names) for child in self._beneath()))

    def names_of_fields(self) -> set[str]:
        """Return all names of fields, here and beneath."""
        return set(self.fields).union(*(child.names_of_fields() for child in self._beneath()))

    def _is_of_values(self, met: frozenset[str]) -> bool:
        """Return whether names are values by what stands under them, which is alike in a map."""
        names, objects = len(self.fields), self.kinds[Kind.OBJECT]
        if names < FEWEST_MET or not self._is_alike():
            return False
        known = len(met.intersection(self.fields))
        if known >= FEWEST_MET and 2 * known >= names:
            return True
        filled = sum(child.kinds.total() for child in self.fields.values())
        return names >= FEWEST_NAMES and filled <= FULL_SHARE * names * objects

    def _is_alike(self) -> bool:
        """Return whether fields are of much the same types, and objects of much the same fields."""
        children = list(self.fields.values())
        forms = [child.form for child in children]
        met = frozenset().union(*forms)
        if met and len(met) * len(forms) >= 2 * sum(map(len, forms)):
            return False
        beneath = [set(child.fields) for child in children if child.star is None]
        return len(set().union(*beneath)) * len(beneath) <= 2 * sum(map(len, beneath))

    @property
    def form(self) -> frozenset[Kind]:
        """What it was met as; numbers are one kind, null is none."""
        kinds = {Kind.NUMBER if kind is Kind.INTEGER else kind for kind in self.kinds}
        return frozenset(kinds - {Kind.NULL})

    def _looks_like_a_map(self) -> bool:
        names, objects = len(self.fields), self.kinds[Kind.OBJECT]
        if not names:
            return False
        if _values_among(list(self.fields)) >= VALUE_NAMES * names:
            return True
        few = max(RARE_OBJECTS, RARE_SHARE * objects)
        rare = sum(child.kinds.total() <= few for child in self.fields.values())
        return names >= FEWEST_NAMES and objects > few and 2 * rare > names


class SampleTree:
    """All places of a sample."""

    def __init__(self, most_values: int) -> None:
        self.root = Node()
        self.events = 0
        self._places = self._values = 0
        self._most = most_values

    @property
    def full(self) -> bool:
        """Whether no more events should come."""
        return self._values >= self._most

    def add(self, event: dict[str, Any]) -> None:
        """Take an event in."""
        self._add(self.root, event)
        self.events += 1

    def settle(self) -> None:
        """Find the maps, once all events are in."""
        names = self.root.names_of_fields()
        self.root.settle(frozenset(self.root.values_among(names)), is_event=True)

    def places(self) -> Iterator[tuple[tuple[str | Step, ...], Node]]:
        """Yield each place with its steps, in the order in which they were met."""
        yield from _places((), self.root)

    def _add(self, node: Node, value: Any) -> None:  # noqa: ANN401 # what JSON held
        if isinstance(value, dict):
            node.note(Kind.OBJECT, self.events)
            for name, child in value.items():
                self._add(self._child(node, name), child)
        elif isinstance(value, list):
            node.note(Kind.ARRAY, self.events)
            if value and node.element is None:
                node.element = Node()
            for child in value:
                self._add(node.element, child)  # type: ignore[arg-type] # made above
        elif value is None:
            node.note(Kind.NULL, self.events)
        else:
            node.note(_KINDS[type(value)], self.events)
            if isinstance(value, str) and value:
                node.longest = max(node.longest, len(value))
                value = value[:LETTERS]
            node.values.append(value)
            node.events.append(self.events)
            self._values += 1

    def _child(self, node: Node, name: str) -> Node:
        if node.star is None:
            child = node.fields.get(name)
            if child is not None:
                return child
            if len(node.fields) < MOST_NAMES and self._places < MOST_PLACES:
                self._places += 1
                child = node.fields[name] = Node()
                return child
        star = node.as_map()
        node.named(name)
        return star


def _values_among(names: list[str]) -> int:
    """Return how many names of fields have the form of a value: a number, a day, an address."""
    texts = pl.Series(names, dtype=pl.String)
    found = texts.str.contains(_NUMBER_OR_DAY)
    found |= texts.str.contains(_HEXADECIMAL) & texts.str.contains(r"\d")
    for pattern in PATTERNS.values():
        if pattern.identifies:
            found |= texts.str.contains(pattern.regex)
    return int(found.sum())


def _places(
    steps: tuple[str | Step, ...], node: Node
) -> Iterator[tuple[tuple[str | Step, ...], Node]]:
    if steps:
        yield steps, node
    for name, child in node.fields.items():
        yield from _places((*steps, name), child)
    if node.star is not None:
        yield from _places((*steps, Step.FIELD), node.star)
    if node.element is not None:
        yield from _places((*steps, Step.ELEMENT), node.element)
