"""PartitionedClassifier under an attacker who knows all: every change of tiny tables is tried."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from itertools import combinations, product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from halfmask._errors import ParameterError
from halfmask.training import PartitionedClassifier

ASKED = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [3.0, 3.0]])


class Voter(ClassifierMixin, BaseEstimator):
    """A model of the worst kind: what its partition holds decides its vote, as `kind` says."""

    def __init__(self, kind="chaotic"):
        self.kind = kind

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        told = np.flatnonzero(np.asarray(X)[:, 0] == 9.0)
        if self.kind == "obedient":  # votes what rows with a 9 say, otherwise the majority
            self.vote_ = np.bincount(np.asarray(y)[told] if len(told) else y).argmax()
            return self
        content = np.asarray(X).tobytes() + np.asarray(y).tobytes() + str(np.asarray(X).dtype).encode()
        self.vote_ = int.from_bytes(blake2b(content, digest_size=8).digest()) % len(self.classes_)
        return self

    def predict(self, X):
        return np.full(len(X), self.vote_)


def of(kind, n_partitions=9):
    estimator = Voter(kind) if isinstance(kind, str) else kind
    return PartitionedClassifier(estimator, n_partitions=n_partitions)


def table(seed, n=12, skew=0.25):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 3, (n, 2)).astype(float), (rng.random(n) < skew).astype(int)


def changed(rows, labels, changes):
    """Add, remove and relabel rows."""
    rows, labels = rows.copy(), labels.copy()
    gone = [at for kind, at, _ in changes if kind == "remove"]
    for kind, at, label in changes:
        if kind == "relabel":
            labels[at] = label
    added = [(at, label) for kind, at, label in changes if kind == "add"]
    rows, labels = np.delete(rows, gone, axis=0), np.delete(labels, gone)
    if added:
        rows = np.vstack([[each for each, _ in added], rows])
        labels = np.r_[[label for _, label in added], labels]
    return rows, labels


def all_changes(rows, labels):
    n = len(rows)
    yield from (("remove", at, None) for at in range(n))
    yield from (("relabel", at, 1 - labels[at]) for at in range(n))
    cells = [0.0, -0.0, 1.0, 9.0]
    yield from (("add", at, label) for at, label in product(product(cells, cells), (-1, 0, 1, 7)))
