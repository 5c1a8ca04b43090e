"""Mask: the first or last characters, and one character for each of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from halfmask._errors import PolicyError
from halfmask._sections import Whole
from halfmask.events.actions._action import Action
from halfmask.events.actions._memo import Memo
from halfmask.events.block._levels import merged, only
from halfmask.events.block._quantities import with_nulls
from halfmask.events.block._values import Kind, Values, read_text, written_text

if TYPE_CHECKING:
    from halfmask.events.actions._action import Resources
    from halfmask.events.block._words import Token
    from halfmask.events.running._context import Applier, Context


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
