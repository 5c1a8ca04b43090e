"""Guesses of true places: by several copies, known places, or the addresses near by."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask.assess.attacks._arms import Certain, Resampled, SuccessCount
from halfmask.assess.attacks._attack import DeclaredAttack, Found, given, required
from halfmask.assess.attacks._places_target import PlacesTarget
from halfmask.assess.attacks.events._traces import merged_codes

if TYPE_CHECKING:
    from halfmask.assess._arrays import Bools, Floats, Ints
    from halfmask.assess.attacks._attack import Outcome

_RESAMPLES = 400
#: How many bins of distances there are at most, and how many homes each has at least.
_BINS, _IN_BIN = 20, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceGuesses(DeclaredAttack):
    """What attacks have in common that guess a place: how near counts as found."""

    within: float = field(default=50.0, metadata={"gt": 0, "le": 1e7})
    n_people: int = field(default=2000, metadata={"ge": 1})

    def _found(
        self,
        measure: str,
        guess: Floats,
        true: Floats,
        random_state: int,
        *,
        plain: Floats | None = None,
        within: float | None = None,
    ) -> Outcome:
        """Return how many guesses are near, all in metres; a guess that is NaN isn't.

        The baseline is the one place that is near to most, or plain guesses if these are nearer.
        """
        from scipy.spatial import cKDTree  # noqa: PLC0415 # scipy loads late

        n, most = len(true), self.within if within is None else within
        other = np.roll(true, np.random.default_rng(random_state).integers(1, max(2, n)), axis=0)

        def near(guesses: Floats, places: Floats) -> int:
            return int((np.linalg.norm(guesses - places, axis=1) <= most).sum())

        usual = cKDTree(true).query_ball_point(true, most, return_length=True)
        baseline = int(np.max(usual, initial=0))
        # Where nothing was moved, a plain guess is right, and no attack would show its power.
        if plain is not None and not np.allclose(plain, true, rtol=0, atol=1e-6):
            baseline = max(baseline, near(plain, true))
        return self._make_outcome(
            measure,
            SuccessCount(near(guess, true), n),
            SuccessCount(near(guess, other), n),
            needed=(100, measure.partition(" ")[0]),
            baseline=SuccessCount(baseline, n),
        )


def _place_numbers(target: PlacesTarget) -> Ints:
    """Return a number for each original row: alike for the same person at the same place."""
    if target.person is None:
        return np.arange(target.original.height)
    return merged_codes([(target.original, [target.person, *target.points])])[0]


def _one_row_each(target: PlacesTarget, rows: Ints) -> Ints:
    """Return which of some released rows are the first of a person at a place."""
    of = _place_numbers(target)[target.owner_of_row[rows]]
    return np.sort(np.unique(of, return_index=True)[1]).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceAveraging(PlaceGuesses, name="places/averaging", target=PlacesTarget):
    """Guess a place by the mean of its copies, in several releases or rows.

    Parameters
    ----------
    within
        How near to the true place counts as found, in metres, above 0.
    n_people
        How many places are drawn at most.
    copies
        How many copies a place must have.

    Notes
    -----
    Cassa, Wieland and Mandl, "Re-identification of home addresses from spatial locations anonymized
    by Gaussian skew" (IJHG 2008). Copies are all released rows of one person at one place; the
    attacker is taken to know which belong together. Two measures:

    - *places found*: the share of means that are near enough. Control: the same means for another
      person's place. Baseline: one copy, or the one place that is near to most;
    - *error taken off by averaging*: 1 - (median error of the means) / (median error of one copy),
      0 where a place is drawn once for each person. The first measure is its positive control.
    """

    copies: int = field(default=2, metadata={"ge": 2})

    def missing_inputs(self, target: PlacesTarget) -> str:
        """Return what is missing: places with several copies."""
        return "" if len(self._copies(target)) else f"places with {self.copies} released copies"

    def _copies(self, target: PlacesTarget) -> pl.DataFrame:
        """Return for each place with copies: where it is, the mean of its copies, and the first."""
        true, seen, rows = target.pairs()
        columns = {
            f"{word} {axis}": numbers
            for word, points in (("true", true), ("seen", seen))
            for axis, numbers in enumerate(points.in_space().T)
        }
        return (
            pl.DataFrame({"place": _place_numbers(target)[target.owner_of_row[rows]], **columns})
            .group_by("place", maintain_order=True)
            .agg(
                pl.col("^true .$", "^seen .$").first(),
                pl.col("^seen .$").mean().name.prefix("mean "),
                pl.len().alias("copies"),
            )
            .filter(pl.col("copies") >= self.copies)
        )

    def _measure(self, target: PlacesTarget, random_state: int) -> Found:
        rng = np.random.default_rng(random_state)
        copies = self._copies(target)
        copies = copies[rng.permutation(len(copies))[: self.n_people]]
        true, one, mean = (
            copies.select(f"^{word} .$").to_numpy() for word in ("true", "seen", "mean seen")
        )
        measure = f"places found within {self.within:g} m by their mean"
        found = self._found(measure, mean, true, random_state, plain=one)
        alone, together = (np.linalg.norm(each - true, axis=1) for each in (one, mean))
        errors = float(np.median(alone)), float(np.median(together))
        if not errors[0] > 0:
            return (found,)
        drawn = rng.integers(0, len(alone), size=(_RESAMPLES, len(alone)))
        was = np.median(alone[drawn], axis=1)
        off = 1 - np.median(together[drawn], axis=1)[was > 0] / was[was > 0]
        less = self._make_outcome(
            "error taken off by averaging",
            Resampled.of(1 - errors[1] / errors[0], off, len(alone)),
            needed=(100, "places"),
            baseline=Certain(0.0),
            control_measure=found.measure,
            details={
                "error of one copy, median": errors[0],
                "error of the mean, median": errors[1],
                "copies, median": float(np.median(copies["copies"].to_numpy())),
            },
        )
        return found, less


@dataclass(frozen=True, slots=True, kw_only=True)
class AffineBreak(PlaceGuesses, name="places/affine-break", target=PlacesTarget):
    """Fit one affine map to a few known places, and guess all others by it.

    Parameters
    ----------
    within
        How near to the true place counts as found, in metres, above 0.
    n_people
        How many places are drawn at most.
    known
        How many places of other people the attacker knows, at least 3.

    Notes
    -----
    Three pairs of a true and a released place fix the six numbers of a map: rotation, scales, shear
    and shift. For each place other known ones are drawn; a place that many people have counts once.
    Control: the same guesses for another place. Baseline: the released place itself, or the one
    place that is near to most.
    """

    known: int = field(default=3, metadata={"ge": 3})

    def missing_inputs(self, target: PlacesTarget) -> str:
        """Return what is missing: more places than are known."""
        return "" if len(_distinct(target)[0]) > self.known else "more places than are known"

    def _measure(self, target: PlacesTarget, random_state: int) -> Found:
        rng = np.random.default_rng(random_state)
        true, seen = _distinct(target)
        n = len(true)
        order = rng.permutation(n)
        some = order[: self.n_people]
        # Different others, each with the same chance.
        further = 1 + rng.choice(n - 1, self.known, replace=False)
        known = order[(np.arange(len(some))[:, None] + further) % n]
        with_one = np.column_stack((seen, np.ones(n)))
        maps = np.linalg.pinv(with_one[known]) @ true[known]
        guess = np.einsum("ij,ijk->ik", with_one[some], maps)
        measure = f"places found within {self.within:g} m by {self.known} known ones"
        return (self._found(measure, guess, true[some], random_state, plain=seen[some]),)


def _distinct(target: PlacesTarget) -> tuple[Floats, Floats]:
    """Return each true place once, and what was released of one who has it, in metres."""
    true, seen, _ = target.pairs()
    if not len(true):
        return np.empty((0, 2)), np.empty((0, 2))
    first = np.unique(np.column_stack((true.x, true.y)), axis=0, return_index=True)[1]
    before, after = (it.take(first).seen_from(target.middle) for it in (true, seen))
    return before, after


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressSnapping(
    PlaceGuesses,
    name="places/snapping",
    target=PlacesTarget,
    needs=(given("addresses", "the addresses of the region"),),
):
    """Guess a home by the addresses round its masked place.

    Parameters
    ----------
    within
        How far a home lies from its address at most, in metres; others aren't attacked.
    n_people
        How many homes are drawn at most.
    candidates
        How many addresses round a masked place are considered, the nearest ones.

    Notes
    -----
    Two guesses: the *nearest address*, as reverse geocoding finds it (Brownstein, Cassa and Mandl,
    NEJM 2006); and one by the *density of the mask*: where homes are densest round masked places,
    by metres or by the rank of the home among the addresses. Both are learned from half of the
    people; the one that finds more of them is measured on the other half. Control: the same guesses
    for another person's home. Baseline: the address of most homes.
    """

    candidates: int = field(default=200, metadata={"ge": 1, "le": 10_000})

    def _measure(self, target: PlacesTarget, random_state: int) -> Found:
        from scipy.spatial import cKDTree  # noqa: PLC0415 # scipy loads late

        rng = np.random.default_rng(random_state)
        people = required(target.addresses, "the addresses of the region").points
        there = people.take(people.present).in_system(target.unit, target.crs)
        addresses = pl.DataFrame(there.in_space()).unique(maintain_order=True).to_numpy()
        true, seen, rows = target.pairs()
        some = rng.permutation(_one_row_each(target, rows))
        tree = cKDTree(addresses)
        off, home = tree.query(true.take(some).in_space())
        attacked = np.flatnonzero(off <= self.within)[: self.n_people]
        some, home = some[attacked], home[attacked]
        ranks = np.arange(1, min(self.candidates, len(addresses)) + 1)
        far, near = tree.query(seen.take(some).in_space(), k=ranks)
        right, every, half = near == home[:, None], np.arange(len(home)), len(home) // 2
        ways = (_by_metres(far, right, half), _by_rank(right, half))
        best = max(ways, key=lambda way: int(right[every, way][:half].sum()))
        guesses = {
            "homes found as the nearest address": (near[:, 0], home),
            "homes found by the density of the mask": (near[every, best][half:], home[half:]),
        }
        return tuple(
            self._found(measure, addresses[guess], addresses[own], random_state, within=0.0)
            for measure, (guess, own) in guesses.items()
        )


def _by_metres(far: Floats, right: Bools, half: int) -> Ints:
    """Return which candidate lies where homes are densest, learned from the first half."""
    homes = far[:half][right[:half]]
    bins = np.linspace(0, 1, 1 + min(_BINS, 1 + len(homes) // _IN_BIN))
    edges = np.unique(np.quantile(homes, bins)) if len(homes) else homes
    if len(edges) < 2:
        return np.zeros(len(far), dtype=np.int64)
    density = np.histogram(homes, edges)[0] / np.diff(edges**2)
    place = np.clip(np.searchsorted(edges, far, side="right") - 1, 0, len(density) - 1)
    outside = (far < edges[0]) | (far > edges[-1])
    return np.asarray(np.where(outside, -1.0, density[place]).argmax(axis=1))


def _by_rank(right: Bools, half: int) -> Ints:
    """Return the rank that most homes have among the candidates, learned from the first half."""
    return np.full(len(right), int(right[:half].sum(axis=0).argmax()), dtype=np.int64)
