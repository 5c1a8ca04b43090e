"""Names in texts: known ones as whole words, and those that a title or "name:" introduces."""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from typing import TYPE_CHECKING, Final

from halfmask.masks.text._pattern import BEFORE, DetailPattern
from halfmask.masks.text._reading import (
    KATAKANA,
    MARKS,
    UNSPACED,
    UNSPACED_MARKS,
    read_text,
    readings,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_TITLES: Final = "Mr|Mrs|Ms|Miss|Dr|Prof|Professor|Sir|Herr|Frau|Mme|Madame|Monsieur|Sra?|Señora?"
_PARTICLES: Final = frozenset(
    {"van", "von", "de", "der", "den", "da", "di", "la", "le", "bin", "al"}
)
_PART: Final = re.compile(r"[^\W\d_](?:['\u2019\-]?[^\W_])*")
_MOST_PARTS: Final = 3


def _introduced(text: str) -> int:
    """Return the length of the one to three words with capitals that a text begins with."""
    stop = parts = 0
    for part in _PART.finditer(text):
        word = part.group()
        if word[0].isupper():
            # An initial is a part of a name only where another word follows.
            if len(word) > 1:
                stop = part.end() - 2 * word.endswith(("'s", "\u2019s"))
                parts += 1
        elif word not in _PARTICLES:
            break
        if parts == _MOST_PARTS:
            break
    return stop


#: One to three words with capitals after a title, "name is", "name:" or "I'm". How much of the
#: names they find is measured in benchmarks/quality/free_text.py.
INTRODUCED_NAMES: Final = DetailPattern(
    rf"(?i)\b(?:{_TITLES})\b|\bname(?:\s+is|:)|\bi['\u2019]m\b",
    re.compile(
        rf"{BEFORE}(?:(?:{_TITLES})\b[.]?|(?i:name\s+is|name:|i['\u2019]m)) +"
        rf"({_PART.pattern}(?:[.]? {_PART.pattern}){{0,6}})"
    ),
    _introduced,
)
#: A word, with its accents and vowels; of scripts without blanks between words, each sign.
_WORD: Final = re.compile(
    rf"[{UNSPACED}][{UNSPACED_MARKS}]*|[{KATAKANA}]+"
    rf"|[^\W_{UNSPACED}{KATAKANA}](?:[^\W_{UNSPACED}{KATAKANA}]|[{MARKS}])*"
)
#: What may stand between the words of a name: "Anne-Marie", "O'Brien", "Lee, Ann". Between signs
#: of scripts without blanks, nothing.
_BETWEEN: Final = re.compile(r"[\W_]{0,3}")
#: Shorter values are words or initials more often than names; shorter numbers count things.
_LEAST_LETTERS: Final = 2
_LEAST_DIGITS: Final = 4
#: Up to this length a name is found only in the case of the table: "An" isn't "an".
_AS_WRITTEN: Final = 2
#: How many different words of texts are remembered.
_MOST_MET: Final = 100_000
#: Letters whose stroke or dot isn't an accent of Unicode's.
_STROKES: Final = str.maketrans("\u0111\u0131\u0142\u00f8", "dilo")
#: What stands between the names of one person: a space, or a middle initial.
_SAME_PERSON: Final = re.compile(r" (?:([^\W\d_])[.]? )?")


class KnownNames:
    """Names that are searched for in texts.

    Parameters
    ----------
    values
        Names, or other values that point at people, such as account numbers. Empty ones and
        initials are left out, and so are numbers of fewer than four digits.
    countries
        Countries (ISO 3166-1) whose inflected names are found, too: "Annas" for DE.
    lower_case
        Whether a word in lower case is a name where it stands alone. Next to another name it always
        is.
    every
        Whether initials, short numbers and names of two letters are searched for as the others.

    Notes
    -----
    Each word of a text is looked up in a hash table of the names' first words, so that a million
    names cost no more time than ten. **Cost.** 100 bytes of memory for a name whose words others
    have, too; 800 for one with words of its own.

    **Guarantees.** A name that stands in a text as whole words is found, in any case, with or
    without accents, and with other spaces, hyphens or dots between its words. In scripts without
    spaces between words (Chinese, Japanese, Thai and others) and in Korean it is found among other
    signs, too. Names that follow each other are one, with the initial between them.

    A word that doesn't begin in lower case is found with the endings of cases, too: in Cyrillic and
    Greek letters always, in Latin ones by `countries`: -s, -es and -ens for AT, BE, CH, DE, DK, LI,
    LU, NL, NO and SE, and Slavic endings for CZ, HR, PL, SI and SK.

    **Edge cases.** Misspelt names stay, and so do names with other endings ("Annan" in Finnish),
    with a prefix ("ومحمد") or with another stem ("Павла" for "Павел"). Names of two letters are
    found only in the case of the table, and a single sign of a script without spaces isn't searched
    for. Names that are words
    ("Will", "Rose", 高明) are found where the word is meant, too.

    Examples
    --------
    >>> names = KnownNames(["Ann", "Zoë van den Berg"])
    >>> list(names.spans("ann met ZOE VAN DEN BERG, not Annette"))
    [(0, 3), (8, 24)]
    """

    __slots__ = (
        "_inflected",
        "_inflections",
        "_lengths",
        "_lower_case",
        "_met",
        "_names",
        "_short",
    )

    def __init__(
        self,
        values: Iterable[str],
        *,
        countries: Sequence[str] = (),
        lower_case: bool = True,
        every: bool = False,
    ) -> None:
        self._inflections = Inflections(countries)
        self._lower_case = lower_case
        self._short: set[str] = set()
        self._names: set[tuple[str, ...]] = set()
        #: Names in Cyrillic and Greek letters without the endings of their cases.
        self._inflected: set[tuple[str, ...]] = set()
        lengths: dict[str, set[int]] = {}
        shared: dict[str, str] = {}
        for value in values:
            found = map(_folded, _WORD.findall(read_text(value)))
            words = tuple(shared.setdefault(it, it) for it in found)
            if not words or not (every or _is_telling("".join(words))):
                continue
            if len(words) == 1 and len(words[0]) <= _AS_WRITTEN and not every:
                self._short.add(value.strip())
            else:
                self._names.add(words)
                stems = tuple(map(self._inflections.stem_of, words))
                if stems != words:
                    self._inflected.add(stems)
                for first in {words[0], stems[0]}:
                    lengths.setdefault(first, set()).add(len(words))
        self._met: dict[str, Sequence[int]] = {}
        # The longest first, so that a name isn't cut by one that it begins with.
        self._lengths = {first: sorted(of, reverse=True) for first, of in lengths.items()}

    def __repr__(self) -> str:
        return f"KnownNames({len(self)} names)"

    def __len__(self) -> int:
        return len(self._short) + len(self._names)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where names begin and end, from left to right; none overlaps another.

        Parameters
        ----------
        text
            Any text.
        """
        read = list(readings(text))
        if len(read) == 1:
            yield from (read[0].place(*it) for it in self._persons(read[0].text))
            return
        # Two readings may find one name, or one of its parts.
        found = [reading.place(*it) for reading in read for it in self._persons(reading.text)]
        reached = 0
        for start, stop in sorted(found, key=lambda it: (it[0], -it[1])):
            if start >= reached:
                reached = stop
                yield start, stop

    def _persons(self, text: str) -> Iterator[tuple[int, int]]:
        person: tuple[int, int] | None = None
        n_names = 0
        for start, stop in self._each(text):
            if person is not None and _is_same_person(text, person[1], start):
                person, n_names = (person[0], stop), n_names + 1
                continue
            if person is not None and self._counts(text, person, n_names):
                yield person
            person, n_names = (start, stop), 1
        if person is not None and self._counts(text, person, n_names):
            yield person

    def _counts(self, text: str, person: tuple[int, int], n_names: int) -> bool:
        return self._lower_case or n_names > 1 or not text[person[0]].islower()

    def _each(self, text: str) -> Iterator[tuple[int, int]]:
        words = list(_WORD.finditer(text))
        reached = 0
        for at, word in enumerate(words):
            if word.start() < reached:
                continue
            found = word.group()
            stop = word.end() if found in self._short else 0
            for length in self._lengths_from(found):
                parts = words[at : at + length]
                if len(parts) == length and self._is_name(parts, text):
                    stop = parts[-1].end()
                    break
            if stop:
                reached = stop
                yield word.start(), stop

    def _lengths_from(self, word: str) -> Sequence[int]:
        """Return how many words the names have that begin with a word, the most first."""
        known = self._met.get(word)
        if known is None:
            if len(self._met) >= _MOST_MET:
                self._met.clear()
            forms = self._inflections.forms_of(_folded(word))
            found = [self._lengths[it] for it in forms if it in self._lengths]
            known = self._met[word] = sorted(itertools.chain(*found), reverse=True)
        return known

    def _is_name(self, parts: list[re.Match[str]], text: str) -> bool:
        words = tuple(_folded(it.group()) for it in parts)
        if words not in self._names and not (
            not parts[-1].group()[0].islower() and self._is_inflected(words)
        ):
            return False
        gaps = itertools.pairwise(parts)
        return all(_BETWEEN.fullmatch(text, one.end(), other.start()) for one, other in gaps)

    def _is_inflected(self, words: tuple[str, ...]) -> bool:
        *first, last = words
        stems = tuple(map(self._inflections.stem_of, words))
        if stems in self._inflected or stems in self._names:
            return True
        return any((*first, it) in self._names for it in self._inflections.forms_of(last)[1:])


def _is_same_person(text: str, stop: int, start: int) -> bool:
    found = _SAME_PERSON.fullmatch(text, stop, start)
    if found is None or found[1] is None or not found[1].islower() or "." in found.group():
        return found is not None
    # A small letter between names with capitals is a word: "Anna y Bob".
    return text[start].islower()


@functools.lru_cache(maxsize=100_000)
def _folded(word: str) -> str:
    if word.isascii():
        return word.lower()
    # Split first: capitals of mathematics have no small letter of their own.
    small = unicodedata.normalize("NFKD", word).casefold()
    split = unicodedata.normalize("NFKD", small).translate(_STROKES)
    return "".join(it for it in split if not unicodedata.combining(it))


def _is_telling(letters: str) -> bool:
    return len(letters) >= (_LEAST_DIGITS if letters.isdigit() else _LEAST_LETTERS)


#: Fewer letters are the stem of too many words.
_LEAST: Final = 3
#: Countries where names have a genitive: Annas, Müllers, Fritzens.
_GERMANIC: Final = frozenset({"AT", "BE", "CH", "DE", "DK", "LI", "LU", "NL", "NO", "SE"})
_GENITIVES: Final = ("s", "es", "ens")
#: Countries where an ending takes the place of another: Anna, Anny; Novák, Novákovi; Kowalskiego.
_SLAVIC: Final = frozenset({"CZ", "HR", "PL", "SI", "SK"})
_LATIN: Final = (
    "ovou owej owa ova ove ovi owi iego iemu ego emu eho iem em om im ym ie ej oj ou ow a e i o u y"
)
_CYRILLIC: Final = (
    "ого его ому ему ыми ими ами ями ові еві ым им ых их ом ем ои еи ою ею ая яя ую юю ое ее ыи ии"  # noqa: RUF001 # Cyrillic
    " ия ию ие иеи иею ием иям иях іи ам ям ах ях ію ія ів а я у ю е и ы о і ь"  # noqa: RUF001 # Cyrillic
)
_GREEK: Final = "ουσ οσ ου ον οι ων ησ ην ασ αν εσ εα ο ε η α ι σ"  # noqa: RUF001 # Greek


class Inflections:
    """What a word of a text may be the inflected form of."""

    __slots__ = ("_genitives", "_latin", "_stem")

    def __init__(self, countries: Sequence[str] = ()) -> None:
        self._genitives = _GENITIVES if _GERMANIC.intersection(countries) else ()
        self._latin = bool(_SLAVIC.intersection(countries))
        kinds = [("\u0400-\u04ff", _CYRILLIC), ("\u0370-\u03ff", _GREEK)]
        if self._latin:
            kinds.append(("a-z", _LATIN))
        self._stem = re.compile(
            "|".join(
                rf"[{letters}]{{{_LEAST},}}?(?=(?:{ends.replace(' ', '|')})?$)"
                for letters, ends in kinds
            )
        )

    def stem_of(self, word: str) -> str:
        """Return a folded word without an ending that others take the place of.

        Examples
        --------
        >>> Inflections().stem_of("ивановым"), Inflections().stem_of("anna")
        ('иванов', 'anna')
        """
        if word.isascii() and not self._latin:
            return word
        found = self._stem.match(word)
        return found.group() if found else word

    def forms_of(self, word: str) -> tuple[str, ...]:
        """Return a folded word, its stem, and the word without a genitive's ending.

        Examples
        --------
        >>> Inflections(["DE"]).forms_of("annas"), Inflections().forms_of("анну")
        (('annas', 'anna'), ('анну', 'анн'))
        """
        stem = self.stem_of(word)
        if not self._genitives:
            return (word,) if stem == word else (word, stem)
        bare = [
            word[: -len(it)]
            for it in self._genitives
            if word.endswith(it) and len(word) >= _LEAST + len(it)
        ]
        return (word, *bare) if stem == word else (word, stem, *bare)
