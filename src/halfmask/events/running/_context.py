"""What a rule sees of its block, when it applies, and where it says what it couldn't do."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Protocol, TypeAlias

import numpy as np
from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr

from halfmask._errors import PolicyError
from halfmask._sections import Number
from halfmask.events.block._buffers import ArrayLease
from halfmask.events.block._levels import brought
from halfmask.events.block._values import Kind
from halfmask.events.block._words import lookup_word, scalar_token
from halfmask.events.policy._sections import EventSection, Text

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from halfmask.events.block._level import Level
    from halfmask.events.block._values import Values
    from halfmask.events.block._words import Token


@dataclass(slots=True, kw_only=True)
class BlockView:
    """A block, as all rules see it."""

    read: Callable[[str], Values]
    events: int
    first_event: int
    room: ArrayLease = field(default_factory=ArrayLease)
    refused: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.refused = np.zeros(self.events, np.bool_)


@dataclass(slots=True, kw_only=True)
class Context:
    """A block, as one rule sees it at one path."""

    view: BlockView
    path: str
    failures: Counter[str] = field(default_factory=Counter)
    failed: NDArray[np.bool_] | None = None

    @property
    def room(self) -> ArrayLease:
        """What memory is taken by that is used until the block is written."""
        return self.view.room

    @property
    def first_event(self) -> int:
        """The number in the stream of the block's first event."""
        return self.view.first_event

    def values(self, path: str, level: Level) -> Values:
        """Return the original values of a path of the same or an enclosing level, for each slot."""
        return brought(self.view.read(path), level)

    def fail(self, reason: str, level: Level, slots: NDArray[np.bool_]) -> None:
        """Count what the rule couldn't do; what it returns must be MISSING there."""
        count = int(np.count_nonzero(slots))
        if not count:
            return
        self.failures[reason] += count
        if self.failed is None:
            self.failed = np.zeros(self.view.events, np.bool_)
        self.failed[level.event[slots]] = True

    def scalars(self, values: Values, *kinds: Kind) -> NDArray[np.bool_]:
        """Return where values are of some kinds; others but NULL and MISSING are failures."""
        # All kinds that are asked for stand together in the order of kinds.
        first, last = int(min(kinds)), int(max(kinds))
        fits = (values.kinds >= first) & (values.kinds <= last)
        if not fits.all():
            self.fail("wrong-type", values.level, ~fits & (values.kinds > int(Kind.NULL)))
        return fits


class Applier(Protocol):
    """An action, made ready: with its keys, tables and state.

    One that has a true `is_local` gives the same for a block whatever blocks were before it, and
    several threads may use it: its work is done ahead, while earlier blocks are worked on.
    """

    def apply(self, values: Values, context: Context) -> Values:
        """Return what becomes of values: one slot for each, MISSING where it is dropped.

        NULL stays NULL.
        """
        ...


Scalar: TypeAlias = Annotated[
    StrictBool | StrictInt | StrictFloat | StrictStr, Field(union_mode="left_to_right")
]
_LONGEST_NUMBER = 400


class Condition(EventSection):
    """``when`` of a rule: what a field must be for the rule to do its work.

    Notes
    -----
    Of several keys all must hold. They see original values. Numbers are
    compared by what they are, ``1.0`` is ``1``; the text ``"1"`` is another thing.
    """

    path: Text
    is_: Scalar | None = Field(default=None, alias="is")
    in_: tuple[Scalar, ...] | None = Field(default=None, alias="in", min_length=1)
    not_: Scalar | tuple[Scalar, ...] | None = Field(
        default=None, alias="not", union_mode="left_to_right"
    )
    exists: StrictBool | None = None
    above: Number | None = None
    below: Number | None = None

    def model_post_init(self, context: object, /) -> None:  # noqa: ARG002 # pydantic's
        """Check that it says something."""
        asked = (self.is_, self.in_, self.not_, self.exists, self.above, self.below)
        if all(each is None for each in asked):
            raise PolicyError(
                "a condition asks nothing: it has none of is, in, not, exists, above and below."
            )

    def holds(self, values: Values) -> NDArray[np.bool_]:
        """Return where it does, for the values of its field."""
        codes, tokens = values.distinct()
        found = [self._one(*token) for token in tokens]
        return np.array([*found, self._one(Kind.MISSING, b"")], np.bool_)[codes]

    def _one(self, kind: Kind, token: bytes) -> bool:
        mark = _mark(kind, token)
        asked = [
            self.is_ is None or mark == _mark_of(self.is_),
            self.in_ is None or mark in map(_mark_of, self.in_),
            self.not_ is None or mark not in map(_mark_of, _listed(self.not_)),
            self.exists is None or self.exists == (kind > Kind.NULL),
        ]
        if self.above is not None or self.below is not None:
            number = _number(kind, token)
            asked += [
                number is not None,
                number is None or self.above is None or number > Decimal(repr(self.above)),
                number is None or self.below is None or number < Decimal(repr(self.below)),
            ]
        return all(asked)


def _listed(scalars: object) -> tuple[object, ...]:
    return scalars if isinstance(scalars, tuple) else (scalars,)


def _mark(kind: Kind, token: bytes) -> Token | None:
    """Return what equal values have in common, by what they are."""
    word = lookup_word(kind, token)
    if word is None:
        return None
    return (Kind.NUMBER if kind == Kind.INTEGER else kind), word.encode()


def _mark_of(scalar: object) -> Token | None:
    token = scalar_token(scalar)
    return None if token is None else _mark(*token)


def _number(kind: Kind, token: bytes) -> Decimal | None:
    if kind not in {Kind.INTEGER, Kind.NUMBER} or len(token) > _LONGEST_NUMBER:
        return None
    return Decimal(token.decode())
