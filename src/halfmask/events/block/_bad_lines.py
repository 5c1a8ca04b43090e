"""How large lines may be, and which were refused and why; never what was in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, overload

import numpy as np

from halfmask._validation import integer_at_least

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Beyond what a line is refused, so that no line can take more than its share.

    Parameters
    ----------
    depth
        How many objects and arrays may be within each other, the event's own counted.
    line_bytes
        How long a line may be, in bytes without its end.
    paths
        How many places stars may be found to mean in one block.

    Raises
    ------
    ParameterError
        One of them is less than 1.

    Examples
    --------
    >>> Limits(depth=16).line_bytes
    16777216
    """

    depth: int = 128
    line_bytes: int = 1 << 24
    paths: int = 4096

    def __post_init__(self) -> None:
        integer_at_least(
            1, owner="Limits", depth=self.depth, line_bytes=self.line_bytes, paths=self.paths
        )


class Reason(StrEnum):
    """Why a line was refused, by the first fault that is met; never what was in it."""

    NOT_JSON = "not-json"
    NOT_UTF8 = "not-utf8"
    LONE_SURROGATE = "lone-surrogate"
    TOO_DEEP = "too-deep"
    TOO_LONG = "too-long"
    DUPLICATE_KEY = "duplicate-key"
    NOT_AN_OBJECT = "not-an-object"
    TOO_MANY_PATHS = "too-many-paths"


#: By the numbers that the scanner has for them, which begin at 1.
_REASONS = tuple(Reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class BadLine:
    """A line that was refused."""

    line: int
    reason: Reason
    start: int
    stop: int


class BadLines(Sequence[BadLine]):
    """The refused lines of a block, in their order: made when they are looked at.

    A block may be nothing but millions of bad lines of a byte each.
    """

    __slots__ = ("_rows",)

    def __init__(self, rows: NDArray[np.int64]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> BadLine: ...
    @overload
    def __getitem__(self, index: slice) -> BadLines: ...
    def __getitem__(self, index: int | slice) -> BadLine | BadLines:
        if isinstance(index, slice):
            return BadLines(self._rows[index])
        return _made(self._rows[index].tolist())

    def __iter__(self) -> Iterator[BadLine]:
        # So many at a time that lists of them take no room to speak of.
        for at in range(0, len(self), 1024):
            yield from map(_made, self._rows[at : at + 1024].tolist())

    def __repr__(self) -> str:
        return f"<{len(self)} bad lines>"

    def counts(self) -> dict[Reason, int]:
        """Return how many lines were refused for each reason that there was."""
        found = np.bincount(self._rows[:, 1], minlength=len(_REASONS) + 1)[1:].tolist()
        return {reason: count for reason, count in zip(_REASONS, found, strict=True) if count}


def _made(row: list[int]) -> BadLine:
    line, reason, start, stop = row
    return BadLine(line=line, reason=_REASONS[reason - 1], start=start, stop=stop)
