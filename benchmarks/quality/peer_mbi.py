"""AIM on mbi's estimator, in a venv of its own: codes in, synthetic codes out.

mbi's wheel has no mechanisms, so the rounds of AIM (McKenna, Mullins, Sheldon and Miklau 2022,
algorithms 2 and 3) are written here again on its estimator and sampler. Two things are ours, or a
round would take minutes: tables that lie in no clique are estimated from 100,000 drawn rows, and
the size of a junction tree is counted by our module, which needs the standard library alone.
"""

# ruff: noqa: ANN401 # mbi's values have no types that another venv could check

from __future__ import annotations

import argparse
import itertools
import runpy
import sys
from pathlib import Path
from typing import Any

import jax
import mbi
import numpy as np

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_enable_compilation_cache", False)

TREES = Path(__file__).resolve().parents[2] / "src/halfmask/dp/synthesis/_graphical_model.py"
cells_needed = runpy.run_path(str(TREES))["cells_needed"]
NOISE, DRAWN = np.sqrt(2 / np.pi), 100_000


def weighed(names: tuple[str, ...], degree: int) -> dict[tuple[str, ...], int]:
    """Return all tables of up to so many columns, weighed by what they share with the largest."""
    largest = [set(it) for it in itertools.combinations(names, degree)]
    return {
        columns: sum(len(set(columns) & it) for it in largest)
        for size in range(1, degree + 1)
        for columns in itertools.combinations(names, size)
    }


class Rounds:
    """AIM on one data set."""

    def __init__(self, data: Any, rho: float, cells: int, steps: int, seed: int) -> None:
        self.data, self.domain, self.rho = data, data.domain, rho
        self.cells, self.steps = cells, steps
        self.rng = np.random.default_rng(seed)
        self.measured: list[Any] = []

    def measure(self, columns: tuple[str, ...], scale: float) -> None:
        counts = np.asarray(self.data.project(columns).datavector())
        noisy = counts + self.rng.normal(0, scale, counts.size)
        self.measured.append(mbi.LinearMeasurement(noisy, columns, stddev=scale))

    def fitted(self, model: Any = None) -> Any:
        return mbi.estimation.MirrorDescent().estimate(
            self.domain,
            self.measured,
            iters=self.steps,
            warm_start=model,
            callback_fn=lambda *_: None,
        )

    def allowed(self, weights: dict[Any, int], room: float) -> dict[Any, int]:
        cliques = [self.places(it.clique) for it in self.measured]
        there, shape = [set(it) for it in cliques], self.domain.shape
        return {
            columns: weight
            for columns, weight in weights.items()
            if len(columns) == 1
            or any(set(self.places(columns)) <= it for it in there)
            or (
                self.domain.size(columns) <= room
                and cells_needed([*cliques, self.places(columns)], shape) <= room
            )
        }

    def places(self, columns: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(int(name[1:]) for name in columns)

    def chosen(self, weights: dict[Any, int], model: Any, scale: float, epsilon: float) -> Any:
        names = list(weights)
        drawn = model.synthetic_data(rows=DRAWN)
        scores = []
        for columns in names:
            truth = np.asarray(self.data.project(columns).datavector())
            found = self.expected(model, drawn, columns)
            apart = np.abs(truth - found).sum() - NOISE * scale * truth.size
            scores.append(weights[columns] * apart)
        logits = epsilon * (np.array(scores) - max(scores)) / (2 * max(weights.values()))
        shares = np.exp(logits) / np.exp(logits).sum()
        return names[self.rng.choice(len(names), p=shares)]

    def expected(self, model: Any, drawn: Any, columns: Any) -> Any:
        if model.marginals.supports(columns):
            return np.asarray(model.project(columns).datavector())
        return np.asarray(drawn.project(columns).datavector()) * (float(model.total) / DRAWN)

    def run(self, degree: int) -> Any:
        names = tuple(self.domain.attributes)
        rounds = 16 * len(names)
        scale = np.sqrt(rounds / (2 * 0.9 * self.rho))
        epsilon = np.sqrt(8 * 0.1 * self.rho / rounds)
        weights = weighed(names, degree)
        for name in names:
            self.measure((name,), scale)
        spent, model, last, number = len(names) * 0.5 / scale**2, self.fitted(), False, 0
        while not last:
            left, number = self.rho - spent, number + 1
            if left < 2 * (0.5 / scale**2 + epsilon**2 / 8):
                scale, epsilon, last = np.sqrt(1 / (1.8 * left)), np.sqrt(0.8 * left), True
            spent += 0.5 / scale**2 + epsilon**2 / 8
            room = self.cells * spent / self.rho
            found = self.chosen(self.allowed(weights, room), model, scale, epsilon)
            print(f"mbi: round {number}, {spent / self.rho:.0%}", file=sys.stderr, flush=True)
            before = self.expected(model, model.synthetic_data(rows=DRAWN), found)
            self.measure(found, scale)
            model = self.fitted(model)
            after = np.asarray(model.project(found).datavector())
            if np.abs(after - before).sum() <= scale * NOISE * before.size:
                scale, epsilon = scale / 2, epsilon * 2
        return self.fitted(model)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("codes", help="an .npz with codes (columns, rows) and shape")
    parser.add_argument("out", help="an .npy for the synthetic codes")
    parser.add_argument("--rho", type=float, required=True)
    parser.add_argument("--cells", type=int, default=200_000)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    held = np.load(asked.codes)
    names = [f"c{i:02d}" for i in range(len(held["shape"]))]
    domain = mbi.Domain(names, [int(size) for size in held["shape"]])
    data = mbi.Dataset(dict(zip(names, held["codes"], strict=True)), domain)
    rounds = Rounds(data, asked.rho, asked.cells, asked.steps, asked.seed)
    drawn = rounds.run(3).synthetic_data(rows=held["codes"].shape[1])
    np.save(asked.out, np.stack([np.asarray(drawn.to_dict()[name]) for name in names]))


if __name__ == "__main__":
    main()
