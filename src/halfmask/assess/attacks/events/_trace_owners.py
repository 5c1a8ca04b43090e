"""Owned: the trace of each released row, and the owners of each trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from halfmask.assess.attacks.events._codes import merged_codes
from halfmask.data.value_patterns import names_nobody

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from halfmask.assess.attacks._events_target import EventsTarget


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TraceOwners:
    """Which trace each released row belongs to, and whose traces are."""

    trace: NDArray[np.int64]
    event: NDArray[np.int64]
    n: int
    n_entities: int
    owned: NDArray[np.int64]
    crowd: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        left: pl.DataFrame,
        pseudonym: str,
        entity: NDArray[np.int64],
        event: NDArray[np.int64],
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

    def right(self, trace: NDArray[np.int64], entity: NDArray[np.int64]) -> NDArray[np.float64]:
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

    entity: NDArray[np.int64]
    event: NDArray[np.int64]
    others: tuple[NDArray[np.int64], NDArray[np.int64]] | None
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
