"""How texts are read: digits, blanks and dashes of any script in one form, with their places."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

#: Scripts whose words stand without blanks, and Hangul, whose particles do: parts of a class of
#: characters (Unicode 15, blocks). A sign of them is a word of its own.
UNSPACED: Final = (
    r"\u0e01-\u0e4e\u0e81-\u0ece\u0f40-\u0fbc\u1000-\u103f\u1050-\u108f\u1100-\u11ff\u1780-\u17d3"
    r"\u2e80-\u2fdf\u3005\u3007\u3041-\u309f\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f"
    r"\uac00-\ud7ff\uf900-\ufaff\U00020000-\U000323af"
)
#: Signs of these scripts that belong to the one before.
UNSPACED_MARKS: Final = (
    r"\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u0f71-\u0f84"
    r"\u102b-\u103e\u1056-\u1059\u17b4-\u17d3\u3099\u309a"
)
#: Runs of it are words between signs of the other Japanese scripts.
KATAKANA: Final = r"\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
#: Accents and vowels that stand next to letters; scripts of India, without their full stop.
MARKS: Final = (
    r"\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a"
    r"\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0900-\u0963"
    r"\u0966-\u0dff"
)
_BLANKS: Final = r" \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
#: Soft hyphens, joiners and marks of direction: nobody sees them.
_UNSEEN: Final = (
    r"\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
)
_HAS_UNSEEN: Final = re.compile(f"[{_UNSEEN}]")


def _moves(blanks: str) -> re.Pattern[str]:
    """Return what is another number of characters once it is read, such as accents on their own."""
    marks = r".[\u0300-\u036f\u3099\u309a]+|[\u1100-\u11ff]{2,}"
    return re.compile(rf"(?P<blanks>{blanks})|(?P<unseen>[{_UNSEEN}]+)|{marks}", re.DOTALL)


_MOVES: Final = _moves(rf"[{_BLANKS}](?:[{_UNSEEN}]*[{_BLANKS}])+")
_MOVES_SPACED: Final = _moves(rf"[{_BLANKS}{_UNSEEN}]+")
#: Stands for a sign of a script without blanks: no letter, so that a detail may stand next to it.
SIGN: Final = "\ufffc"
_SIGNS: Final = re.compile(f"[{UNSPACED}{KATAKANA}]")
#: Letters by their category, as in "O\u02bcNeil": they would make it another word.
_APOSTROPHES: Final = "\u02bb\u02bc"
_FULL_WIDTH: Final = frozenset("@.-+_/:%()#&=")


class _Forms(dict[int, str]):
    """What each character is read as, found out when it is first met."""

    def __missing__(self, code: int) -> str:
        self[code] = made = self.form(chr(code))
        return made

    def form(self, sign: str) -> str:
        """Return digits in ASCII, full-width letters as usual ones, any blank, any dash."""
        kind = unicodedata.category(sign)
        if kind == "Nd":
            return str(unicodedata.decimal(sign))
        if kind == "Zs":
            return " "
        if kind == "Pd" or sign == "\u2212":
            return "-"
        if sign in _APOSTROPHES:
            return "'"
        if "\uff01" <= sign <= "\uff5e":
            plain = unicodedata.normalize("NFKC", sign)
            return plain if plain.isalpha() or plain in _FULL_WIDTH else sign
        return sign


class _Seen(_Forms):
    def form(self, sign: str) -> str:
        """Return a stand-in for a sign of a script without blanks, a letter for an accent."""
        if _SIGNS.match(sign):
            return SIGN
        return "\u02b9" if unicodedata.category(sign)[0] == "M" else sign


_FORMS: Final = _Forms()
_SEEN: Final = _Seen()


class PlainText(NamedTuple):
    """What a text is read as, and where its characters stand in the text itself."""

    text: str
    starts: list[int] | None = None
    stops: list[int] | None = None

    @property
    def seen(self) -> str:
        """The text as patterns see it: signs of scripts without blanks are no letters."""
        return self.text if self.text.isascii() else self.text.translate(_SEEN)

    def place(self, start: int, stop: int) -> tuple[int, int]:
        """Return where a part of it stands in the text."""
        if self.starts is None or self.stops is None:
            return start, stop
        return self.starts[start], self.stops[stop - 1]


def read_text(text: str) -> str:
    r"""Return what a text is read as: what nobody sees is left out.

    Examples
    --------
    >>> read_text("\uff14\uff11\u00a011\u201012")
    '41 11-12'
    """
    return next(readings(text)).text


def readings(text: str) -> Iterator[PlainText]:
    """Yield how a text is read; what nobody sees once as nothing, then as a blank."""
    if text.isascii():
        yield _moved(text, _MOVES) if "  " in text else PlainText(text)
        return
    yield _moved(text, _MOVES)
    if _HAS_UNSEEN.search(text):
        yield _moved(text, _MOVES_SPACED)


def _moved(text: str, moves: re.Pattern[str]) -> PlainText:
    at, parts = 0, []
    starts: list[int] = []
    stops: list[int] = []
    for match in moves.finditer(text):
        start, stop = match.span()
        if match.lastgroup is None:
            made = unicodedata.normalize("NFC", match.group())
        else:
            made = " " if match.lastgroup == "blanks" else ""
        if made == match.group():
            continue
        parts += [text[at:start], made]
        starts += [*range(at, start), *[start] * len(made)]
        stops += [*range(at + 1, start + 1), *[stop] * len(made)]
        at = stop
    if not at:
        return PlainText(text.translate(_FORMS))
    starts += range(at, len(text))
    stops += range(at + 1, len(text) + 1)
    return PlainText("".join([*parts, text[at:]]).translate(_FORMS), starts, stops)
