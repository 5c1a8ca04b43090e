"""People whose cells are hashed, by a key and without one; and a trainer that learns from them."""

from __future__ import annotations

import hashlib
import hmac

import numpy as np
import polars as pl
import pytest

from halfmask.assess.attacks import HashingTarget, TrainerTarget
from halfmask.hashing import HashedRows

ROWS, BITS = 1500, 18


def people(n, seed):
    """Return rows of dependent categories after Zipf, and a label that they tell something of."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, 13)
    town = rng.choice(12, n, p=share / share.sum())
    street = (3 * town + rng.choice(3, n, p=[0.6, 0.3, 0.1])) % 30
    sort = np.where(rng.random(n) < 0.1 + 0.07 * town, "yes", "no")
    rows = pl.DataFrame(
        {
            "town": np.array([f"town {letter}" for letter in "abcdefghijkl"])[town],
            "street": np.array([f"{100 + 7 * each}" for each in range(30)])[street],
            "sort": sort,
            "code": rng.choice(["u", "v", "w", "x"], n, p=[0.55, 0.25, 0.15, 0.05]),
        }
    )
    odds = 0.4 * (town - 3) + 1.5 * (sort == "yes") - 0.5 * (rows["code"] == "u").to_numpy()
    return rows, (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(np.float64)


def keyed(rows, key=b"k" * 16, bits=BITS):
    """Hash cells by HMAC: a keyed hash that shares no code with ours."""
    columns = []
    for name in rows.columns:
        found = {
            value: int.from_bytes(
                hmac.digest(key, f"{name}={value}".encode(), hashlib.sha256)[:8], "big"
            )
            % (1 << bits)
            for value in rows[name].unique().to_list()
        }
        columns.append([found[value] for value in rows[name].to_list()])
    return np.array(columns, dtype=np.uint32).T.copy()


def trained_weights(buckets, labels, bits=BITS, rate=0.3):
    """Train by AdaGrad in plain numpy, fifty rows at a time."""
    weights, squares = np.zeros(1 << bits), np.full(1 << bits, 1e-8)
    for start in range(0, len(buckets), 50):
        x = buckets[start : start + 50]
        wrong = 1 / (1 + np.exp(-weights[x].sum(1))) - labels[start : start + 50]
        pulls = np.repeat(wrong[:, None], x.shape[1], axis=1)
        np.add.at(squares, x, pulls**2)
        np.subtract.at(weights, x, rate * pulls / np.sqrt(squares[x]))
    return weights


class Plain:
    """A trainer in plain numpy; if asked, with a cap on the rows of clients it doesn't know."""

    def __init__(self, cap=None, bits=BITS, rate=0.3):
        self.weights, self.squares = np.zeros(1 << bits), np.full(1 << bits, 1e-8)
        self.cap, self.rate, self.seen = cap, rate, {}

    def learn(self, rows, *, client):
        if self.cap is not None and not client.startswith("client"):
            before = self.seen.get(client, 0)
            rows = rows.slice(0, max(0, self.cap - before))
            self.seen[client] = before + len(rows)
        heavy = np.ones(len(rows)) if rows.weights is None else rows.weights
        if self.cap is not None:
            heavy = np.minimum(heavy, 1.0)
        for x, y, weight in zip(rows.indices, rows.labels, heavy, strict=True):
            p = 1 / (1 + np.exp(-np.clip(self.weights[x].sum(), -50, 50)))
            pull = weight * (p - y)
            self.squares[x] += pull**2
            self.weights[x] -= self.rate * pull / np.sqrt(self.squares[x])

    def predict(self, rows):
        return 1 / (1 + np.exp(-np.clip(self.weights[rows.indices].sum(1), -50, 50)))


def hashed(rows, labels):
    return HashedRows(indices=keyed(rows), labels=labels.astype(np.int32), bits=BITS)


@pytest.fixture(scope="session")
def target():
    """Keyed rows, another sample of their population, and a way to train."""
    (rows, labels), (others, known) = people(ROWS, 0), people(ROWS, 1)
    return HashingTarget(
        buckets=keyed(rows),
        original=rows,
        bits=BITS,
        labels=labels,
        population=others,
        population_labels=known,
        train=trained_weights,
    )


@pytest.fixture(scope="session")
def unrelated(target):
    """Buckets that have nothing to do with the rows."""
    from dataclasses import replace  # noqa: PLC0415 # here alone

    drawn = np.random.default_rng(3).integers(0, 12, target.buckets.shape)
    apart = 100 * np.arange(target.buckets.shape[1])
    return replace(target, buckets=(drawn + apart).astype(np.uint32))


@pytest.fixture(scope="session")
def trainer():
    """Make a target of an honest stream of three clients."""

    def make(*, cap=None, **settings):
        batches = [hashed(*people(150, 10 + turn)) for turn in range(12)]
        return TrainerTarget(
            make=lambda: Plain(cap),
            stream=[(f"client {i % 3}", rows) for i, rows in enumerate(batches)],
            holdout=hashed(*people(1500, 5)),
            public=hashed(*people(800, 6)),
            **settings,
        )

    return make
