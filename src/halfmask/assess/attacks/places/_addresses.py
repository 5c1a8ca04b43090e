"""Snapping: the address that a masked place is most likely of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask.assess.attacks._attack import Found, given, required
from halfmask.assess.attacks._places_target import PlacesTarget
from halfmask.assess.attacks.places._guesses import PlaceGuesses, one_row_each

if TYPE_CHECKING:
    from halfmask.assess._arrays import Bools, Floats, Ints

#: How many bins of distances there are at most, and how many homes each has at least.
_BINS, _IN_BIN = 20, 10


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
        some = rng.permutation(one_row_each(target, rows))
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
