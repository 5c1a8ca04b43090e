"""The tree of named paths that the scanner follows, and the shape that the output has."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np

from halfmask._errors import PolicyError
from halfmask.events.block._paths import Path, Step, advance, closure
from halfmask.events.block._values import written_text

if TYPE_CHECKING:
    from numpy.typing import NDArray


#: Behind the names, so that eight bytes can be read from any of them on.
_PADDING = 8
_LEAST_NODES = 64
_State = frozenset[tuple[int, int]]


class PathTree:
    """The paths that are read from events; all others are skipped.

    Notes
    -----
    **Guarantees.** Never changes: places that stars are found to mean in a block are that
    block's own, so blocks give the same in any order and in any number of threads.

    Examples
    --------
    >>> tree = PathTree(["time", "products[].id", "meta.*"])
    >>> [str(path) for path in tree.paths]
    ['time', 'products[].id', 'meta.*']
    """

    def __init__(self, paths: Iterable[str | Path]) -> None:
        found = (Path.parse(path) if isinstance(path, str) else path for path in paths)
        self.paths = tuple(dict.fromkeys(Path(steps=path.steps) for path in found))
        self._root = ScanTree.of([path.steps for path in self.paths])

    def for_block(self) -> ScanTree:
        """Return the tree as the scan of one block begins with it."""
        return self._root.copied()


class ScanTree:
    """A tree of paths while a block is scanned: arrays for the scanner, and how they grow.

    A node is a place; its state is how far along which pattern it is. Nodes that a path without
    stars names are there from the start; where a star is met, an event's own field makes the node.
    """

    def __init__(self, patterns: Sequence[tuple[str | Step, ...]]) -> None:
        self.patterns = patterns
        self.count = 0
        self.steps: list[tuple[str | Step, ...]] = []
        self.nodes: dict[tuple[str | Step, ...], int] = {}
        self.levels: list[int] = [0]
        #: Slots of each level for each byte of a block, as blocks before had them: a guess at how
        #: much room is needed, that all blocks of a tree share.
        self.density: dict[int, float] = {}
        self.named_levels = 1
        self._states: list[_State] = []
        self.flags = np.zeros(_LEAST_NODES, dtype=np.uint8)
        self.element = np.full(_LEAST_NODES, -1, dtype=np.int32)
        self.level = np.zeros(_LEAST_NODES, dtype=np.int32)
        self.parents = np.full(_LEAST_NODES, -1, dtype=np.int32)
        self.spans = np.full((_LEAST_NODES, 2), -1, dtype=np.int64)
        self.stamps = np.zeros(_LEAST_NODES, dtype=np.int64)
        self.firsts = np.full(_LEAST_NODES, -1, dtype=np.int64)
        self.counts = np.zeros(_LEAST_NODES, dtype=np.int64)
        self.names = np.zeros(_PADDING, dtype=np.uint8)
        self.table = np.full(8 * _LEAST_NODES, -1, dtype=np.int32)
        self._entered = self._used = 0

    @classmethod
    def of(cls, patterns: Sequence[tuple[str | Step, ...]]) -> Self:
        """Return the tree that patterns make before any event is seen."""
        tree = cls(patterns)
        state = {(p, at) for p, steps in enumerate(patterns) for at in closure(steps, {0})}
        tree._add(-1, (), frozenset(state))
        tree.named_levels = len(tree.levels)
        tree._enter()
        return tree

    def copied(self) -> ScanTree:
        """Return a tree that grows by itself."""
        other = ScanTree.__new__(ScanTree)
        other.__dict__.update(self.__dict__)
        for name in ("steps", "nodes", "levels", "_states"):
            setattr(other, name, getattr(self, name).copy())
        for name in (*_ARRAYS, "names", "table"):
            setattr(other, name, getattr(self, name).copy())
        return other

    def grow(self, node: int, step: str | Step) -> None:
        """Add the child of a node with a star that an event has."""
        self._add(node, (*self.steps[node], step), self._after(node, step))
        self._enter()

    def wanted(self, node: int) -> bool:
        """Return whether a node is a place that one of the patterns means."""
        return any(at == len(self.patterns[p]) for p, at in self._states[node])

    def _after(self, node: int, step: str | Step) -> _State:
        found: set[tuple[int, int]] = set()
        for p, at in self._states[node]:
            found.update((p, then) for then in advance(self.patterns[p], {at}, step))
        return frozenset(found)

    def _next_steps(self, node: int, *, named: bool = False) -> list[str | Step]:
        """Return the steps that patterns take from a node; only of those without stars."""
        patterns = ((self.patterns[p], at) for p, at in sorted(self._states[node]))
        found = (
            steps[at]
            for steps, at in patterns
            if at < len(steps) and not (named and {Step.FIELD, Step.BENEATH} & set(steps))
        )
        return list(dict.fromkeys(found))

    def _add(self, parent: int, steps: tuple[str | Step, ...], state: _State) -> None:
        """Add a node, and those beneath it that are there whatever events have."""
        from halfmask.kernels.text.json_state import OPEN_ELEMENTS, OPEN_KEYS, RECORDED  # noqa: PLC0415 # numba is slow to import

        node = self.count
        self.count += 1
        self._make_room()
        self.steps.append(steps)
        self.nodes[steps] = node
        self._states.append(state)
        self.parents[node] = parent
        if parent >= 0:
            self.level[node] = self.level[parent]
            if isinstance(steps[-1], str):
                self.spans[node] = self._named(written_text(steps[-1]))
            else:
                self.element[parent] = node
                self.level[node] = len(self.levels)
                self.levels.append(node)
        following = self._next_steps(node)
        beneath = Step.BENEATH in following
        is_open = beneath or Step.FIELD in following
        if node and self.wanted(node):
            self.flags[node] |= RECORDED
        if is_open:
            self.flags[node] |= OPEN_KEYS
            if beneath or Step.ELEMENT in following:
                self.flags[node] |= OPEN_ELEMENTS
        for step in self._next_steps(node, named=True) if is_open else following:
            self._add(node, (*steps, step), self._after(node, step))

    def _named(self, name: bytes) -> tuple[int, int]:
        """Write a field's name down; return where it stands."""
        start, stop = self._used, self._used + len(name)
        if stop + _PADDING > len(self.names):
            more = np.zeros(stop + _PADDING, dtype=np.uint8)
            self.names = np.concatenate([self.names, more])
        self.names[start:stop] = np.frombuffer(name, dtype=np.uint8)
        self._used = stop
        return start, stop

    def _make_room(self) -> None:
        if self.count > len(self.flags):
            for name in _ARRAYS:
                array = getattr(self, name)
                fill = np.zeros_like if name in {"flags", "level", "stamps", "counts"} else _minus
                setattr(self, name, np.concatenate([array, fill(array)]))

    def _enter(self) -> None:
        """Bring the table of keys up to date."""
        from halfmask.kernels.text.json_keys import enter_children  # noqa: PLC0415 # as above

        if 4 * self.count > len(self.table):
            self.table = np.full(8 * len(self.flags), -1, dtype=np.int32)
            self._entered = 0
        enter_children(self._entered, self.count, self.parents, self.spans, self.names, self.table)
        self._entered = self.count


