"""What every action is, what makes it ready, and what works on each different value once."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import ParameterError, PolicyError
from halfmask.events.block._level import Level
from halfmask.events.block._levels import absent
from halfmask.events.block._quantities import with_nulls
from halfmask.events.block._values import Kind, Values
from halfmask.events.block._words import KnownTokens
from halfmask.events.policy._sections import EventSection
from halfmask.events.running._context import BlockView, Context

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from halfmask.events.block._words import Token
    from halfmask.events.running._context import Applier
    from halfmask.events.secrets._keys import EventKeys
    from halfmask.events.secrets._tables import SecretTable, TableKind


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Resources:
    """What an action needs in addition to its options.

    Parameters
    ----------
    keys
        Keys of the release.
    tables
        Secret tables, by name.
    path
        Path that the action works on, without wildcards.
    domain
        Name of the domain. Fields of one domain get the same pseudonyms.
    zone
        Time zone of times that don't state one. None refuses such times.
    entity
        Path of the entity that the event is about; None if the stream names none.
    scopes
        Paths of the stream's tenant and session, by the keys ``tenant`` and ``session``.
    folder
        Folder of the hierarchy files.
    is_last
        Whether no other action of times works on its result.
    """

    keys: EventKeys
    tables: Mapping[str, SecretTable]
    path: str
    domain: str
    zone: str | None = None
    entity: str | None = None
    scopes: Mapping[str, str]
    folder: Path | None = None
    is_last: bool = True

    def table(self, name: str, kind: TableKind) -> SecretTable:
        """Return a secret table.

        Parameters
        ----------
        name
            The name in the policy.
        kind
            The kind that the action needs.

        Raises
        ------
        ParameterError
            If there is none of that name, or it is of another kind.
        """
        found = self.tables.get(name)
        if found is None:
            raise ParameterError(
                f"The policy needs the secret table {name!r}, which wasn't given.",
                hint="Give it by its name in 'tables', or seal it in the vault.",
            )
        if found.kind != kind:
            raise ParameterError(
                f"The secret table {name!r} must be of kind {kind!r}. Got {found.kind!r}."
            )
        return found

    def entity_of(self, by: str | None) -> str:
        """Return the path of whom a value is about: the rule's own, else the stream's.

        Parameters
        ----------
        by
            The path that the rule names; ``None``: that of the stream.
        """
        found = by or self.entity
        if found is None:
            raise PolicyError(
                "An action needs the path of the entity.",
                hint='Write entity = "..." in [stream], or by = "..." in the rule.',
            )
        return found


class Action(EventSection):
    """One action of a rule: it changes the values of one path.

    Its options hold no secret and no data. `weaknesses` names, in words that `WEAKNESSES` explains,
    what it doesn't protect from.
    """

    do: str

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """What it doesn't protect from."""
        raise NotImplementedError

    def reads(self) -> tuple[str, ...]:
        """Return the paths that it reads besides its own."""
        return ()

    def needs(self) -> tuple[str, ...]:
        """Return what `[stream]` must name for it: ``tenant``, ``session``, ``entity``."""
        return ()

    def tables(self) -> tuple[tuple[str, TableKind], ...]:
        """Return the secret tables that it needs: names and kinds."""
        return ()

    def bind(self, resources: Resources) -> Applier:
        """Return the action ready to work on the values of one path.

        Parameters
        ----------
        resources
            The secret tables and keys of the run.

        Raises
        ------
        ParameterError
            If a secret table isn't there.
        PolicyError
            If it needs something that the policy doesn't say.
        """
        raise NotImplementedError


_MOST_KNOWN = 1 << 17
_MOST_BYTES = 1 << 25


