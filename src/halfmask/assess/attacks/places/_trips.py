"""Trips: where a person is at night and by day, and whom a few points single out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask.assess._places import cells_in, middle_of, plane_about
from halfmask.assess.attacks._arms import Certain, SuccessCount
from halfmask.assess.attacks._attack import DeclaredAttack, Found, given, required
from halfmask.assess.attacks._places_target import PlacesTarget
from halfmask.assess.attacks.events._traces import merged_codes, seconds
from halfmask.assess.attacks.events._uniqueness import Points as TracePoints
from halfmask.assess.attacks.places._guesses import PlaceGuesses

if TYPE_CHECKING:
    from halfmask.assess._arrays import Bools, Floats, Ints

_NEEDS = (given("person", "the column of the person"), given("time", "the column of the time"))
_HOUR, _DAY = 3600.0, 86_400.0
#: 1 January 1970 was a Thursday.
_THURSDAY = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeAndWork(PlaceGuesses, name="places/home-and-work", target=PlacesTarget, needs=_NEEDS):
    """Guess where people live and work by their most frequent places at night and by day.

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
    is the median of the released points in the most frequent cell. The truth is the same of the
    original rows. People without a released row at these times aren't found. Control: the same
    guesses for another person. Baseline: the one place that is near to most.
    """

    cell: float = field(default=200.0, metadata={"gt": 0, "le": 1e7})

    def _measure(self, target: PlacesTarget, random_state: int) -> Found:
        rng = np.random.default_rng(random_state)
        tables = (target.original, target.released)
        who = merged_codes([(target.original, [required(target.person, "the person")])])[0]
        people = (who, who[target.owner_of_row])
        points = [target.points.read(table) for table in tables]
        space = [each.in_space() for each in points]
        middle = middle_of(space[0][points[0].present])
        plane = [plane_about(middle, each) for each in space]
        when = [seconds(table[required(target.time, "the time")]) for table in tables]
        outcomes = []
        for what, at in (("homes", _at_night), ("workplaces", _at_work)):
            true, seen = (
                self._usual(of, where[chosen], chosen)
                for of, where, chosen in (
                    (people[i], plane[i], np.flatnonzero(points[i].present & at(when[i])))
                    for i in (0, 1)
                )
            )
            both = true.join(seen, on="who", how="left", maintain_order="left")
            both = both[rng.permutation(len(both))[: self.n_people]].fill_null(np.nan)
            guess, truth = both["x_right", "y_right"].to_numpy(), both["x", "y"].to_numpy()
            outcomes.append(self._found(what, "frequent places", guess, truth, rng))
        return tuple(outcomes)

    def _usual(self, who: Ints, plane: Floats, chosen: Ints) -> pl.DataFrame:
        """Return the median point of each person's most frequent cell."""
        rows = pl.DataFrame(
            {
                "who": who[chosen],
                "cell": cells_in(plane, self.cell),
                "x": plane[:, 0],
                "y": plane[:, 1],
            }
        )
        return (
            rows.group_by("who", "cell")
            .agg(pl.col("x", "y").median(), pl.len().alias("n"))
            .sort("who", "n", "cell", descending=[False, True, False])
            .unique("who", keep="first", maintain_order=True)
            .select("who", "x", "y")
        )


def _at_night(when: Floats) -> Bools:
    hour = when % _DAY / _HOUR
    return np.asarray((hour >= 22) | (hour < 6))


def _at_work(when: Floats) -> Bools:
    hour, weekday = when % _DAY / _HOUR, (when // _DAY + _THURSDAY) % 7
    return np.asarray((hour >= 9) & (hour < 17) & (weekday < 5))


@dataclass(frozen=True, slots=True, kw_only=True)
class TripUnicity(DeclaredAttack, name="places/unicity", target=PlacesTarget, needs=_NEEDS):
    """Count the people whom some random points of theirs single out.

    Parameters
    ----------
    points
        How many points are drawn of each person; of one with fewer, all.
    resolutions
        Metres and seconds to which places and times are known; the further pairs are for the
        details.
    n_people
        How many people are drawn at most.

    Notes
    -----
    De Montjoye et al., "Unique in the crowd: the privacy bounds of human mobility" (Scientific
    Reports 2013). A point is a released cell and a released time: the attacker is taken to know
    what was released of them, so that this bounds what linking can reach. People are those of the
    released column of the person. Without a release nobody is unique: control and baseline are 0.
    """

    points: tuple[int, ...] = field(default=(1, 2, 4), metadata={"of": "numbers", "ge": 1})
    resolutions: tuple[tuple[float, float], ...] = ((100.0, _HOUR), (1000.0, _HOUR), (10_000, _DAY))
    n_people: int = field(default=2000, metadata={"ge": 1})

    def _measure(self, target: PlacesTarget, random_state: int) -> Found:
        rng = np.random.default_rng(random_state)
        points = target.points.read(target.released)
        rows = np.flatnonzero(points.present)
        left = target.released[rows]
        trace = merged_codes([(left, [required(target.person, "the person")])])[0]
        space = points.take(rows).in_space()
        plane = plane_about(middle_of(space), space)
        time = seconds(left[required(target.time, "the time")])
        n = int(trace.max(initial=-1)) + 1
        chosen = rng.permutation(np.unique(trace))[: self.n_people]
        curves = [
            [kept.unique(chosen, each, rng) for each in self.points]
            for kept in (
                TracePoints.of(trace, n, cells_in(plane, metres), np.floor(time / step))
                for metres, step in self.resolutions
            )
        ]
        return tuple(
            self._make_outcome(
                f"people unique by {each} point{'s' * (each > 1)}",
                SuccessCount(int(curves[0][place].sum()), len(chosen)),
                needed=(100, "people"),
                baseline=Certain(0.0),
                details={
                    f"at {metres:g} m and {step:g} s": float(curve[place].mean())
                    for (metres, step), curve in zip(self.resolutions, curves, strict=True)
                    if len(chosen)
                },
            )
            for place, each in enumerate(self.points)
        )
