"""Trips: where a person is at night and by day, and whom a few points single out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask.assess.attacks._attack import Found, given, required
from halfmask.assess.attacks._places_target import PlacesTarget
from halfmask.assess.attacks.events._traces import merged_codes, seconds
from halfmask.assess.attacks.events._uniqueness import PointUnicity, TracePoints
from halfmask.assess.attacks.places._guesses import PlaceGuesses

if TYPE_CHECKING:
    from halfmask.assess._arrays import Bools, Floats, Ints

_NEEDS = (given("person", "the column of the person"), given("time", "the column of the time"))
_HOUR, _DAY = 3600.0, 86_400.0
#: How much wider and longer than `cell` and `step` the cells and steps of the curves are.
_COARSER = ((1, 1), (10, 1), (100, 24))
#: 1 January 1970 was a Thursday.
_THURSDAY = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeAndWork(PlaceGuesses, name="places/home-and-work", target=PlacesTarget, needs=_NEEDS):
    """Guess where people live and work by their places at night and by day.

    Parameters
    ----------
    within
        How near to the true place counts as found, in metres, above 0.
    n_people
        How many people are drawn at most.
    cell
        The width of the cells, in metres, in which points count as one place.

    Notes
    -----
    Golle and Partridge, "On the anonymity of home/work location pairs" (2009). Night is from 22 to
    6 o'clock; day is from 9 to 17 o'clock, Monday to Friday, by the times of the table. The guess
    is the median of the released points in the most frequent cell, or of all at these times; the
    one that finds more people is reported. The truth is the first of both for the original rows.
    A released value of `person` is one trial, and fails where no such row is left. Control: the
    same guesses for another person. Baseline: the one place that is near to most.
    """

    cell: float = field(default=200.0, metadata={"gt": 0, "le": 1e7})

    def _measure(self, target: PlacesTarget, random_state: int) -> Found:
        rng = np.random.default_rng(random_state)
        person, time = required(target.person, "the person"), required(target.time, "the time")
        tables = (target.original, target.released)
        who, trace = (merged_codes([(table, [person])])[0] for table in tables)
        traces, first = np.unique(trace, return_index=True)
        some = rng.permutation(len(traces))[: self.n_people]
        owner = who[target.owner_of_row[first[some]]]
        true, seen = (it.seen_from(target.middle) for it in target.places)
        before, after = (seconds(table[time]) for table in tables)
        found = []
        for what, at in (("homes", _at_night), ("workplaces", _at_work)):
            truth = _usual(who, true, at(before), self.cell, owner)
            there = ~np.isnan(truth[:, 0])
            measure = f"{what} found within {self.within:g} m by frequent places"
            ways = [
                self._found(measure, guess[there], truth[there], random_state)
                for guess in (
                    _usual(trace, seen, at(after), cell, traces[some])
                    for cell in (self.cell, np.inf)
                )
            ]
            found.append(max(ways, key=lambda way: way.success.value))
        return tuple(found)


def _usual(who: Ints, plane: Floats, chosen: Bools, cell: float, asked: Ints) -> Floats:
    """Return the median point of the most frequent cell of each who is asked about, or NaN."""
    there = np.flatnonzero(chosen & ~np.isnan(plane[:, 0]))
    x, y = plane[there].T
    usual = (
        pl.DataFrame({"who": who[there], "cell": _cells_in(plane[there], cell), "x": x, "y": y})
        .group_by("who", "cell")
        .agg(pl.col("x", "y").median(), pl.len().alias("n"))
        .sort("who", "n", "cell", descending=[False, True, False])
        .unique("who", keep="first", maintain_order=True)
    )
    found = pl.DataFrame({"who": asked}).join(usual, on="who", how="left", maintain_order="left")
    return found["x", "y"].fill_null(np.nan).to_numpy()


def _cells_in(plane: Floats, width: float) -> Ints:
    """Return a number for the square cell of each point, alike in the same cell."""
    cell = np.floor(plane / width).astype(np.int64)
    return np.unique(cell, axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def _at_night(when: Floats) -> Bools:
    hour = when % _DAY / _HOUR
    return np.asarray((hour >= 22) | (hour < 6))


def _at_work(when: Floats) -> Bools:
    hour, weekday = when % _DAY / _HOUR, (when // _DAY + _THURSDAY) % 7
    return np.asarray((hour >= 9) & (hour < 17) & (weekday < 5))


@dataclass(frozen=True, slots=True, kw_only=True)
class TripUnicity(PointUnicity, name="places/unicity", target=PlacesTarget, needs=_NEEDS):
    """Count the people whom some random points of theirs single out.

    Parameters
    ----------
    points
        How many points are drawn of each person; of one with fewer, all.
    cell, step
        Metres and seconds, above 0, to which the attacker knows places and times.
    n_people
        How many people are drawn at most.

    Notes
    -----
    De Montjoye et al., "Unique in the crowd: the privacy bounds of human mobility" (Scientific
    Reports 2013). A point is a released cell and a released time: the attacker is taken to know
    what was released of them, so that this bounds what linking can reach. People are those of the
    released column of the person. Without a release nobody is unique: control and baseline are 0.
    """

    cell: float = field(default=100.0, metadata={"gt": 0, "le": 1e7})
    step: float = field(default=_HOUR, metadata={"gt": 0, "le": 1e12})
    n_people: int = field(default=2000, metadata={"ge": 1})

    def _measure(self, target: PlacesTarget, random_state: int) -> Found:
        rng = np.random.default_rng(random_state)
        points = target.places[1]
        rows = np.flatnonzero(points.present)
        left = target.released[rows]
        trace = merged_codes([(left, [required(target.person, "the person")])])[0]
        plane = points.take(rows).seen_from(target.middle)
        time = seconds(left[required(target.time, "the time")])
        n = int(trace.max(initial=-1)) + 1
        chosen = rng.permutation(np.unique(trace))[: self.n_people]
        curves = {}
        for wider, longer in _COARSER:
            metres, step = self.cell * wider, self.step * longer
            kept = TracePoints.of(trace, n, _cells_in(plane, metres), np.floor(time / step))
            curve = [kept.unique(chosen, each, rng) for each in self.points]
            curves[f"at {metres:g} m and {step:g} s"] = curve
        return self._unique("people", curves)