_ARRAYS = ("flags", "element", "level", "parents", "spans", "stamps", "firsts", "counts")


def _minus(array: NDArray[np.generic]) -> NDArray[np.generic]:
    return np.full_like(array, -1)


@dataclass(slots=True, eq=False, kw_only=True)
class ShapeNode:
    """A place in the output: a field of an object, or the elements of an array."""

    place: str
    level: str
    key: bytes = b""
    depth: int
    renamed: bool = False
    fields: dict[str, int] = field(default_factory=dict)
    element: int | None = None


class OutputShape:
    """Fields of the output, by their paths in the input.

    Examples
    --------
    >>> shape = OutputShape({"time": "date", "products[]": "group", "products[].id": None})
    >>> [(node.place, node.key.decode()) for node in shape.nodes[1:3]]
    [('time', '"date":'), ('products', '"group":')]
    """

    def __init__(self, names: Mapping[str, str | None]) -> None:
        self.nodes = [ShapeNode(place="", level="", depth=0)]
        self.places: dict[str, int] = {"": 0}
        for text, name in names.items():
            path = Path.parse(text)
            if not path.concrete or not path.steps:
                raise PolicyError(f"The path {text!r} can't be a field of the output.")
            self._make(path)
            if name is not None:
                self._rename(path, name)
        for node in self.nodes:
            keys = [self.nodes[child].key for child in node.fields.values()]
            if len(set(keys)) < len(keys):
                raise PolicyError(
                    f"Two fields of the output have one name, in {node.place or 'the event'}.",
                    hint="Give one of them another name.",
                )

    def _make(self, path: Path) -> None:
        """Make the nodes of a path that aren't there yet."""
        at = 0
        for i, step in enumerate(path.steps):
            above = self.nodes[at]
            found = above.element if step is Step.ELEMENT else above.fields.get(str(step))
            if found is None:
                place = Path(steps=path.steps[: i + 1])
                node = ShapeNode(place=place.place, level=place.level, depth=above.depth + 1)
                found = len(self.nodes)
                self.nodes.append(node)
                self.places[place.place] = found
                if isinstance(step, str):
                    above.fields[step] = found
                    node.key = _key(step)
                else:
                    above.element = found
            at = found

    def _rename(self, path: Path, name: str) -> None:
        steps = path.steps
        while steps[-1] is Step.ELEMENT:
            steps = steps[:-1]
        named, key = self.nodes[self.places[Path(steps=steps).place]], _key(name)
        if named.renamed and named.key != key:
            raise PolicyError(f"The field {named.place!r} is given two names.")
        named.key, named.renamed = key, True


def _key(name: str) -> bytes:
    try:
        return json.dumps(name, ensure_ascii=False).encode() + b":"
    except UnicodeEncodeError:
        raise PolicyError("The name of a field has a lone surrogate.") from None
