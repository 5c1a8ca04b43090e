"""What output events look like: which fields, under which names, in which order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from halfmask._errors import PolicyError
from halfmask.events.block._paths import Path, Step


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

    Parameters
    ----------
    names
        For each path the name of its field in the output; None: its own. Fields of an object are in
        the order of their paths here. The path of an array or of its elements names the same field.

    Raises
    ------
    PolicyError
        A path has stars or a type, is the event itself, gives a field a second name, or gives two
        fields of an object one name.

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
