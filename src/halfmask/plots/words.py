"""Words in pictures and pages: none becomes markup, none steers the reader's machine."""

from __future__ import annotations

import textwrap
import unicodedata
from html import escape
from typing import Final

_DIRECTIONS: Final = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def without_controls(text: str) -> str:
    r"""Return a text with controls, directions and what XML can't hold replaced.

    Examples
    --------
    >>> without_controls("a\u202eb") == without_controls("a\0b") == "a\ufffdb"
    True
    """
    return "".join("\N{REPLACEMENT CHARACTER}" if _is_refused(it) else it for it in text)


def safe(words: str) -> str:
    """Return words as they may stand in an element or an attribute."""
    return escape(without_controls(words))


def wrapped(words: str, letters: int) -> list[str]:
    """Break words into lines of at most so many letters; a longer word is cut."""
    return textwrap.wrap(" ".join(words.split()), letters) or [""]


def _is_refused(letter: str) -> bool:
    """Return whether a letter is a control, a surrogate, a direction, or none that XML can hold."""
    if letter in "\ufffe\uffff" or unicodedata.category(letter) in {"Cc", "Cs"}:
        return letter != "\n"
    return unicodedata.bidirectional(letter) in _DIRECTIONS
