"""Cell: what is known of the events of one key and window, exactly."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from halfmask.events.block._values import Kind
from halfmask.events.block._words import lookup_word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.events.block._words import Token
    from halfmask.events.policy._stage_sections import MeasureSection

#: The released value of each field of the key; None where there is none.
Key: TypeAlias = tuple["Token | None", ...]
#: Numbers with so many places: places, how many, and the sum, smallest and largest of their units.
Run: TypeAlias = tuple[int, int, int, int, int]

_PLACES = 18
_WIDE = 10**_PLACES


def distinct_word(kind: Kind, token: bytes) -> str | None:
    """Return under which word a value is one of several; None for what is no value.

    Numbers are what they are, however they are written, and so are texts of numbers.
    """
    return None if kind <= Kind.NULL else lookup_word(kind, token)


@dataclass(slots=True, kw_only=True)
class Measured:
    """One measure of a cell."""

    count: int = 0
    sum: int = 0
    least: int | None = None
    most: int | None = None
    places: int = 0
    words: set[str] = field(default_factory=set)

    def add(self, run: Run) -> None:
        """Add numbers."""
        places, count, total, least, most = run
        self.count += count
        factor = 10 ** (_PLACES - places)
        self.sum += total * factor
        self.least = least * factor if self.least is None else min(self.least, least * factor)
        self.most = most * factor if self.most is None else max(self.most, most * factor)
        self.places = max(self.places, places)

    def written(self, section: MeasureSection) -> bytes | None:
        """Return the number as JSON; None where there is none, such as the mean of nothing."""
        match section.do:
            case "count":
                return b"%d" % self.count
            case "distinct":
                return b"%d" % len(self.words)
            case "sum":
                return _decimal(self.sum, self.places)
            case "mean":
                return self._mean(section.decimals or 0)
            case "min":
                return None if self.least is None else _decimal(self.least, self.places)
            case _:
                return None if self.most is None else _decimal(self.most, self.places)

    def _mean(self, decimals: int) -> bytes | None:
        if not self.count:
            return None
        step = 10 ** (_PLACES - decimals) * self.count
        whole, rest = divmod(self.sum, step)
        # Half goes to even.
        whole += 2 * rest > step or (2 * rest == step and whole % 2 == 1)
        return _decimal(whole * 10 ** (_PLACES - decimals), decimals)

    def to_json(self) -> list[Any]:
        """Return what is known, as JSON can hold it."""
        words = sorted(self.words)
        return [self.count, self.sum, self.least, self.most, self.places, words]

    @classmethod
    def from_json(cls, state: Sequence[Any]) -> Measured:
        """Return what `to_json` gave."""
        count, total, least, most, places, words = state
        return cls(
            count=int(count),
            sum=int(total),
            least=None if least is None else int(least),
            most=None if most is None else int(most),
            places=int(places),
            words=set(map(str, words)),
        )


def _decimal(scaled: int, places: int) -> bytes:
    units = abs(scaled) // 10 ** (_PLACES - places)
    sign = "-" if scaled < 0 else ""
    if not places:
        return f"{sign}{units}".encode()
    whole, rest = divmod(units, 10**places)
    return f"{sign}{whole}.{rest:0{places}d}".encode()


@dataclass(slots=True, kw_only=True)
class Cell:
    """What is known of the events of one key and window."""

    events: int = 0
    entities: set[str] = field(default_factory=set)
    measures: list[Measured]

    @classmethod
    def of(cls, measures: int) -> Cell:
        """Return the cell of no event."""
        return cls(measures=[Measured() for _ in range(measures)])

    def to_json(self) -> list[Any]:
        """Return what is known, as JSON can hold it."""
        return [self.events, sorted(self.entities), [it.to_json() for it in self.measures]]

    @classmethod
    def from_json(cls, state: Sequence[Any], *, measures: int) -> Cell:
        """Return what `to_json` gave."""
        events, entities, known = state
        found = [Measured.from_json(it) for it in known]
        if len(found) != measures:
            raise ValueError
        return cls(events=int(events), entities=set(map(str, entities)), measures=found)
