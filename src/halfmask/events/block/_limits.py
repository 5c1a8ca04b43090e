"""How much of one line is read before it is refused."""

from __future__ import annotations

from dataclasses import dataclass

from halfmask._validation import integer_at_least


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
