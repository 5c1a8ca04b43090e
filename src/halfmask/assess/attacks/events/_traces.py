"""Traces of events: rows as codes, times and numbers, whose they are, and links to them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import polars as pl

from halfmask._errors import DataError
from halfmask.assess.attacks._arms import Certain, Expected
from halfmask.assess.attacks._attack import DeclaredAttack, Outcome
from halfmask.assess.attacks._events_target import EventsTarget
from halfmask.assess.attacks._reading import NumberReader, is_text
from halfmask.data import leaf_text
from halfmask.data.value_patterns import names_nobody

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from halfmask.assess._arrays import Bools, Floats, Ints


def merged_codes(frames: Sequence[tuple[pl.DataFrame, Sequence[str]]]) -> list[Ints]:
    """Return a code for each row of some frames: alike where all of the named cells are, as text.

    Texts are those of leaves of hierarchies: 7 and 7.0 are the same number.

    Examples
    --------
    >>> rows = pl.DataFrame({"a": ["x", "y", "x"], "b": [1, 1, 1]})
    >>> merged_codes([(rows, ["a", "b"]), (rows[:1], ["a", "b"])])
    [array([0, 1, 0]), array([0])]
    """
    ends = np.cumsum([0] + [frame.height for frame, _ in frames])
    merged = np.zeros(ends[-1], dtype=np.int64)
    for columns in zip(*(names for _, names in frames), strict=True):
        cells = [frame[name] for (frame, _), name in zip(frames, columns, strict=True)]
        text = pl.concat([leaf_text(column).alias("") for column in cells])
        ranks = text.fill_null("").rank("dense").to_numpy().astype(np.int64)
        merged = merged * (int(ranks.max(initial=0)) + 1) + ranks
        merged = np.unique(merged, return_inverse=True)[1].ravel()
    return [merged[start:stop] for start, stop in itertools.pairwise(ends)]


_MICROSECONDS = 1e6


def floats(columns: Sequence[pl.Series]) -> list[Floats]:
    """Return numbers and what spells them; NaN where one is missing, infinite, or none.

    Numbers of more digits than a float has are measured from one origin, so that they differ.
    """
    plain = [each.cast(pl.String) if is_text(each.dtype) else each for each in columns]
    reader = NumberReader.of(pl.Float64(), plain)
    return [reader.numbers(each).fill_null(np.nan).to_numpy() for each in plain]


def seconds(column: pl.Series) -> Floats:
    """Return dates, times, ISO 8601 texts or numbers as seconds; NaN where missing or infinite.

    Examples
    --------
    >>> seconds(pl.Series(["1970-01-01T00:01:00Z", None]))
    array([60., nan])
    """
    if is_text(column.dtype):
        column = _read(column.cast(pl.String))
    if not (column.dtype.is_numeric() or column.dtype.is_temporal() or column.dtype == pl.Null):
        raise DataError("A column of times holds neither times nor numbers.")
    if column.dtype == pl.Date:
        column = column.cast(pl.Datetime("us"))
    if isinstance(column.dtype, pl.Datetime):
        column = column.dt.epoch("us") / _MICROSECONDS
    found = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
    return np.where(np.isfinite(found), found, np.nan)


def _read(column: pl.Series) -> pl.Series:
    """Read texts as times, by the first of the usual ways that reads them all."""
    text = column.str.replace("Z$", "+00:00").str.replace("T", " ", literal=True)
    for zoned, how in (
        (True, "%Y-%m-%d %H:%M:%S%.f%:z"),
        (False, "%Y-%m-%d %H:%M:%S%.f"),
        (False, "%Y-%m-%d %H:%M"),
        (False, "%Y-%m-%d"),
    ):
        if how == "%Y-%m-%d":
            read = text.str.to_date(how, strict=False).cast(pl.Datetime("us"))
        else:
            zone = "UTC" if zoned else None
            read = text.str.to_datetime(how, time_unit="us", time_zone=zone, strict=False)
        if read.null_count() == column.null_count():
            return read
    raise DataError("A column of times holds texts that are no ISO 8601 times.")


_MAX_AT_ONCE = 4_000_000


def laid_out(starts: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Return which range each number is of, and the numbers of all ranges, one after the other.

    Examples
    --------
    >>> laid_out(np.array([5, 0, 9]), np.array([2, 0, 1]))
    (array([0, 0, 2]), array([5, 6, 9]))
    """
    which = np.repeat(np.arange(len(counts)), counts)
    inner = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    return which, starts[which] + inner


