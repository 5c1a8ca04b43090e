"""Endings of inflected names: Cyrillic and Greek ones always, Latin ones by country."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

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
