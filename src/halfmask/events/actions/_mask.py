"""Mask: the first or last characters, and one character for each of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from halfmask._errors import PolicyError
from halfmask.events._sections import Whole
from halfmask.events._values import Kind, written_text
from halfmask.events._words import lookup_word
from halfmask.events.actions._action import Action
from halfmask.events.actions._memo import Memo

if TYPE_CHECKING:
    from halfmask.events._context import Applier
    from halfmask.events._words import Token
    from halfmask.events.actions._action import Supplies

__all__ = ["Mask"]


class Mask(Action):
    """Keep the first and last characters of a text, and write a mark for each of the others.

    Parameters
    ----------
    first, last
        How many characters to keep at each end; one of them at least.
    length
        How many marks are written; by default one for each character that isn't kept.
    mark
        One character.

    Notes
    -----
    **Guarantees.** Nothing is written of the characters between. A text that isn't longer than
    what would be kept is masked whole.

    **Edge cases.** The characters that are kept may say it all: five digits of a post code are a
    village. Without `length` the text's length is told. Equal texts stay equal, and no key is
    needed to try all that could have been there. Numbers are masked as they are written, and come
    out as texts. Characters are those of Unicode, not what a reader sees as one letter.

    Examples
    --------
    >>> Mask(first=2).weaknesses
    ('partly-kept', 'equality-leaking', 'length-leaking')
    """

    do: Literal["mask"] = "mask"
    first: Annotated[Whole, Field(ge=0, le=1_000)] = 0
    last: Annotated[Whole, Field(ge=0, le=1_000)] = 0
    length: Annotated[Whole, Field(ge=0, le=1_000)] | None = None
    mark: Annotated[str, Field(strict=True, min_length=1, max_length=1)] = "*"

    def model_post_init(self, context: object, /) -> None:  # noqa: ARG002 # pydantic's
        """Check that something is kept."""
        if not self.first and not self.last:
            raise PolicyError(
                "mask keeps nothing: 'first' and 'last' are 0.",
                hint='Write first = 2, or do = "erase".',
            )
        written_text(self.mark)

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """What is kept, and what its equality and length tell."""
        more = ("length-leaking",) if self.length is None else ()
        return ("partly-kept", "equality-leaking", *more)

    def prepared(self, supplies: Supplies) -> Applier:  # noqa: ARG002 # as every action's
        """Return the masker."""
        return Memo(self._masked)

    def _masked(self, kind: Kind, token: bytes) -> Token | str:
        if kind in {Kind.TRUE, Kind.FALSE}:
            return "wrong-type"
        text = lookup_word(kind, token) if kind == Kind.STRING else token.decode()
        if text is None:
            return "wrong-type"
        hidden = len(text) - self.first - self.last
        whole = hidden <= 0
        marks = self.mark * (
            self.length if self.length is not None else len(text) if whole else hidden
        )
        if whole:
            return Kind.STRING, written_text(marks)
        kept = text[len(text) - self.last :]
        return Kind.STRING, written_text(text[: self.first] + marks + kept)
