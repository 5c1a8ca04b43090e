"""Merge a sequence in pairs, in order, as a balanced tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask._errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from halfmask.engines.engine import Part


def merged(parts: Iterable[Part], merge: Callable[[Part, Part], Part]) -> Part:
    """Return all parts merged, each with its neighbour.

    Sums of two, four, eight ... parts are kept. So each part is merged a few times instead of once
    for every later part, and no more parts are held than there are such sums.

    Examples
    --------
    >>> merged("abcde", lambda left, right: f"({left}{right})")
    '(((ab)(cd))e)'
    """
    held: list[tuple[int, Part]] = []
    for part in parts:
        held.append((1, part))
        del part  # no name may keep a part alive that is merged
        while len(held) > 1 and held[-1][0] == held[-2][0]:
            _join_last(held, merge)
    while len(held) > 1:
        _join_last(held, merge)
    if not held:
        raise DataError("There is no batch to summarize.")
    return held[0][1]


def _join_last(held: list[tuple[int, Part]], merge: Callable[[Part, Part], Part]) -> None:
    (size, before), (more, after) = held[-2:]
    held[-2:] = [(size + more, merge(before, after))]
