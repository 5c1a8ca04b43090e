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

_BINS = 20


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
        How near to the home an address counts as the home, in metres, above 0.
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
    for another person's home. Baseline: the one place that is near to most homes.
    """

    within: float = field(default=10.0, metadata={"gt": 0, "le": 1e7})
    candidates: int = field(default=200, metadata={"ge": 1, "le": 10_000})

    def _measure(self, target: PlacesTarget, random_state: int) -> Found:
        from scipy.spatial import cKDTree  # noqa: PLC0415 # scipy loads late

        rng = np.random.default_rng(random_state)
        people = required(target.addresses, "the addresses of the region").points
        there = people.take(people.present).in_system(target.unit, None)
        addresses = pl.DataFrame(there.in_space()).unique(maintain_order=True).to_numpy()
        true, seen, rows = target.pairs()
        some = rng.permutation(one_row_each(target, rows))[: self.n_people]
        homes = true.take(some).in_space()
        ranks = np.arange(1, min(self.candidates, len(addresses)) + 1)
        far, near = cKDTree(addresses).query(seen.take(some).in_space(), k=ranks)
        right = np.linalg.norm(addresses[near] - homes[:, None], axis=2) <= self.within
        every, half = np.arange(len(homes)), len(homes) // 2
        ways = (_by_metres(far, right, half), _by_rank(right, half))
        best = max(ways, key=lambda way: int(right[every, way][:half].sum()))
        by_density = addresses[near[every, best]][half:]
        return (
            self._found("homes", "the nearest address", addresses[near[:, 0]], homes, random_state),
            self._found("homes", "the density of the mask", by_density, homes[half:], random_state),
        )


def _by_metres(far: Floats, right: Bools, half: int) -> Ints:
    """Return which candidate lies where homes are densest, learned from the first half."""
    homes = far[:half][right[:half]]
    edges = np.unique(np.quantile(homes, np.linspace(0, 1, _BINS + 1))) if len(homes) else homes
    if len(edges) < 2:
        return np.zeros(len(far), dtype=np.int64)
    density = np.histogram(homes, edges)[0] / np.diff(edges**2)
    place = np.clip(np.searchsorted(edges, far, side="right") - 1, 0, len(density) - 1)
    outside = (far < edges[0]) | (far > edges[-1])
    return np.asarray(np.where(outside, -1.0, density[place]).argmax(axis=1))


def _by_rank(right: Bools, half: int) -> Ints:
    """Return the rank that most homes have among the candidates, learned from the first half."""
    return np.full(len(right), int(right[:half].sum(axis=0).argmax()), dtype=np.int64)
