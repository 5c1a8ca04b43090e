"""Numbers from a sample of the population: by quantiles of a column, or by aligning all of them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import DataError
from halfmask.assess.attacks._attack import DeclaredAttack, Found
from halfmask.assess.attacks._encoding_target import EncodingTarget
from halfmask.assess.attacks._rows import some_rows
from halfmask.assess.attacks.encodings._cells import (
    fill_numbers,
    mixed_columns,
    number_columns,
    number_holders,
    numbers,
    recovered,
    variance_recovered,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halfmask.assess._arrays import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileMatching(DeclaredAttack, name="encodings/quantile-matching", target=EncodingTarget):
    """Decode each number from its rank and the population's quantiles.

    Parameters
    ----------
    n_rows
        Largest number of rows on which the attack is scored.

    Notes
    -----
    The sorting and cumulative attacks of Naveed, Kamara and Wright, "Inference attacks on
    property-preserving encrypted databases" (CCS 2015), section 4: which column is which, and
    whether it goes up or down, is granted to the attacker. The worst column is among the details
    as ``worst_column``.
    """

    n_rows: int = field(default=20_000, metadata={"ge": 1})

    def missing_inputs(self, target: EncodingTarget) -> str:
        """Return what is missing: a population, or numbers."""
        if target.population is None or not target.population.height:
            return "a sample of the population"
        both = number_columns(target.original) and number_columns(target.encoded)
        return "" if both else "ordered columns"

    def _measure(self, target: EncodingTarget, random_state: int) -> Found:
        if target.population is None:
            return ()
        rng = np.random.default_rng(random_state)
        rows = some_rows(target.original.height, self.n_rows, rng)
        truths, guesses = [], []
        for name, holder in number_holders(target).items():
            truth = numbers(target.original[name])
            encoded = numbers(target.encoded[holder])
            both = np.isfinite(truth) & np.isfinite(encoded)
            known = numbers(target.population[name])
            known = known[np.isfinite(known)]
            if not len(known) or not both.any():
                continue
            rising = np.cov(np.argsort(np.argsort(encoded[both])), truth[both])[0, 1] >= 0
            guess = matched_quantiles(encoded if rising else -encoded, known)
            center, scale = np.nanmean(truth), np.nanstd(truth) or 1.0
            truths.append((truth[rows] - center) / scale)
            guesses.append((guess[rows] - center) / scale)
        if not truths:
            raise DataError("No ordered column has values in the population and in both tables.")
        truth, guess = np.column_stack(truths), np.column_stack(guesses)
        alone = [variance_recovered(truth[:, [i]], guess[:, [i]]) for i in range(truth.shape[1])]
        return self._make_outcome(
            "variance of numbers, by quantiles",
            recovered(truth, guess, rng),
            needed=(100, "rows"),
            details={"worst_column": max(alone)},
        )


def matched_quantiles(encoded: Floats, known: Floats) -> Floats:
    """Return for each number what stands at its place among known ones; missing ones the mean.

    Examples
    --------
    >>> matched_quantiles(np.array([7.0, 9.0, 8.0]), np.array([10.0, 20.0, 30.0])).tolist()
    [10.0, 30.0, 20.0]
    """
    from scipy.stats import rankdata  # noqa: PLC0415 # scipy loads late

    present = np.isfinite(encoded)
    guess = np.full(len(encoded), known.mean())
    place = (rankdata(encoded[present]) - 0.5) / max(1, int(present.sum()))
    at = (np.arange(len(known)) + 0.5) / len(known)
    guess[present] = np.interp(place, at, np.sort(known))
    return guess


_GRID = np.linspace(0.01, 0.99, 99)
_MATCHED = 800
_AMONG = 4000
_STEPS = 30


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Whitened:
    """Rows along their principal axes, all of variance 1, and the way back."""

    rows: Floats
    mean: Floats
    axes: Floats
    scales: Floats

    @classmethod
    def of(cls, matrix: Floats) -> Whitened:
        """Whiten rows; axes along which they don't vary are left out."""
        mean = matrix.mean(axis=0)
        _, s, vt = np.linalg.svd(matrix - mean, full_matrices=False)
        scales = s / np.sqrt(len(matrix))
        kept = scales > 1e-9 * max(float(scales[0]), 1e-300)
        axes, scales = vt[kept], scales[kept]
        rows = (matrix - mean) @ axes.T / scales
        return cls(rows=rows, mean=mean, axes=axes, scales=scales)

    def back(self, rows: Floats) -> Floats:
        """Return whitened rows in the matrix's own columns."""
        return np.asarray((rows * self.scales) @ self.axes + self.mean)


