"""What the owner asks of a codec of series, and where one stands between two uploads."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

import numpy as np

from halfmask._errors import KeyMismatchError, ParameterError
from halfmask._validation import integer_at_least, number_between, one_of
from halfmask.encode._plan_bytes import Archive
from halfmask.encode.series._clock import DAY
from halfmask.encode.series._seasons import NAMED, Period

if TYPE_CHECKING:
    from numpy.typing import NDArray


Missing: TypeAlias = Literal["hidden", "visible"]
Order: TypeAlias = Literal["error", "sort"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A known event in time, whose rows are sent as keyed noise.

    Parameters
    ----------
    name
        Its name at home. It is never sent.
    first, last
        Its first and last moment, both in it: a date (all of the day), a date and time as a clock
        on the wall shows it, either as ISO text, or an integer for a time column of integers.

    Examples
    --------
    >>> Event(name="storm", first="2012-10-29", last="2012-10-30").last
    '2012-10-30'
    """

    name: str
    first: dt.date | str | int
    last: dt.date | str | int

    def __post_init__(self) -> None:
        for name in ("first", "last"):
            moment = getattr(self, name)
            if isinstance(moment, dt.date):
                object.__setattr__(self, name, moment.isoformat())
        low, high = self.bounds()
        if high <= low:
            raise ParameterError(f"Event {self.name!r} ends before it begins.")

    def bounds(self) -> tuple[int, int]:
        """Return the first and the past-the-end microsecond, by the wall clock."""
        if isinstance(self.first, int) and isinstance(self.last, int):
            return self.first, self.last + 1
        first, _ = self._moment(self.first)
        last, length = self._moment(self.last)
        return first, last + length

    def _moment(self, moment: dt.date | str | int) -> tuple[int, int]:
        text = str(moment)
        try:
            parsed = dt.datetime.fromisoformat(text)
        except ValueError:
            parsed = None
        if isinstance(moment, int) or parsed is None or parsed.tzinfo is not None:
            raise ParameterError(
                f"The moments of event {self.name!r} must both be dates, dates and times without "
                "a zone, or integers.",
                hint='Such as first="2012-10-29", last="2012-10-30".',
            )
        ticks = int(np.datetime64(parsed, "us").astype(np.int64))
        return ticks, DAY if len(text) == len("2012-10-29") else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesSettings:
    """The parameters of :class:`SeriesCodec`, which documents them."""

    time: str
    entity: str
    columns: tuple[str, ...]
    name: str
    every: str | int | None
    periods: tuple[Period, ...] | None
    events: tuple[Event, ...]
    seal_beyond: float
    missing: Missing
    order: Order
    blinding: float
    longest_gap: int

    def __post_init__(self) -> None:
        owner = "SeriesCodec"
        one_of(("hidden", "visible"), owner=owner, missing=self.missing)
        one_of(("error", "sort"), owner=owner, order=self.order)
        number_between(0, 1, owner=owner, high_open=True, blinding=self.blinding)
        integer_at_least(0, owner=owner, longest_gap=self.longest_gap)
        if self.seal_beyond:
            number_between(3, np.inf, owner=owner, high_open=True, seal_beyond=self.seal_beyond)
        if not self.name:
            raise ParameterError(f"The 'name' parameter of {owner} must not be empty.")
        if isinstance(self.every, int):
            integer_at_least(1, owner=owner, every=self.every)
        for period in self.periods or ():
            if isinstance(period, str):
                one_of(NAMED, owner=owner, periods=period)
            else:
                integer_at_least(2, owner=owner, periods=period)

    def purpose(self, what: str) -> str:
        """Return the purpose of a key: codecs of different names share none."""
        return f"encode/series/1/{self.name}/{what}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeriesState:
    """Behind which rows the next ones are encoded, decoded or forecast.

    A state is as secret as the rows are: it holds the last of them. Keep it in a vault.

    Parameters
    ----------
    codec
        Which fitted codec it is of.
    next
        The next step of each entity, counted from the codec's first time.
    history
        What each entity's columns look back at, entity by entity.
    """

    codec: str
    next: tuple[int, ...]
    history: tuple[NDArray[np.float64], ...]

    def __repr__(self) -> str:
        return f"SeriesState({len(self.next)} entities)"

    @property
    def publishable(self) -> bool:
        """Whether it may be published: never."""
        return False

    def check(self, codec: str) -> None:
        """Raise unless this is a state of the codec.

        Parameters
        ----------
        codec
            The identity of the codec.
        """
        if self.codec != codec:
            raise KeyMismatchError(
                "The state is of another codec.",
                hint="Take start_, state_ or after(...) of the codec that encoded the rows.",
            )

    def to_bytes(self) -> bytes:
        """Return it as bytes, to be sealed in a vault."""
        return _ARCHIVE.write(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the state that `to_bytes` wrote.

        Parameters
        ----------
        data
            What `to_bytes` returned.

        Raises
        ------
        DataError
            If these are no such bytes, or of another version.
        """
        state = _ARCHIVE.read(data)
        if not isinstance(state, cls):
            raise _ARCHIVE.unreadable()
        return state


_ARCHIVE = Archive(
    label="halfmask series state",
    version=1,
    kinds={"SeriesState": SeriesState},
    what="state of a series",
)
