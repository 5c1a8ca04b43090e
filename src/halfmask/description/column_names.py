"""What the name of a column says of its role."""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from dataclasses import dataclass

from halfmask.description._sensitive_words import Topic
from halfmask.description._survey_words import HOUSEHOLD, HOUSEHOLD_WORDS, NUMBER_BEFORE
from halfmask.description.column_words import ID_WORDS, MEASURE_WORDS, PERSON_WORDS, TOPICS

CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
LONGEST_PHRASE = 4
# Shorter words stand inside of others by chance ("state" in "statement").
GLUED = 6
GLUED_SHORT = frozenset({"email", "phone", "smoke"})
NEVER_GLUED = frozenset({"position"})  # "disposition"
# Short words that are looked for inside others too ("isex", "agegrp", "ybirth", "prewage"): as a
# whole, such a word may have so many letters before or after it.
INSIDE = ("birth", "born", "educ", "wage", "kids", "hisp", "marr", "race", "sex", "age")
MAX_AROUND = 5
# "image", "mileage", "agency", "trace", "newborn": words in which these stand by chance.
NEVER_INSIDE = re.compile(
    r"(?:im|dam|mile|acre|line|[bgiklnprstv])age$|^age(?:n[tdc]|ism)|(?:[btg]|sc)race|(?:new|air|stub)born"
)
CALENDAR_WORDS = frozenset({"year", "yr", "month", "weekday"})
PERSONS_NUMBER = Topic("a number of a person or of what one did", "identifier", "")
PERSON_ALONE = Topic("a person", "identifier", "", weak=True)


@dataclass(frozen=True, slots=True)
class NameHint:
    """What a name says."""

    topic: Topic
    strong: bool
    inside: bool = False
    measures: bool = False
    of_calendar: bool = False


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
    measures = any(word in MEASURE_WORDS for word in words)
    if _numbers_households(words):
        return NameHint(HOUSEHOLD, strong=True, measures=measures)
    if any(a in PERSON_WORDS and b in ID_WORDS for a, b in itertools.pairwise(words)):
        return NameHint(PERSONS_NUMBER, strong=True, measures=measures)
    if not strong and (topic := _inside(words)) is not None:
        return NameHint(topic, strong=True, inside=True, measures=measures)
    if not found:
        # "subject" or "patient" alone numbers them, if its values are numbers or codes of many.
        is_person = len(words) == 1 and words[0] in PERSON_WORDS
        return NameHint(PERSON_ALONE, strong=False) if is_person else None
    _, _, topic = max(strong or found, key=lambda hit: hit[:2])
    # In a table of people, "name" alone is theirs; "plan_name" is not.
    alone = len(words) == 1 and topic.about == "a name"
    return NameHint(
        topic,
        strong=alone or not topic.weak,
        measures=measures,
        of_calendar=words[-1] in CALENDAR_WORDS,
    )


def _numbers_households(words: tuple[str, ...]) -> bool:
    """Return whether the last two words are of a household and of a number."""
    if len(words) < 2:
        return False
    first, last = words[-2:]
    return (first in HOUSEHOLD_WORDS and last in ID_WORDS) or (
        first in NUMBER_BEFORE and last in HOUSEHOLD_WORDS
    )


def _phrases(words: tuple[str, ...]) -> list[tuple[int, int, Topic]]:
    """Return (end, length, topic) of each phrase that stands in the name."""
    phrases = _vocabulary()
    hits = []
    for start in range(len(words)):
        for end in range(start + 1, min(start + LONGEST_PHRASE, len(words)) + 1):
            part = words[start:end]
            # Tables write "zipcode", "zip_code" and "ZipCode" for the same.
            word = "".join(part)
            topic = phrases.get(word)
            # "months" are counted; "month" is one of a calendar.
            if topic is None and word not in MEASURE_WORDS:
                topic = phrases.get(word.removesuffix("s"))
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


def _inside(words: tuple[str, ...]) -> Topic | None:
    """Return the topic of a short word inside a longer one, such as isex."""
    for word in words:
        for short in INSIDE:
            around = len(word) - len(short)
            ends = word.startswith(short) or word.endswith(short)
            if 0 < around <= MAX_AROUND and ends and not NEVER_INSIDE.search(word):
                return _vocabulary()[short]
    return None


@functools.cache
def _vocabulary() -> dict[str, Topic]:
    """Return every phrase, without its blanks, with its topic."""
    return {
        phrase.strip().replace(" ", ""): topic
        for topic in reversed(TOPICS)
        for phrase in topic.words.split(",")
    }