def alignments(
    encoded: Floats, sample: Floats, rng: np.random.Generator
) -> Iterator[tuple[str, Floats]]:
    """Return guesses of the rows in the sample's columns, each with the name of its way.

    - ``columns``: each encoded column is one of the sample's, matched by the shape of its
      distribution, and read by quantiles;
    - ``axes``: principal axes by their variance and shape, signs by shape (an orthogonal map);
    - ``independent``: independent components by their shape (any affine map): AK-ICA of Guo and
      Wu, "Deriving private information from arbitrarily projected data" (PAKDD 2007);
    - each of the latter two again, turned onto the sample by matching nearest points: Besl and
      McKay, "A method for registration of 3-D shapes" (1992).
    """
    if encoded.shape[1] >= sample.shape[1]:
        yield "columns", _by_columns(encoded, sample)
    here, there = Whitened.of(encoded), Whitened.of(sample)
    size = min(here.rows.shape[1], there.rows.shape[1])
    mine, theirs = here.rows[:, :size], there.rows[:, :size]
    candidates = [("axes", _by_shape(mine * here.scales[:size], theirs * there.scales[:size]))]
    unmixed = _independent(mine, rng), _independent(theirs, rng)
    if unmixed[0] is not None and unmixed[1] is not None:
        rotation = _by_shape(mine @ unmixed[0].T, theirs @ unmixed[1].T)
        candidates.append(("independent", unmixed[1].T @ rotation @ unmixed[0]))
    rest = np.zeros((len(mine), there.rows.shape[1] - size))
    for name, rotation in candidates:
        closest, _ = _nearer(mine, theirs, rotation, rng)
        for measure, each in ((name, rotation), (f"{name}, nearest", closest)):
            yield measure, there.back(np.column_stack([mine @ each.T, rest]))


def distance_to(guess: Floats, sample: Floats, rng: np.random.Generator) -> float:
    """Return how far guessed rows lie from those of a sample: what an attacker can judge by."""
    from scipy.spatial import cKDTree  # noqa: PLC0415 # scipy loads late

    center, scale = sample.mean(axis=0), np.maximum(sample.std(axis=0), 1e-12)
    some = rng.choice(len(guess), min(_MATCHED, len(guess)), replace=False)
    others = rng.choice(len(sample), min(_AMONG, len(sample)), replace=False)
    ours, theirs = (guess[some] - center) / scale, (sample[others] - center) / scale
    there, back = cKDTree(theirs).query(ours)[0], cKDTree(ours).query(theirs)[0]
    return float(there.mean() + back.mean())


def _by_columns(encoded: Floats, sample: Floats) -> Floats:
    here, there, sign = _matched(_standardised(encoded), _standardised(sample))
    guess = np.empty((len(encoded), sample.shape[1]))
    for mine, theirs in zip(here, there, strict=True):
        rotated = encoded[:, mine] * sign[mine, theirs]
        guess[:, theirs] = matched_quantiles(rotated, sample[:, theirs])
    return guess


def _by_shape(mine: Floats, theirs: Floats) -> Floats:
    """Return the signed permutation that lays components on those of the same distribution."""
    here, there, sign = _matched(mine, theirs)
    rotation = np.zeros((theirs.shape[1], mine.shape[1]))
    rotation[there, here] = sign[here, there]
    return rotation


def _matched(mine: Floats, theirs: Floats) -> tuple[Ints, Ints, Floats]:
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 # scipy loads late

    ours, known = np.quantile(mine, _GRID, axis=0), np.quantile(theirs, _GRID, axis=0)
    up = np.abs(ours[:, :, None] - known[:, None, :]).mean(axis=0)
    down = np.abs(-ours[::-1][:, :, None] - known[:, None, :]).mean(axis=0)
    here, there = linear_sum_assignment(np.minimum(up, down))
    return here, there, np.where(up <= down, 1.0, -1.0)


def _standardised(matrix: Floats) -> Floats:
    return np.asarray((matrix - matrix.mean(axis=0)) / np.maximum(matrix.std(axis=0), 1e-12))


