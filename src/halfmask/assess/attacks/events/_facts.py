"""KnownFacts: what an attacker knows of some people's events, drawn at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.attacks.events._linking_setup import KnownPeople


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownFacts:
    """KnownFacts about some targets, one target after the other."""

    entity: NDArray[np.int64]
    offsets: NDArray[np.int64]
    item: NDArray[np.int64]
    time: NDArray[np.float64]
    numbers: NDArray[np.float64]
    weight: NDArray[np.float64]
    needed: NDArray[np.int64]


def drawn_facts(
    known: KnownPeople,
    *,
    n_events: int,
    n_wrong: int,
    rows: int | None,
    consecutive: bool,
    time_noise: float,
    most: int,
    rng: np.random.Generator,
) -> KnownFacts:
    """Draw events of people who have enough of them, and rows of these events."""
    order = rng.permutation(len(known.event))
    order = order[np.argsort(known.event[order], kind="stable")]  # rows of an event, at random
    events, first, counts = np.unique(known.event[order], return_index=True, return_counts=True)
    entity = known.entity[order[first]]
    picked, people = _picked(entity, known.time[order[first]], n_events, consecutive, most, rng)
    claimed = picked.copy()
    if n_wrong and len(people):
        claimed[:, :n_wrong] = rng.integers(0, len(events), (len(people), n_wrong))
    taken = counts if rows is None else np.minimum(counts, rows)
    flat = claimed.ravel()
    n_rows = taken[flat]
    inner = np.arange(n_rows.sum()) - np.repeat(np.cumsum(n_rows) - n_rows, n_rows)
    row = order[np.repeat(first[flat], n_rows) + inner]
    off = rng.uniform(-time_noise, time_noise, len(flat)) if time_noise else np.zeros(len(flat))
    per_target = n_rows.reshape(claimed.shape)
    time = known.time[row] + np.repeat(off, n_rows)
    return KnownFacts(
        entity=people,
        offsets=np.concatenate([[0], np.cumsum(per_target.sum(axis=1))]).astype(np.int64),
        item=np.where(np.isnan(time), -1, known.item[row]),
        time=time,
        numbers=np.ascontiguousarray(known.numbers[row]),
        weight=1.0 / np.repeat(n_rows, n_rows),
        needed=per_target[:, n_wrong:].sum(axis=1).astype(np.int64),
    )


def _picked(
    entity: NDArray[np.int64],
    time: NDArray[np.float64],
    n_events: int,
    consecutive: bool,  # noqa: FBT001 # private
    most: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the events that are known of each person drawn, and who these are."""
    key = time if consecutive else rng.random(len(entity))
    order = np.lexsort((key, entity))
    people, start, counts = np.unique(entity[order], return_index=True, return_counts=True)
    enough = np.flatnonzero((people >= 0) & (counts >= n_events))
    enough = rng.permutation(enough)[:most]
    spare = counts[enough] - n_events
    begin = start[enough] + (rng.integers(0, spare + 1) if consecutive else 0)
    return order[begin[:, None] + np.arange(n_events)], people[enough]
