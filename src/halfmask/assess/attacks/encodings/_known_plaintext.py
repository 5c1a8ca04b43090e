"""Known plaintext: some rows and their encodings are known; the others are decoded."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks._attack import DeclaredAttack, Found
from halfmask.assess.attacks._encoding_target import EncodingTarget
from halfmask.assess.attacks._rows import some_rows
from halfmask.assess.attacks.encodings._cells import (
    category_holders,
    codes,
    fill_numbers,
    mixed_columns,
    number_columns,
    number_holders,
    numbers,
    recovered,
    variance_recovered,
)
from halfmask.assess.attacks.tables import Expected

if TYPE_CHECKING:
    from collections.abc import Callable

    from halfmask.assess._arrays import Floats, Ints
    from halfmask.assess.attacks._attack import Outcome


_PENALTIES = (1e-8, 1e-5, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
_NEIGHBOURS = 5
_HIDDEN = 64


def linear(known: Floats, values: Floats, rows: Floats) -> Floats:
    """Solve the linear system of the known rows; the shortest solution where there are many."""
    center, mean = known.mean(axis=0), values.mean(axis=0)
    solution = np.linalg.lstsq(known - center, values - mean, rcond=1e-10)[0]
    return np.asarray((rows - center) @ solution + mean)


def ridge(known: Floats, values: Floats, rows: Floats) -> Floats:
    """Regress with a penalty that is chosen by leaving known rows out, one by one."""
    center, mean = known.mean(axis=0), values.mean(axis=0)
    u, s, vt = np.linalg.svd(known - center, full_matrices=False)
    projected = u.T @ (values - mean)
    best, error = np.zeros((known.shape[1], values.shape[1])), np.inf
    for penalty in _PENALTIES:
        shrunk = s**2 / (s**2 + penalty * len(known))
        left = (values - mean) - u @ (shrunk[:, None] * projected)
        leverage = np.clip(np.einsum("ij,j,ij->i", u, shrunk, u) + 1 / len(known), 0, 1 - 1e-6)
        out = float(((left / (1 - leverage)[:, None]) ** 2).mean())
        if out < error:
            divisor = s + penalty * len(known) / np.maximum(s, 1e-300)
            best, error = vt.T @ (projected / np.maximum(divisor, 1e-300)[:, None]), out
    return np.asarray((rows - center) @ best + mean)


def neighbours(known: Floats, values: Floats, rows: Floats) -> Floats:
    """Return the mean of the nearest known rows, near ones counting more."""
    from sklearn.neighbors import KNeighborsRegressor  # noqa: PLC0415 # sklearn loads late

    model = KNeighborsRegressor(min(_NEIGHBOURS, len(known)), weights="distance")
    return np.asarray(model.fit(known, values).predict(rows)).reshape(len(rows), -1)


def network(known: Floats, values: Floats, rows: Floats) -> Floats:
    """Return the predictions of a one-layer network, trained on the known rows."""
    from sklearn.neural_network import MLPRegressor  # noqa: PLC0415 # sklearn loads late

    model = MLPRegressor(
        hidden_layer_sizes=(_HIDDEN,),
        solver="lbfgs",
        alpha=0.1,
        max_iter=150,
        activation="tanh",
        random_state=0,
    )
    scale = np.maximum(values.std(axis=0), 1e-9)
    center = values.mean(axis=0)
    wanted = (values - center) / scale
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one that isn't done learning is an attack as well
        model.fit(known, wanted if wanted.shape[1] > 1 else wanted.ravel())
    return np.asarray(model.predict(rows).reshape(len(rows), -1) * scale + center)


def interpolated(known: Floats, values: Floats, rows: Floats) -> Floats:
    """Return for one column what lies between the known values around each encoded one."""
    distinct, which = np.unique(known, return_inverse=True)
    means = np.bincount(which.ravel(), weights=values) / np.bincount(which.ravel())
    return np.asarray(np.interp(rows, distinct, means))


#: Regressions of all columns on all encoded ones: known rows, their values, rows to predict.
REGRESSIONS: dict[str, Callable[[Floats, Floats, Floats], Floats]] = {
    "linear": linear,
    "ridge": ridge,
    "neighbours": neighbours,
    "network": network,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPlaintext(DeclaredAttack, name="encodings/known-plaintext", target=EncodingTarget):
    """Learn the encoding from known rows, and decode the others.

    Parameters
    ----------
    known
        How many rows the attacker knows for the verdict. The curve over fewer and more is among the
        details.
    n_rows
        How many other rows are read at most.

    Notes
    -----
    Numbers: the minimal solution of the linear system, ridge, nearest neighbours, a network, and
    interpolation along the column that holds a number; the best one is reported.
    Liu, Giannella and Kargupta, "An attacker's view of distance preserving maps for privacy
    preserving data mining" (PKDD 2006): m known rows undo an orthogonal map, m + 1 an affine one.
    Categories: a code means what it meant most often in the known rows; a code that wasn't among
    them is guessed to be the most frequent category.

    Among the details: ``variance_from_k`` for k known rows, and ``k50``, the fewest of those k that
    give back half of the variance (infinite, in JSON null, if none does); ``cells_from_k`` and
    ``k50`` alike for cells of categories.

    **Edge cases.** Where the table has fewer rows than are known, half of it are known.
    """

    known: int = field(default=50, metadata={"ge": 1})
    n_rows: int = field(default=3000, metadata={"ge": 1})

    def missing_inputs(self, target: EncodingTarget) -> str:
        """Return what is missing: rows."""
        return "" if target.original.height >= 4 else "four rows"

    def _measure(self, target: EncodingTarget, random_state: int) -> Found:
        rng = np.random.default_rng(random_state)
        order = rng.permutation(target.original.height)
        most = min(20 * (len(number_columns(target.original)) + 1), 1000)
        pool = order[: min(max(self.known, most), len(order) // 2)]
        read = np.sort(order[len(pool) :][some_rows(len(order) - len(pool), self.n_rows, rng)])
        found = []
        if number_columns(target.original) and number_columns(target.encoded):
            found.append(self._numbers(target, pool, read, rng))
        held = category_holders(target)
        if held:
            found.append(self._categories(target, held, pool, read))
        return tuple(found)

    def _numbers(
        self, target: EncodingTarget, pool: Ints, read: Ints, rng: np.random.Generator
    ) -> Outcome:
        from threadpoolctl import threadpool_limits  # noqa: PLC0415 # only matrices need it

        setup = _Setup.of(target, pool, read)
        m, known = setup.truth.shape[1], min(self.known, len(pool))
        steps = {1, m // 2, m, m + 1, 5 * m, 20 * m, known, 100, 300}
        with threadpool_limits(1, user_api="blas"):  # threads wait for each other at this size
            curve = {k: setup.best(k) for k in sorted(steps) if 1 <= k <= len(pool)}
        reached = {k: variance_recovered(setup.truth, guess) for k, guess in curve.items()}
        details = {f"variance_from_{k}": share for k, share in reached.items()}
        details["k50"] = float(min((k for k, r in reached.items() if r >= 0.5), default=math.inf))
        return self._make_outcome(
            f"variance of numbers, {known} known rows",
            recovered(setup.truth, curve[known], rng),
            needed=(100, "rows"),
            details=details,
        )

    def _categories(
        self, target: EncodingTarget, held: dict[str, str], pool: Ints, read: Ints
    ) -> Outcome:
        known = min(self.known, len(pool))
        steps = [k for k in (1, 10, 50, 100, 300, 1000, known) if k <= len(pool)]
        right = {k: np.zeros(len(read)) for k in steps}
        guessed = np.zeros(len(read))
        for name, holder in held.items():
            truth, n_values = codes(target.original[name])
            of_row, n_codes = codes(target.encoded[holder])
            commonest = int(np.bincount(truth).argmax())
            guessed += (truth[read] == commonest) / len(held)
            for k in right:
                counts = np.zeros((n_codes, n_values))
                np.add.at(counts, (of_row[pool[:k]], truth[pool[:k]]), 1)
                means = np.where(counts.any(axis=1), counts.argmax(axis=1), commonest)
                right[k] += (means[of_row[read]] == truth[read]) / len(held)
        shares = {k: float(each.mean()) for k, each in right.items()}
        details = {f"cells_from_{k}": share for k, share in sorted(shares.items())}
        details["k50"] = float(min((k for k, s in shares.items() if s >= 0.5), default=math.inf))
        return self._make_outcome(
            f"cells of categories, {known} known rows",
            Expected(float(right[known].sum()), len(read)),
            Expected(float(guessed.sum()), len(read)),
            needed=(100, "rows"),
            details=details,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Setup:
    """Known rows and rows to decode, standardised."""

    encoded: Floats
    values: Floats
    truth: Floats
    mixed: tuple[int, ...]
    held: tuple[int, ...]
    pool: Ints
    read: Ints

    @classmethod
    def of(cls, target: EncodingTarget, pool: Ints, read: Ints) -> _Setup:
        ordered = number_columns(target.encoded)
        names = number_columns(target.original)
        encoded, values = (
            fill_numbers(target.encoded, ordered),
            fill_numbers(target.original, names),
        )
        center, scale = values.mean(axis=0), values.std(axis=0)
        truth = np.column_stack([numbers(target.original[name]) for name in names])[read]
        holders = number_holders(target)
        return cls(
            encoded=(encoded - encoded.mean(axis=0)) / encoded.std(axis=0),
            values=(values - center) / scale,
            truth=(truth - center) / scale,
            mixed=tuple(ordered.index(name) for name in mixed_columns(target.encoded)),
            held=tuple(ordered.index(holders[name]) for name in names),
            pool=pool,
            read=read,
        )

    def best(self, k: int) -> Floats:
        """Return the rows as the best of the regressions on the first k known rows decodes them."""
        known, values = self.encoded[self.pool[:k]], self.values[self.pool[:k]]
        rows = self.encoded[self.read]
        guesses = [np.repeat(values.mean(axis=0)[None, :], len(rows), axis=0)]
        # Codes of categories are of no use to a matrix, and cost it known rows.
        every = tuple(range(known.shape[1]))
        for columns in {every, self.mixed or every} if k > 1 else ():
            some = list(columns)
            guesses += [
                regress(known[:, some], values, rows[:, some])
                for name, regress in REGRESSIONS.items()
                if name != "network" or columns == (self.mixed or every)
            ]
        along = [
            interpolated(known[:, place], values[:, i], rows[:, place])
            for i, place in enumerate(self.held)
        ]
        guesses.append(np.column_stack(along))
        return max(guesses, key=lambda guess: variance_recovered(self.truth, guess))