def _independent(rows: Floats, rng: np.random.Generator) -> Floats | None:
    """Return the turn of whitened rows whose components are most independent."""
    from sklearn.decomposition import FastICA  # noqa: PLC0415 # sklearn loads late

    if rows.shape[1] < 2 or len(rows) <= rows.shape[1]:
        return None
    some = rng.choice(len(rows), min(10_000, len(rows)), replace=False)
    ica = FastICA(whiten=False, max_iter=300, tol=1e-3, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what didn't converge is judged by how well it fits
        ica.fit(rows[some])
    u, _, vt = np.linalg.svd(ica.components_)
    return np.asarray(u @ vt)


def _nearer(
    mine: Floats, theirs: Floats, rotation: Floats, rng: np.random.Generator
) -> tuple[Floats, float]:
    """Turn rows onto the nearest of a sample, again and again."""
    from scipy.spatial import cKDTree  # noqa: PLC0415 # scipy loads late

    some = mine[rng.choice(len(mine), min(_MATCHED, len(mine)), replace=False)]
    others = theirs[rng.choice(len(theirs), min(_AMONG, len(theirs)), replace=False)]
    tree, error = cKDTree(others), np.inf
    for _ in range(_STEPS):
        apart, which = tree.query(some @ rotation.T)
        if apart.mean() > error - 1e-6:
            break
        error = float(apart.mean())
        u, _, vt = np.linalg.svd(others[which].T @ some)
        rotation = u @ vt
    return rotation, error


@dataclass(frozen=True, slots=True, kw_only=True)
class PopulationSample(DeclaredAttack, name="encodings/population-sample", target=EncodingTarget):
    """Lay the encoded rows over a sample of the same population, and read them there.

    Parameters
    ----------
    n_rows
        How many rows, of either table, are used at most.

    Notes
    -----
    Principal axes, after Liu, Giannella and Kargupta, "An attacker's view of distance preserving
    maps for privacy preserving data mining" (PKDD 2006), section 4; independent components (AK-ICA)
    after Guo and Wu, "Deriving private information from arbitrarily projected data" (PAKDD 2007);
    nearest points; and columns by the shape of their distribution. The attacker takes what lies
    nearest to the sample, without knowing the truth; what the best way would have reached is
    among the details.
    """

    n_rows: int = field(default=10_000, metadata={"ge": 100})

    def missing_inputs(self, target: EncodingTarget) -> str:
        """Return what is missing: a population, or columns of numbers."""
        if target.population is None:
            return "a sample of the population"
        both = number_columns(target.original) and mixed_columns(target.encoded)
        return "" if both else "columns of numbers"

    def _measure(self, target: EncodingTarget, random_state: int) -> Found:
        if target.population is None:
            return ()
        rng = np.random.default_rng(random_state)
        names = number_columns(target.original)
        rows = some_rows(target.original.height, self.n_rows, rng)
        others = some_rows(target.population.height, self.n_rows, rng)
        if min(len(rows), len(others)) < 2:
            raise DataError("There are too few rows to align.")
        encoded = fill_numbers(target.encoded[rows], mixed_columns(target.encoded))
        sample = fill_numbers(target.population[others], names)
        if not (encoded.std(axis=0).any() and sample.std(axis=0).any()):
            raise DataError("No number differs between rows, or between those of the population.")
        center, scale = sample.mean(axis=0), np.maximum(sample.std(axis=0), 1e-12)
        truth = np.column_stack([numbers(target.original[name])[rows] for name in names])
        truth, sample = (truth - center) / scale, (sample - center) / scale
        guesses = dict(alignments(_standard(encoded), sample, rng))
        reached = {way: variance_recovered(truth, guess) for way, guess in guesses.items()}
        fits = {way: distance_to(guess, sample, rng) for way, guess in guesses.items()}
        chosen = min(fits, key=lambda way: fits[way])
        return self._make_outcome(
            "variance of numbers, no known row",
            recovered(truth, guesses[chosen], rng),
            needed=(100, "rows"),
            details={**reached, "best_way": max(reached.values())},
        )


def _standard(matrix: Floats) -> Floats:
    """Return rows with all columns scaled by one number: angles and distances stay."""
    spread = float(np.sqrt(matrix.var(axis=0).mean())) or 1.0
    return np.asarray((matrix - matrix.mean(axis=0)) / spread)
