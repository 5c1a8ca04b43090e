"""People whose labels nothing explains, models that learn them by heart, and one that can't."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier

from halfmask.assess.attacks import ModelTarget


def by_heart(rows, labels, seed):
    """Train a forest that fits its people exactly."""
    return RandomForestClassifier(25, random_state=seed, n_jobs=1, bootstrap=False).fit(
        rows, labels
    )


def constant(rows, labels, _seed):
    return DummyClassifier(strategy="constant", constant=0).fit(rows, np.append(labels[1:], 0))


def target(train, n=400, *, seed=0, wrap=lambda rows: rows, **more):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(2 * n, 4))
    labels = rng.integers(0, 2, 2 * n)
    return ModelTarget(
        model=train(wrap(rows[:n]), labels[:n], seed),
        members=wrap(rows[:n]),
        member_labels=labels[:n],
        non_members=wrap(rows[n:]),
        non_member_labels=labels[n:],
        train=train,
        **more,
    )


@dataclass(frozen=True)
class Outcomes:
    """Outcomes by what was measured and of whom."""

    found: tuple[Any, ...]

    def value(self, measure, group="everyone"):
        return self.one(measure, group).success.value

    def one(self, measure, group="everyone"):
        (outcome,) = [o for o in self.found if o.measure == measure and o.group == group]
        return outcome


@pytest.fixture(scope="session")
def overfitted():
    """A model that knows its members by heart, with the way to train it."""
    return target(by_heart)


@pytest.fixture(scope="session")
def constant_target():
    """A model that says the same of everyone."""
    return target(constant)


@pytest.fixture(scope="session")
def make_target():
    """What makes a target of a way to train."""
    return target


@pytest.fixture(scope="session")
def outcomes():
    """What finds an outcome by its measure and group."""
    return Outcomes
