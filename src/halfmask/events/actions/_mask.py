"""Keep, Erase, Mask and FreeText: all of a text, nothing, some characters, or all but details."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias, get_args

import numpy as np
from pydantic import Field

from halfmask._errors import PolicyError
from halfmask._sections import Whole
from halfmask.events.actions._action import Action, Memo
from halfmask.events.block._levels import absent, merged, only
from halfmask.events.block._quantities import with_nulls
from halfmask.events.block._values import Kind, Values, read_text, written_text
from halfmask.events.policy._sections import Text
from halfmask.masks.text import DetailSearch, KnownNames

if TYPE_CHECKING:
    from halfmask.events.actions._action import Resources
    from halfmask.events.block._words import Token
    from halfmask.events.running._context import Applier, Context
    from halfmask.events.secrets._tables import TableKind
    from halfmask.masks.text import Detail


class Keep(Action):
    """Write the value unchanged. No other action does.

    Notes
    -----
    **Guarantees.** None: the value is released. What was written comes out, whether it is what the
    field's name says or not.

    **Edge cases.** Objects and arrays aren't kept, since what is in them isn't named: they are
    counted as ``wrong-type``.

    Examples
    --------
    >>> Keep().weaknesses
    ('value-kept',)
    """

    do: Literal["keep"] = "keep"

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """The value itself."""
        return ("value-kept",)

    def bind(self, resources: Resources) -> Applier:  # noqa: ARG002 # as every action's
        """Return the keeper."""
        return _Keeper()


class _Keeper:
    __slots__ = ()
    is_local = True

    def apply(self, values: Values, context: Context) -> Values:
        kinds = (Kind.FALSE, Kind.TRUE, Kind.INTEGER, Kind.NUMBER, Kind.STRING)
        fits = context.scalars(values, *kinds)
        return only(values, fits | (values.kinds == int(Kind.NULL)))


class Erase(Action):
    """Drop the value; of an array with a condition, drop elements.

    What no rule names is left out anyway. This action says so where another rule of the same path
    would keep it: the first rule whose condition holds does its work.

    Notes
    -----
    **Guarantees.** Nothing of the value is written.

    **Edge cases.** Elements that are left out make an array shorter, so that its length reveals how
    many stayed. That a field is absent reveals that the condition held.

    Examples
    --------
    >>> Erase().weaknesses
    ()
    """

    do: Literal["erase"] = "erase"

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """None."""
        return ()

    def bind(self, resources: Resources) -> Applier:  # noqa: ARG002 # as every action's
        """Return the eraser."""
        return _Eraser()


class _Eraser:
    __slots__ = ()
    is_local = True

    def apply(self, values: Values, context: Context) -> Values:  # noqa: ARG002 # as every one
        return absent(values.level)


class Mask(Action):
    """Keep the first and last characters of a text, and mask the others.

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
    village. Without `length` the text's length is revealed. Equal texts stay equal, and no key is
    needed to try all that could have been there. Numbers are masked as texts, and come
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
        """What is kept, and what its equality and length reveal."""
        more = ("length-leaking",) if self.length is None else ()
        return ("partly-kept", "equality-leaking", *more)

    def bind(self, resources: Resources) -> Applier:  # noqa: ARG002 # as every action's
        """Return the masker."""
        return _Masker(self)


class _Masker:
    """Masks texts by the column, and those with escapes one by one."""

    __slots__ = ("_action", "_escaped", "_mark")
    is_local = True

    def __init__(self, action: Mask) -> None:
        self._action = action
        self._mark = np.frombuffer(written_text(action.mark), np.uint8)
        self._escaped = Memo(self._masked)

    def apply(self, values: Values, context: Context) -> Values:
        from halfmask.kernels.text.masking import mask_texts  # noqa: PLC0415 # numba is slow to import

        action, level = self._action, values.level
        wanted = context.scalars(values, Kind.STRING, Kind.INTEGER, Kind.NUMBER)
        lengths = np.where(wanted, values.stops - values.starts, 0)
        marks = lengths if action.length is None else np.where(wanted, action.length, 0)
        out = np.empty(int(lengths.sum() + marks.sum() * len(self._mark)), np.uint8)
        begins, ends = np.empty(level.slots, np.int64), np.empty(level.slots, np.int64)
        done = np.empty(level.slots, np.bool_)
        length = -1 if action.length is None else action.length
        mask_texts(
            values.data, values.starts, values.stops, wanted, action.first, action.last, length,
            self._mark, out, begins, ends, done,
        )  # fmt: skip
        kinds = np.where(done, np.uint8(Kind.STRING), np.uint8(Kind.MISSING))
        masked = Values(level=level, kinds=kinds, data=out, starts=begins, stops=ends)
        masked = with_nulls(masked, values)
        rest = wanted & ~done
        if not rest.any():
            return masked
        return merged([masked, self._escaped.apply(only(values, rest), context)])

    def _masked(self, kind: Kind, token: bytes) -> Token:
        text = read_text(token) if kind == Kind.STRING else token.decode()
        action = self._action
        hidden = len(text) - action.first - action.last
        head, tail = ("", "") if hidden <= 0 else (
            text[: action.first], text[len(text) - action.last :]
        )  # fmt: skip
        marks = action.length
        if marks is None:
            marks = hidden if hidden > 0 else len(text)
        return Kind.STRING, written_text(head + action.mark * marks + tail)


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
            [_TYPES[it] for it in self.find], names=KnownNames(named, every=True) if named else None
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
