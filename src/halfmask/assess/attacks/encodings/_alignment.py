"""Laying encoded rows over a sample of the population, without any known row."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_GRID = np.linspace(0.01, 0.99, 99)
_MATCHED = 800
_AMONG = 4000
_STEPS = 30


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Whitened:
    """Rows along their principal axes, all of variance 1, and the way back."""

    rows: NDArray[np.float64]
    mean: NDArray[np.float64]
    axes: NDArray[np.float64]
    scales: NDArray[np.float64]

    @classmethod
    def of(cls, matrix: NDArray[np.float64]) -> Whitened:
        """Whiten rows; axes along which they don't vary are left out."""
        mean = matrix.mean(axis=0)
        _, s, vt = np.linalg.svd(matrix - mean, full_matrices=False)
        scales = s / np.sqrt(len(matrix))
        kept = scales > 1e-9 * max(float(scales[0]), 1e-300)
        axes, scales = vt[kept], scales[kept]
        rows = (matrix - mean) @ axes.T / scales
        return cls(rows=rows, mean=mean, axes=axes, scales=scales)

    def back(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return whitened rows in the matrix's own columns."""
        return np.asarray((rows * self.scales) @ self.axes + self.mean)


def alignments(
    encoded: NDArray[np.float64], sample: NDArray[np.float64], rng: np.random.Generator
) -> Iterator[tuple[str, NDArray[np.float64]]]:
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


def distance_to(
    guess: NDArray[np.float64], sample: NDArray[np.float64], rng: np.random.Generator
) -> float:
    """Return how far guessed rows lie from those of a sample: what an attacker can judge by."""
    from scipy.spatial import cKDTree  # noqa: PLC0415 # scipy loads late

    center, scale = sample.mean(axis=0), np.maximum(sample.std(axis=0), 1e-12)
    some = rng.choice(len(guess), min(_MATCHED, len(guess)), replace=False)
    others = rng.choice(len(sample), min(_AMONG, len(sample)), replace=False)
    ours, theirs = (guess[some] - center) / scale, (sample[others] - center) / scale
    there, back = cKDTree(theirs).query(ours)[0], cKDTree(ours).query(theirs)[0]
    return float(there.mean() + back.mean())


def _by_columns(encoded: NDArray[np.float64], sample: NDArray[np.float64]) -> NDArray[np.float64]:
    from halfmask.assess.attacks.encodings._quantiles import (  # noqa: PLC0415 # it loads scipy late
        matched_quantiles,
    )

    here, there, sign = _matched(_standard(encoded), _standard(sample))
    guess = np.empty((len(encoded), sample.shape[1]))
    for mine, theirs in zip(here, there, strict=True):
        rotated = encoded[:, mine] * sign[mine, theirs]
        guess[:, theirs] = matched_quantiles(rotated, sample[:, theirs])
    return guess


def _by_shape(mine: NDArray[np.float64], theirs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the signed permutation that lays components on those of the same distribution."""
    here, there, sign = _matched(mine, theirs)
    rotation = np.zeros((theirs.shape[1], mine.shape[1]))
    rotation[there, here] = sign[here, there]
    return rotation


def _matched(
    mine: NDArray[np.float64], theirs: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 # scipy loads late

    ours, known = np.quantile(mine, _GRID, axis=0), np.quantile(theirs, _GRID, axis=0)
    up = np.abs(ours[:, :, None] - known[:, None, :]).mean(axis=0)
    down = np.abs(-ours[::-1][:, :, None] - known[:, None, :]).mean(axis=0)
    here, there = linear_sum_assignment(np.minimum(up, down))
    return here, there, np.where(up <= down, 1.0, -1.0)


def _standard(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray((matrix - matrix.mean(axis=0)) / np.maximum(matrix.std(axis=0), 1e-12))


def _independent(rows: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64] | None:
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
    mine: NDArray[np.float64],
    theirs: NDArray[np.float64],
    rotation: NDArray[np.float64],
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], float]:
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
