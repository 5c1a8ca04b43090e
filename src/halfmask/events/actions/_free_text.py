"""Free text: what looks like a person's data is taken out, or the text is dropped."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from pydantic import Field

from halfmask._errors import PolicyError
from halfmask.events.actions._action import Action
from halfmask.events.actions._memo import Memo
from halfmask.events.block._values import Kind, read_text, written_text
from halfmask.events.policy._sections import Text

if TYPE_CHECKING:
    from halfmask.events.actions._action import Resources
    from halfmask.events.block._words import Token
    from halfmask.events.running._context import Applier
    from halfmask.events.secrets._tables import TableKind

__all__ = ["FreeText", "found_in"]

What: TypeAlias = Literal["email", "url", "iban", "card", "ip", "phone"]
_ALL: Final = get_args(What)
_LONGEST: Final = 100_000
_GONE: Final = "\0"

#: Found in this order: what was found by one isn't looked at by the next.
_PATTERNS: Final[dict[str, re.Pattern[str]]] = {
    "email": re.compile(r"[\w.%+\-]{1,64}@[\w\-]{1,63}(?:\.[\w\-]{1,63}){1,8}"),
    "url": re.compile(r"(?:https?|ftp)://[^\s<>\"']+|\bwww\.[^\s<>\"']+", re.IGNORECASE),
    "iban": re.compile(r"\b[A-Za-z]{2}\d{2}(?: ?[A-Za-z0-9]{4}){2,7}(?: ?[A-Za-z0-9]{1,3})?\b"),
    "card": re.compile(r"(?<!\d)\d(?:[ \-]?\d){11,18}(?!\d)"),
    "ip": re.compile(
        r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}"
        r"|[0-9A-Fa-f:]{2,39}(?:\d{1,3}(?:\.\d{1,3}){3})?)(?![\w:])"
    ),
    "phone": re.compile(r"(?<![\w.])(?:\+|\(|0)?\d(?:[ \-./()]{0,2}\d){6,14}(?![\w])"),
}  # fmt: skip


class FreeText(Action):
    """Take out of a text what looks like personal data, or drop the whole text.

    Parameters
    ----------
    find
        What is looked for: ``email``, ``url``, ``iban``, ``card`` (with a right check digit),
        ``ip`` (of both versions), ``phone``. By default all of them.
    people
        The name of a secret table of kind ``names``: they are found as whole words, whatever their
        case.
    found
        ``replace`` writes ``[email]`` and so on in their place; ``drop`` drops a text that has any
        of them, counted as ``personal-data``.

    Notes
    -----
    **Guarantees.** What one of the patterns or names matches isn't written.

    **Edge cases.** It is a net with holes: names that aren't in the table, misspelt ones, numbers
    written in words, addresses and whatever points at a person in other words stay, and so does the
    way that somebody writes. Where that matters, erase the text. Texts of more than 100,000
    characters are dropped and counted as ``too-long``; equal texts stay equal. What looks like a
    phone number and is none, such as an order's number, is taken out, too.

    Examples
    --------
    >>> FreeText(find=("email", "phone")).weaknesses
    ('free-text', 'equality-leaking', 'frequency-leaking')
    """

    do: Literal["free-text"] = "free-text"
    find: tuple[What, ...] = Field(default=_ALL)
    people: Text | None = None
    found: Literal["replace", "drop"] = "replace"

    def model_post_init(self, context: object, /) -> None:  # noqa: ARG002 # pydantic's
        """Check that something is looked for."""
        if not self.find and self.people is None:
            raise PolicyError(
                "free-text looks for nothing: 'find' is empty, and there's no 'people'."
            )

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """What stays in a text."""
        return ("free-text", "equality-leaking", "frequency-leaking")

    def tables(self) -> tuple[tuple[str, TableKind], ...]:
        """Return the table's name."""
        return () if self.people is None else ((self.people, "names"),)

    def bind(self, resources: Resources) -> Applier:
        """Return the cleaner."""
        named = () if self.people is None else resources.table(self.people, "names").values
        search = _names_pattern(named) if named else None
        drops = self.found == "drop"

        def cleaned(kind: Kind, token: bytes) -> Token | str:
            if kind != Kind.STRING:
                return "wrong-type"
            text = read_text(token)
            if len(text) > _LONGEST:
                return "too-long"
            spans = sorted(found_in(text, self.find, search))
            if spans and drops:
                return "personal-data"
            return Kind.STRING, written_text(_without(text, spans))

        return Memo(cleaned)


def found_in(
    text: str, find: tuple[str, ...], names: re.Pattern[str] | None
) -> Iterator[tuple[int, int, str]]:
    """Yield where something begins and ends, and what it is; none overlaps another.

    Examples
    --------
    >>> sorted(found_in("call +44 20 7946 0018 or a@b.example", ("phone", "email"), None))
    [(5, 21, 'phone'), (25, 36, 'email')]
    """
    # What was found is put out of the way of the other patterns.
    rest = text
    for what, pattern in _PATTERNS.items():
        if what not in find:
            continue
        check = _CHECKS.get(what)
        spans = [it.span() for it in pattern.finditer(rest) if check is None or check(it.group())]
        for start, stop in spans:
            rest = rest[:start] + _GONE * (stop - start) + rest[stop:]
            yield start, stop, what
    if names is not None:
        for it in names.finditer(rest):
            yield *it.span(), "name"


def _without(text: str, spans: list[tuple[int, int, str]]) -> str:
    at, kept = 0, []
    for start, stop, what in spans:
        kept += [text[at:start], f"[{what}]"]
        at = stop
    return "".join([*kept, text[at:]])


def _names_pattern(names: Iterable[str]) -> re.Pattern[str]:
    # The longest first, so that a name isn't cut by one that it begins with.
    words = [re.escape(name.strip()) for name in sorted(names, key=len, reverse=True)]
    return re.compile(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)", re.IGNORECASE)


def _is_card(text: str) -> bool:
    """Return whether the last digit is the one that the others ask for (ISO/IEC 7812-1, Luhn)."""
    digits = [int(each) for each in text if each.isdigit()]
    doubled = [sum(divmod(2 * each, 10)) for each in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _is_iban(text: str) -> bool:
    """Return whether the check digits are right (ISO 7064, MOD 97-10)."""
    plain = text.replace(" ", "").upper()
    moved = plain[4:] + plain[:4]
    return plain.isascii() and int("".join(str(int(each, 36)) for each in moved)) % 97 == 1


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


_CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    "card": _is_card,
    "iban": _is_iban,
    "ip": _is_ip,
}
