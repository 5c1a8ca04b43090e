"""A learner in plain Python, rows whose label one feature tells, and clients who send them."""

from __future__ import annotations

import hashlib
import math
from types import SimpleNamespace

import numpy as np
import pytest

from halfmask.hashing import HashedRows


class Naive:
    """Logistic regression by gradient descent, row after row: a learner for defences."""

    def __init__(self, bits=6, rate=0.1):
        self.weights = np.zeros(1 << bits)
        self.rate = rate

    def learn(self, rows):
        bounds, indices, values = rows.flat()
        right = loss = 0.0
        for row in range(len(rows)):
            own = slice(bounds[row], bounds[row + 1])
            places = indices[own]
            x = np.ones(len(places)) if values is None else values[own].astype(float)
            p = 1 / (1 + math.exp(-float(np.clip(self.weights[places] @ x, -50, 50))))
            y = float(rows.labels[row])
            weight = 1.0 if rows.weights is None else float(rows.weights[row])
            right += (p >= 0.5) == (y > 0.5)
            loss += (p - y) ** 2
            np.subtract.at(self.weights, places, self.rate * weight * (p - y) * x)
        n = max(1, len(rows))
        return SimpleNamespace(rows=len(rows), loss=loss / n, accuracy=right / n)

    def predict(self, rows):
        bounds, indices, values = rows.flat()
        found = self.weights[indices] * (1.0 if values is None else values)
        sums = np.add.reduceat(found, bounds[:-1]) if len(rows) else np.zeros(0)
        return (1 / (1 + np.exp(-np.clip(sums, -50, 50)))).astype(np.float32)

    def to_bytes(self):
        return np.concatenate([[self.rate], self.weights]).tobytes()

    @classmethod
    def from_bytes(cls, data):
        numbers = np.frombuffer(data)
        made = cls(bits=(len(numbers) - 1).bit_length() - 1, rate=float(numbers[0]))
        made.weights = numbers[1:].copy()
        return made

    def digest(self):
        return hashlib.sha256(self.to_bytes()).hexdigest()


def _rows(n, seed, *, flipped=False, weight=None):
    """Return rows of three features; the first says the label nine times out of ten."""
    rng = np.random.default_rng(seed)
    found = rng.integers(0, 2, n)
    noise = rng.integers(2, 60, (n, 2))
    labels = np.where(rng.random(n) < 0.9, found, 1 - found)
    return HashedRows(
        indices=np.column_stack([found, noise]).astype(np.uint32),
        labels=(1 - labels if flipped else labels).astype(np.int32),
        weights=None if weight is None else np.full(n, weight, dtype=np.float32),
        bits=6,
    )


@pytest.fixture
def naive():
    """The learner's type."""
    return Naive


@pytest.fixture
def make_rows():
    """Make rows of a seed, flipped or not, with a weight or without."""
    return _rows
