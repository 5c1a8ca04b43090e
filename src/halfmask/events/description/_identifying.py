"""What identifies: fields that single events out together, and values of one entity alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask.description.singling_out import share_unique, single_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.description import SinglingOut
    from halfmask.events.description._facts import FieldFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Identifying:
    """What singles events out."""

    sets: tuple[SinglingOut, ...]
    gains: Mapping[str, float]
    share_unique: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rarity:
    """How many entities the values of a field are met with."""

    one_entity: float | None
    rarest_events: int
    rarest_entities: int | None


def identifying(found: Sequence[FieldFacts], events: int) -> Identifying:
    """Count which fields single events out, alone and together."""
    frame = pl.DataFrame({facts.path: _whole(facts, events) for facts in found})
    if not frame.width or not events:
        return Identifying(sets=(), gains={}, share_unique=0.0)
    counted = single_out(frame, frame.columns)
    return Identifying(
        sets=counted.sets,
        gains=counted.gains,
        share_unique=share_unique(frame, frame.columns),
    )


def rarity_of(facts: FieldFacts, entities: NDArray[np.int64] | None) -> Rarity:
    """Count the events and entities that each value of a field is met with."""
    codes = _codes(facts.series)
    if not len(codes):
        return Rarity(one_entity=None, rarest_events=0, rarest_entities=None)
    least = int(_counts(codes, facts.event).min())
    if entities is None:
        return Rarity(one_entity=None, rarest_events=least, rarest_entities=None)
    whose = entities[facts.event]
    known = whose >= 0
    each = np.zeros(int(codes.max()) + 1, np.int64)
    if known.any():
        values = np.unique(np.stack([codes[known], whose[known]]), axis=1)[0]
        each += np.bincount(values, minlength=len(each))
    return Rarity(
        one_entity=float(np.mean(each == 1)), rarest_events=least, rarest_entities=int(each.min())
    )


def _counts(codes: NDArray[np.int64], event: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return in how many events each code is."""
    return np.bincount(np.unique(np.stack([codes, event]), axis=1)[0])


def _codes(series: pl.Series) -> NDArray[np.int64]:
    return np.unique(series.hash(seed=0).to_numpy(), return_inverse=True)[1].astype(np.int64)


def _whole(facts: FieldFacts, events: int) -> pl.Series:
    """Return one number for each event, the same where all values of the field are."""
    order = np.argsort(facts.event, kind="stable")
    event, codes = facts.event[order], _codes(facts.series)[order].astype(np.uint64)
    mixed = np.zeros(events, np.uint64)
    place = np.arange(len(event)) - np.searchsorted(event, event)
    with np.errstate(over="ignore"):
        np.add.at(mixed, event, _mixed(_mixed(codes + np.uint64(1)) ^ place.astype(np.uint64)))
    return pl.Series(facts.path, mixed)


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return words with their bits mixed (the finalizer of SplitMix64, Steele and others 2014)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
