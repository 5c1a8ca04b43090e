"""What a type of detail is: a pattern, and a check that decides how much of a match is a detail."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

#: A detail is no part of a word or number: no letter and no digit stands before or after it.
BEFORE: Final = r"(?<![^\W_])"
AFTER: Final = r"(?![^\W_])"
#: How many characters at the start of a match are a detail; 0 for none.
Length: TypeAlias = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class DetailPattern:
    """One form of a personal detail in a text."""

    needs: str
    regex: re.Pattern[str]
    length: Length = len

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where details begin and end, from left to right; none overlaps another.

        Examples
        --------
        >>> list(DetailPattern("@", re.compile(r"(@[a-z]+)")).spans("@ann and @bob"))
        [(0, 4), (9, 13)]
        """
        reached = 0
        for match in self.regex.finditer(text):
            start = match.start(1)
            if start < reached:
                continue
            length = self.length(match.group(1))
            if length:
                reached = start + length
                yield start, reached


def whole(check: Callable[[str], bool]) -> Length:
    """Return a check that takes a match whole or not at all.

    Examples
    --------
    >>> whole(str.isdigit)("123"), whole(str.isdigit)("12c")
    (3, 0)
    """
    return lambda text: len(text) * check(text)