def blocks_of(counts: Ints) -> Iterator[slice]:
    """Cut ranges into blocks of a few million numbers in all; a longer range is alone."""
    start, total = 0, 0
    for place, count in enumerate(counts.tolist()):
        if total and total + count > _MAX_AT_ONCE:
            yield slice(start, place)
            start, total = place, 0
        total += count
    if start < len(counts):
        yield slice(start, len(counts))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TraceOwners:
    """Which trace each released row belongs to, and whose traces are."""

    trace: Ints
    event: Ints
    n: int
    n_entities: int
    owned: Ints
    crowd: Ints

    @classmethod
    def of(
        cls,
        left: pl.DataFrame,
        pseudonym: str,
        entity: Ints,
        event: Ints,
        n_entities: int,
        rng: np.random.Generator,
    ) -> Self:
        """Return the numbered traces of released rows, given their entities and events."""
        number = event
        if pseudonym:
            joined = merged_codes([(left, [pseudonym])])[0]
            alone = left[pseudonym].is_null().to_numpy()
            number = np.where(alone, len(joined) + 1 + event, joined)
        distinct, trace = np.unique(number, return_inverse=True)
        trace = rng.permutation(len(distinct))[trace.ravel()].astype(np.int64)
        some = entity >= 0
        owned = np.unique(trace[some] * n_entities + entity[some])
        return cls(
            trace=trace,
            event=event,
            n=len(distinct),
            n_entities=n_entities,
            owned=owned,
            crowd=np.bincount(owned // max(n_entities, 1), minlength=len(distinct)),
        )

    def right(self, trace: Ints, entity: Ints) -> Floats:
        """Return how probably each link is right: 1/m in a trace of m people, 0 without a trace."""
        if not len(self.owned):
            return np.zeros(len(trace))
        key = trace * self.n_entities + entity
        at = np.minimum(np.searchsorted(self.owned, key), len(self.owned) - 1)
        hit = (trace >= 0) & (entity >= 0) & (self.owned[at] == key)
        return np.where(hit, 1.0 / np.maximum(self.crowd[np.maximum(trace, 0)], 1), 0.0)


def ownerships(target: EventsTarget, rng: np.random.Generator) -> list[TraceOwners]:
    """Return whose rows are, of the release and of the later one where there is one."""
    who = RowOwners.of(target)
    made = []
    for frame, owners in target.releases:
        rows = np.arange(frame.height) if owners is None else owners
        made.append(
            TraceOwners.of(frame, target.pseudonym, who.entity[rows], who.event[rows], who.n, rng)
        )
    return made


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowOwners:
    """The entity (-1: none) and event of each original row, and of each control row."""

    entity: Ints
    event: Ints
    others: tuple[Ints, Ints] | None
    n: int

    @classmethod
    def of(cls, target: EventsTarget) -> Self:
        """Give numbers to entities and events."""
        frames = [target.original] + ([] if target.control is None else [target.control])
        codes = merged_codes([(frame, [target.entity]) for frame in frames])
        entities = [
            np.where(names_nobody(frame[target.entity]), -1, code)
            for frame, code in zip(frames, codes, strict=True)
        ]
        if target.event:
            events = [merged_codes([(frame, [target.event])])[0] for frame in frames]
        else:
            events = [np.arange(frame.height) for frame in frames]
        return cls(
            entity=entities[0],
            event=events[0],
            others=(entities[1], events[1]) if len(frames) > 1 else None,
            n=max(int(each.max(initial=-1)) for each in entities) + 1,
        )


def share(which: Bools) -> float:
    """Return the share of true values; 0 of none."""
    return float(which.mean()) if len(which) else 0.0


def doubles(entity: Ints, n: int, rng: np.random.Generator) -> Ints:
    """Return for each of n links of people who aren't in the release a person who is.

    A link of a control person counts as right if it hits this double's trace: the same attack,
    which can be right only by chance.
    """
    return rng.choice(entity, n) if len(entity) else np.full(n, -1)


class TraceAttack(DeclaredAttack, target=EventsTarget):
    """An attack that links people to traces."""

    __slots__ = ()

    def _links(
        self,
        measure: str,
        traces: TraceOwners,
        right: Floats,
        by_chance: Floats,
        details: Mapping[str, float],
        of: str = "people",
    ) -> Outcome:
        """Return how many links are right."""
        return self._make_outcome(
            measure,
            Expected(float(right.sum()), len(right)),
            Expected(float(by_chance.sum()), len(by_chance)),
            baseline=Certain(1 / max(1, traces.n)),
            needed=(100, of),
            details=details,
        )