class Memo:
    """An applier of a function of single tokens.

    Notes
    -----
    Several threads may use it at once; one of them works at a time.
    """

    __slots__ = ("_function", "_known", "_lock", "_made", "_reasons", "_size", "_words")
    is_local = True

    def __init__(self, function: Callable[[Kind, bytes], Token | str | None]) -> None:
        self._function = function
        self._known = KnownTokens()
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._known.clear()
        self._size = 0
        self._made = absent(Level.of_events(0))
        # The reason why a token can't be done, by number from 1 on; 0 if it can.
        self._reasons = np.zeros(0, np.int16)
        self._words: list[str] = []

    def apply(self, values: Values, context: Context) -> Values:
        """Return what becomes of values; NULL stays, containers are dropped and counted."""
        with self._lock:
            return self._apply(values, context)

    def _apply(self, values: Values, context: Context) -> Values:
        context.scalars(values, *_SCALARS)
        first = len(self._known)
        codes = self._known.numbered(values)
        if len(self._known) > first:
            self._learn(self._known.tokens(first))
        if self._words:
            why = np.append(self._reasons, np.int16(0))[codes]
            for number, word in sorted(enumerate(self._words, start=1), key=lambda it: it[1]):
                context.fail(word, values.level, why == number)
        made = with_nulls(self._made.take(codes, values.level), values)
        if len(self._known) > _MOST_KNOWN or self._size > _MOST_BYTES:
            self._forget()
        return made

    def _learn(self, tokens: list[Token]) -> None:
        made = [self._function(*token) for token in tokens]
        reasons = np.zeros(len(made), np.int16)
        for at, each in enumerate(made):
            if isinstance(each, str):
                if each not in self._words:
                    self._words.append(each)
                reasons[at] = self._words.index(each) + 1
        found = [each if isinstance(each, tuple) else (Kind.MISSING, b"") for each in made]
        more = Values.from_tokens(Level.of_events(len(found)), np.arange(len(found)), found)
        self._size = self._known.size + len(self._made.data) + len(more.data)
        self._made = _append_values(self._made, more)
        self._reasons = np.concatenate([self._reasons, reasons])


_SCALARS = (Kind.FALSE, Kind.TRUE, Kind.INTEGER, Kind.NUMBER, Kind.STRING)


def _append_values(one: Values, other: Values) -> Values:
    """Return values one behind the other."""
    shift = len(one.data)
    return Values(
        level=Level.of_events(len(one.kinds) + len(other.kinds)),
        kinds=np.concatenate([one.kinds, other.kinds]),
        data=np.concatenate([one.data, other.data]),
        starts=np.concatenate([one.starts, other.starts + shift]),
        stops=np.concatenate([one.stops, other.stops + shift]),
    )


#: With fewer repeats it is faster to work on all of them.
_LEAST_REPEATS = 4


class OnceEach:
    """An applier of another one, which must look at nothing but the values."""

    __slots__ = ("_applier",)
    is_local = True

    def __init__(self, applier: Applier) -> None:
        self._applier = applier

    def apply(self, values: Values, context: Context) -> Values:
        """Return what becomes of values."""
        codes, slots = values.numbered()
        if _LEAST_REPEATS * len(slots) > len(codes):
            return self._applier.apply(values, context)
        few = Level.of_events(len(slots))
        view = BlockView(read=context.view.read, events=len(slots), first_event=0)
        inner = _Noted(view=view, path=context.path)
        made = self._applier.apply(values.take(slots, few), inner)
        for reason, failed in inner.reasons:
            context.fail(reason, values.level, np.append(failed, False)[codes])  # a cell
        return made.take(codes, values.level)


class _Noted(Context):
    """A context that keeps which values couldn't be worked on, for each reason."""

    def __init__(self, *, view: BlockView, path: str) -> None:
        super().__init__(view=view, path=path)
        self.reasons: list[tuple[str, NDArray[np.bool_]]] = []

    def fail(self, reason: str, level: Level, slots: NDArray[np.bool_]) -> None:  # noqa: ARG002 # as of all contexts
        if slots.any():
            self.reasons.append((reason, slots))
