"""LinkingSetup: released events and an attacker's knowledge, in the same codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks._rows import with_rows
from halfmask.assess.attacks.events._traces import (
    RowOwners,
    TraceOwners,
    floats,
    merged_codes,
    seconds,
)
from halfmask.data import leaf_text

if TYPE_CHECKING:
    import polars as pl

    from halfmask.assess._arrays import Floats, Ints
    from halfmask.assess.attacks._events_target import EventsTarget

#: Released cells are compared with original ones if so many of them are unchanged; values of
#: tokens and other names can't be compared.
_STAYED = 0.1
#: Up to this quantile of its errors a released number still fits.
_MOST = 0.99


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownPeople:
    """Rows of people as an attacker may know them."""

    entity: Ints
    event: Ints
    time: Floats
    item: Ints
    numbers: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReleasedCodes:
    """Released rows in the codes of what may be known."""

    owned: TraceOwners
    time: Floats
    item: Ints
    numbers: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinkingSetup:
    """A target's rows, as a linking attack needs them."""

    released: ReleasedCodes
    people: KnownPeople
    controls: KnownPeople | None
    low: float
    high: float
    scales: Floats
    reaches: Floats
    timed: bool

    @classmethod
    def of(
        cls, target: EventsTarget, rng: np.random.Generator, *, sizes: bool = False
    ) -> LinkingSetup:
        """Bring a target's rows into codes."""
        owners, original, left = target.owner_of_row, target.original, target.released
        who = RowOwners.of(target)
        items = _comparable_items(target)
        others = [] if target.control is None else [(target.control, items)]
        names = [target.released_name(item) for item in items]
        codes = merged_codes([(left, names), (original, items), *others])
        timed = bool(target.time and target.released_name(target.time))
        numbers = _numbers(target)

        def known(
            place: int, frame: pl.DataFrame, entity: Ints, event: Ints, code: Ints
        ) -> KnownPeople:
            return KnownPeople(
                entity=entity,
                event=event,
                time=_times(frame, target.time, timed=timed),
                item=code,
                numbers=_stacked(numbers[place], event, sizes=sizes),
            )

        people = known(1, original, who.entity, who.event, codes[1])
        controls = None
        if target.control is not None and who.others is not None:
            controls = known(2, target.control, *who.others, codes[2])
        event = who.event[owners]
        released = ReleasedCodes(
            owned=TraceOwners.of(left, target.pseudonym, who.entity[owners], event, who.n, rng),
            time=_times(left, target.released_name(target.time) if timed else "", timed=timed),
            item=codes[0],
            numbers=_stacked(numbers[0], event, sizes=sizes),
        )
        usual = _errors(np.abs(released.numbers - people.numbers[owners]))[0]
        if sizes and usual[-1] > 0:  # rows were held back or added: how many are left misleads
            return cls.of(target, rng)
        low, high = _bounds(released.time - people.time[owners], target.time_bounds)
        scales, reaches = _errors(np.abs(released.numbers - people.numbers[owners]))
        return cls(
            released=released,
            people=with_rows(people, np.isin(who.event, event)),
            controls=controls,
            low=low,
            high=high,
            scales=scales,
            reaches=reaches,
            timed=timed,
        )


def _comparable_items(target: EventsTarget) -> list[str]:
    """Return the items whose released cells can be compared with original ones by value."""
    owners, found = target.owner_of_row, []
    for name in target.items:
        left = target.released_name(name)
        if left:
            seen = leaf_text(target.released[left])
            true = leaf_text(target.original[name])[owners]
            if (seen == true).sum() >= _STAYED * max(1, len(seen)):
                found.append(name)
    return found


def _times(frame: pl.DataFrame, name: str, *, timed: bool) -> Floats:
    return seconds(frame[name]) if timed else np.zeros(frame.height)


def _numbers(target: EventsTarget) -> list[list[Floats]]:
    """Return the released numbers of released, original and control rows."""
    control = target.control
    found: list[list[Floats]] = [[], [], []]
    for name in target.numbers:
        left = target.released_name(name)
        if left:
            columns = [target.released[left], target.original[name]]
            columns += [] if control is None else [control[name]]
            for held, numbers in zip(found, floats(columns), strict=False):
                held.append(numbers)
    return found


def _stacked(numbers: list[Floats], event: Ints, *, sizes: bool) -> Floats:
    columns = list(numbers)
    if sizes:
        columns.append(np.bincount(event, minlength=1)[event].astype(np.float64))
    return np.column_stack(columns) if columns else np.zeros((len(event), 0))


def _bounds(behind: Floats, given: tuple[float, float] | None) -> tuple[float, float]:
    if given is not None:
        return given
    behind = behind[np.isfinite(behind)]
    return (float(behind.min()), float(behind.max())) if len(behind) else (0.0, 0.0)


def _errors(gaps: Floats) -> tuple[Floats, Floats]:
    """Return the usual error of each number, and one that hardly any exceeds."""
    scales, reaches = np.zeros(gaps.shape[1]), np.zeros(gaps.shape[1])
    for k in range(gaps.shape[1]):
        seen = gaps[:, k][np.isfinite(gaps[:, k])]
        if len(seen):
            scales[k], reaches[k] = np.median(seen), np.quantile(seen, _MOST)
    return scales, reaches
