"""What a release doesn't protect from, word by word: one registry for every kind of release."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

__all__ = ["WEAKNESSES", "weakness_sentence"]

#: What each weakness that an artefact names means.
WEAKNESSES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "averaging": (
            "Repeats of one number average out: n of them leave the n-th part of the noise's "
            "variance."
        ),
        "background-knowledge": (
            "Who knows that a person does not have some values can exclude them within a class."
        ),
        "differences-kept": (
            "Differences between numbers of one entity are exact, and one number that is known "
            "gives its others."
        ),
        "downcoding": (
            "Who knows the algorithm and the hierarchies can sometimes infer finer values than a "
            "generalized one (Cohen 2022)."
        ),
        "equality-leaking": "Which values are equal is seen.",
        "free-text": "What no pattern finds stays in the text, and so does how somebody writes.",
        "frequency-leaking": (
            "How often each value occurs is seen, and frequent ones are known by it."
        ),
        "heaped-at-bounds": "How many values lie beyond a bound is seen.",
        "interval-fingerprint": (
            "Times between an entity's events are exact; two or three of them single most entities "
            "out."
        ),
        "interval-leaking": "Times between events are seen to within a cell of the grid.",
        "joinable": "The table is no key: what was made with the same table can be joined.",
        "known-date": "One known time of an entity gives its others.",
        "left-out-values": "A value may be written that only rows have which were left out.",
        "length-leaking": "How long a value was is seen, whole or in steps.",
        "minimality": (
            "Who knows the policy and the method can learn something from the cuts that were not "
            "made."
        ),
        "mostly-true": "Most values are the true ones where they are kept with a high probability.",
        "names-kept": "Names of fields that stars found are written as they are.",
        "no-diversity": (
            "A class may share one sensitive value, which then is known of everybody in it "
            "(homogeneity)."
        ),
        "nulls-visible": "Which values are missing is seen.",
        "one-release": (
            "The promises are about this release alone; a second release about the same people, "
            "joined with it, can break them (composition)."
        ),
        "order-leaking": "What came before what, or was larger, is seen.",
        "other-columns": (
            "Columns that are not quasi-identifiers leave as they are, or masked; who knows them "
            "of a person can find the row."
        ),
        "outlier-visible": "The largest numbers stay about the largest.",
        "partly-kept": "A part of the value is written as it is.",
        "range-ends-are-values": "Both ends of a range are values of people in the class.",
        "ratios-kept": (
            "How many times one number is another is exact, and one number that is known gives the "
            "factor."
        ),
        "representative-is-a-record": (
            "A class is written as the quasi-identifiers of one of its own people; the release "
            "doesn't say whose other columns belong to them."
        ),
        "value-kept": "The value is written as it is.",
        "values-between-bounds-kept": "Values between the bounds are written as they are.",
        "zero-kept": "What was 0 is 0.",
    }
)


def weakness_sentence(word: str) -> str:
    """Return a weakness as a manifest of a table states it.

    Examples
    --------
    >>> weakness_sentence("zero-kept")
    'zero-kept: what was 0 is 0.'
    """
    meaning = WEAKNESSES[word]
    return f"{word}: {meaning[0].lower()}{meaning[1:]}"
