"""From nested events to rows: one for each element of the array that a role names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def flattened(
    events: Sequence[Mapping[str, Any]], paths: Sequence[str]
) -> tuple[NDArray[np.int64], dict[str, list[object]]]:
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
