"""AIM: a budget of rho, spent on noisy tables, each chosen by what it would add."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Final

import numpy as np

from halfmask._validation import number_between
from halfmask.dp.accounting import ExponentialEvent, MechanismEvent
from halfmask.dp.noise import GaussianMechanism, choose
from halfmask.dp.synthesis._graphical_model import Columns, GraphicalModel, NoisyTable, cells_needed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def epsilon_of_rho(rho: float, *, delta: float) -> float:
    """Return the epsilon that a rho costs at a delta, rounded up.

    Parameters
    ----------
    rho
        Of zero-concentrated differential privacy, from 0.
    delta
        Above 0, below 1.

    Notes
    -----
    Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy" (2020),
    corollary 13. Any order gives a bound; the best of a grid is taken.

    Examples
    --------
    >>> round(epsilon_of_rho(0.1, delta=1e-6), 2)
    2.14
    """
    number_between(0, math.inf, owner="epsilon_of_rho", rho=rho)
    number_between(0, 1, owner="epsilon_of_rho", low_open=True, high_open=True, delta=delta)
    if rho == 0:
        return 0.0
    loss = math.log(1 / delta)
    best = 1 + math.sqrt(loss / rho)
    orders = (1 + (best - 1) * 2 ** (step / 20) for step in range(-60, 61))
    found = min(
        a * rho + (loss - math.log(a - 1) + a * math.log1p(-1 / a)) / (a - 1) for a in orders
    )
    return max(0.0, found) * (1 + 1e-9)


def rho_of(epsilon: float, *, delta: float) -> float:
    """Return the largest rho that costs at most an epsilon at a delta.

    Parameters
    ----------
    epsilon, delta
        Above 0; delta below 1.

    Examples
    --------
    >>> rho = rho_of(1.0, delta=1e-6)
    >>> 0.99 < epsilon_of_rho(rho, delta=1e-6) <= 1.0
    True
    """
    number_between(0, math.inf, owner="rho_of", low_open=True, epsilon=epsilon)
    low, high = 0.0, epsilon + 1.0
    while epsilon_of_rho(high, delta=delta) <= epsilon:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        fits = epsilon_of_rho(middle, delta=delta) <= epsilon
        low, high = (middle, high) if fits else (low, middle)
    return low


#: The share of each round's budget for noise; the rest is for the choice.
NOISE_SHARE: Final = 0.9
#: At first a round gets what so many rounds a column would share.
ROUNDS: Final = 16
#: Tables that are no part of the model are estimated from so many drawn rows.
DRAWN_ROWS: Final = 100_000
#: The mean absolute value of standard Gaussian noise.
MEAN_NOISE: Final = math.sqrt(2 / np.pi)


@dataclass(slots=True, kw_only=True)
class AdaptiveTables:
    """The rounds of AIM on one data set.

    McKenna, Mullins, Sheldon and Miklau, "AIM: An Adaptive and Iterative Mechanism for
    Differentially Private Synthetic Data" (2022), algorithms 2 and 3.
    """

    codes: NDArray[np.int64]
    shape: Sequence[int]
    rho: float
    degree: int
    cells: int
    steps: int
    rng: np.random.Generator
    max_rows: int = 1

    def measured(self) -> tuple[GraphicalModel, list[MechanismEvent]]:
        """Return the fitted model, and what all measurements and choices cost."""
        d = len(self.shape)
        rounds = ROUNDS * d
        scale = math.sqrt(rounds / (2 * NOISE_SHARE * self.rho))
        epsilon = math.sqrt(8 * (1 - NOISE_SHARE) * self.rho / rounds)
        events: list[MechanismEvent] = []
        tables: dict[Columns, NoisyTable] = {}
        for i in range(d):
            self._measure((i,), scale, tables, events)
        spent = d * _cost(scale)
        model = GraphicalModel(self.shape).fit(tables, steps=self.steps)
        weights = _weights(d, min(self.degree, d))
        truth = {columns: self._counts(self.codes, columns) for columns in weights}
        while self.rho - spent > _cost(scale, epsilon) * 1e-6:
            left = self.rho - spent
            is_last = left < 2 * _cost(scale, epsilon)
            if is_last:  # what is left is for one more table
                scale = math.sqrt(1 / (2 * NOISE_SHARE * left))
                epsilon = math.sqrt(8 * (1 - NOISE_SHARE) * left)
            spent += _cost(scale, epsilon)
            room = min(1.0, spent / self.rho) * self.cells
            allowed = {
                columns: weight
                for columns, weight in weights.items()
                if self._fits(columns, tables, model, room)
            }
            drawn = model.sample(DRAWN_ROWS, self.rng)
            found = self._chosen(allowed, truth, model, drawn, scale, epsilon)
            events.append(ExponentialEvent(epsilon=epsilon))
            before = self._expected(model, drawn, found)
            self._measure(found, scale, tables, events)
            model.fit(tables, steps=self.steps)
            if is_last:
                break
            after = model.marginal(found)
            moved = 0.0 if after is None else float(np.abs(after - before).sum())
            if moved <= self._mean_noise(scale) * before.size:
                scale, epsilon = scale / 2, epsilon * 2
        return model.fit(tables, steps=10 * self.steps), events

    def _measure(
        self,
        columns: Columns,
        scale: float,
        tables: dict[Columns, NoisyTable],
        events: list[MechanismEvent],
    ) -> None:
        sensitivity = float(self.max_rows)
        mechanism = GaussianMechanism(sensitivity=sensitivity, scale=sensitivity * scale)
        counts = self._counts(self.codes, columns)
        noisy = mechanism.release(counts)
        found = NoisyTable(columns=columns, counts=noisy, scale=sensitivity * scale)
        events.append(mechanism.event(counts.size))
        tables[columns] = found.joined(tables[columns]) if columns in tables else found

    def _chosen(
        self,
        weights: dict[Columns, int],
        truth: dict[Columns, NDArray[np.float64]],
        model: GraphicalModel,
        drawn: NDArray[np.int64],
        scale: float,
        epsilon: float,
    ) -> Columns:
        """Return the table whose counts the model misses most, beyond the noise it would have."""
        names = list(weights)
        scores = []
        for columns in names:
            apart = np.abs(truth[columns] - self._expected(model, drawn, columns)).sum()
            noise = self._mean_noise(scale) * truth[columns].size
            scores.append(weights[columns] * float(apart - noise))
        # A unit changes the counts of a table by 1 for each of its rows.
        sensitivity = float(max(weights.values()) * self.max_rows)
        return names[choose(scores, sensitivity=sensitivity, epsilon=epsilon)]

    def _mean_noise(self, scale: float) -> float:
        """Return the mean absolute noise of a count."""
        return MEAN_NOISE * scale * self.max_rows

    def _fits(
        self,
        columns: Columns,
        tables: dict[Columns, NoisyTable],
        model: GraphicalModel,
        room: float,
    ) -> bool:
        """Return whether the model has room for a table; single columns always fit."""
        if len(columns) == 1 or any(set(columns) <= set(it) for it in model.tree.cliques):
            return True
        if prod(self.shape[i] for i in columns) > room:
            return False
        return cells_needed([*tables, columns], self.shape) <= room

    def _expected(
        self, model: GraphicalModel, drawn: NDArray[np.int64], columns: Columns
    ) -> NDArray[np.float64]:
        exact = model.marginal(columns)
        if exact is not None:
            return exact
        return np.asarray(self._counts(drawn, columns) * (model.total / drawn.shape[1]))

    def _counts(self, codes: NDArray[np.int64], columns: Columns) -> NDArray[np.float64]:
        sizes = [self.shape[i] for i in columns]
        places = codes[columns[0]]
        for i in columns[1:]:
            places = places * self.shape[i] + codes[i]
        counts = np.bincount(places, minlength=prod(sizes)).astype(np.float64)
        return np.asarray(counts.reshape(sizes))


def _cost(scale: float, epsilon: float = 0.0) -> float:
    """Return the rho of noise of this scale, and of a choice."""
    return 1 / (2 * scale**2) + epsilon**2 / 8


def _weights(n_columns: int, degree: int) -> dict[Columns, int]:
    """Return all tables of up to so many columns, weighed by what they share with the largest."""
    largest = [set(it) for it in combinations(range(n_columns), degree)]
    return {
        columns: sum(len(set(columns) & it) for it in largest)
        for size in range(1, degree + 1)
        for columns in combinations(range(n_columns), size)
    }
