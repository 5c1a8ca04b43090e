"""What the name of a column says of its role."""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from dataclasses import dataclass

from halfmask.data._column_words import ID_WORDS, PERSON_WORDS, TOPICS, Topic

__all__ = ["NameHint", "hint_of", "words_of"]

CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
LONGEST_PHRASE = 4
# Shorter words stand inside of others by chance ("state" in "statement").
GLUED = 6
GLUED_SHORT = frozenset({"email", "phone"})
NEVER_GLUED = frozenset({"position"})  # "disposition"
PERSONS_NUMBER = Topic("a number of a person or of what one did", "identifier", "")


@dataclass(frozen=True, slots=True)
class NameHint:
    """What a name says: the topic, and whether it is more than a word that says little."""

    topic: Topic
    strong: bool


def words_of(name: str) -> tuple[str, ...]:
    """Split a name into words, lower case and without accents.

    Examples
    --------
    >>> words_of("CustomerZIPCode"), words_of("date-de_naissance 2"), words_of("Größe")
    (('customer', 'zip', 'code'), ('date', 'de', 'naissance', '2'), ('grosse',))
    """
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    plain = "".join(char for char in plain if not unicodedata.combining(char))
    return tuple(word.lower() for word in CAMEL.findall(plain))


def hint_of(name: str) -> NameHint | None:
    """Return what a name says, or ``None``: the last topic it mentions, the longest phrase of it.

    English names end with what they are of: a ``telephone country code`` is of a country.

    Examples
    --------
    >>> hint_of("TelephoneCountryCode").topic.about
    'a place of a person, by its code'
    >>> hint_of("patient_nbr").topic.role, hint_of("colour")
    ('identifier', None)
    """
    words = words_of(name)
    # A word that says little says nothing where it isn't the last: "number of rooms".
    found = [
        hit for hit in (*_phrases(words), *_glued(words)) if not hit[2].weak or hit[0] == len(words)
    ]
    strong = [hit for hit in found if not hit[2].weak]
    person = any(a in PERSON_WORDS and b in ID_WORDS for a, b in itertools.pairwise(words))
    if person:
        return NameHint(PERSONS_NUMBER, strong=True)
    if not found:
        return None
    _, _, topic = max(strong or found, key=lambda hit: hit[:2])
    # In a table of people, "name" alone is theirs; "plan_name" is not.
    alone = len(words) == 1 and topic.about == "a name"
    return NameHint(topic, strong=alone or not topic.weak)


def _phrases(words: tuple[str, ...]) -> list[tuple[int, int, Topic]]:
    """Return (end, length, topic) of each phrase that stands in the name."""
    phrases = _vocabulary()
    hits = []
    for start in range(len(words)):
        for end in range(start + 1, min(start + LONGEST_PHRASE, len(words)) + 1):
            part = words[start:end]
            # Tables write "zipcode", "zip_code" and "ZipCode" for the same.
            topic = phrases.get("".join(part)) or phrases.get("".join(part).removesuffix("s"))
            if topic is not None:
                hits.append((end, end - start, topic))
    return hits


def _glued(words: tuple[str, ...]) -> list[tuple[int, int, Topic]]:
    """Return hits of long words at the start or end of a longer one, such as customeremail."""
    hits = []
    for end, word in enumerate(words, start=1):
        for cut in range(2, len(word) - 4):
            for part in (word[cut:], word[:-cut]):
                topic = _vocabulary().get(part)
                long = len(part) >= GLUED and part not in NEVER_GLUED
                if topic is not None and (long or part in GLUED_SHORT):
                    hits.append((end, 1, topic))
    return hits


@functools.cache
def _vocabulary() -> dict[str, Topic]:
    """Return every phrase, without its blanks, with its topic."""
    return {
        phrase.strip().replace(" ", ""): topic
        for topic in reversed(TOPICS)
        for phrase in topic.words.split(",")
    }
