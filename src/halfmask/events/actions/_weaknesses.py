"""What actions don't hide, word by word."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

__all__ = ["WEAKNESSES"]

WEAKNESSES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "averaging": "Repeats of one number average out: n of them leave the n-th part of the "
        "noise's variance.",
        "differences-kept": "Differences between numbers of one entity are exact, and one number "
        "that is known gives its others.",
        "equality-leaking": "Which values are equal is seen.",
        "free-text": "What no pattern finds stays in the text, and so does how somebody writes.",
        "frequency-leaking": "How often each value occurs is seen, and frequent ones are known by "
        "it.",
        "interval-fingerprint": "Times between an entity's events are exact; two or three of them "
        "single most entities out.",
        "interval-leaking": "Times between events are seen to within a cell of the grid.",
        "joinable": "The table is no key: what was made with the same table can be joined.",
        "known-date": "One known time of an entity gives its others.",
        "length-leaking": "How long a value was is seen, whole or in steps.",
        "names-kept": "Names of fields that stars found are written as they are.",
        "order-leaking": "What came before what, or was larger, is seen.",
        "outlier-visible": "The largest numbers stay about the largest.",
        "partly-kept": "A part of the value is written as it is.",
        "ratios-kept": "How many times one number is another is exact, and one number that is "
        "known gives the factor.",
        "value-kept": "The value is written as it is.",
        "zero-kept": "What was 0 is 0.",
    }
)
