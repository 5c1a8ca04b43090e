"""Free text: what looks like a person's data is taken out, or the text is dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from pydantic import Field

from halfmask._errors import PolicyError
from halfmask.events.actions._action import Action
from halfmask.events.actions._memo import Memo
from halfmask.events.block._values import Kind, read_text, written_text
from halfmask.events.policy._sections import Text
from halfmask.masks.text import DetailSearch, KnownNames

if TYPE_CHECKING:
    from halfmask.events.actions._action import Resources
    from halfmask.events.block._words import Token
    from halfmask.events.running._context import Applier
    from halfmask.events.secrets._tables import TableKind
    from halfmask.masks.text import Detail

What: TypeAlias = Literal["email", "url", "iban", "card", "ip", "phone"]
_ALL: Final = get_args(What)
_LONGEST: Final = 100_000
#: Without countries a telephone number can't be checked: its form decides.
_TYPES: Final = {it: "phone-form" if it == "phone" else it for it in _ALL}


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

    **Edge cases.** It is a net with holes: names that aren't in the table, misspelt ones, inflected
    ones in Latin letters ("Annas"), numbers written in words, addresses and whatever points at a
    person in other words stay, and so does the way that somebody writes. Where that matters, erase
    the text. Texts of more than 100,000 characters are dropped and counted as ``too-long``; equal
    texts stay equal. What looks like a phone number and is none, such as an order's number, is
    taken out, too.

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
        search = DetailSearch(
            [_TYPES[it] for it in self.find],
            names=KnownNames(named, every=True) if named else None,
        )
        drops = self.found == "drop"

        def cleaned(kind: Kind, token: bytes) -> Token | str:
            if kind != Kind.STRING:
                return "wrong-type"
            text = read_text(token)
            if len(text) > _LONGEST:
                return "too-long"
            details = search.find(text)
            if details and drops:
                return "personal-data"
            return Kind.STRING, written_text(_without(text, details))

        return Memo(cleaned)


def _without(text: str, details: list[Detail]) -> str:
    at, kept = 0, []
    for start, stop, what in details:
        kept += [text[at:start], f"[{what.removesuffix('-form')}]"]
        at = stop
    return "".join([*kept, text[at:]])
