"""A trainer in this process, which tests visit as tenants of their own."""

from __future__ import annotations

import itertools

import pytest

from trainer.service.stage import (  # type: ignore[import-not-found] # beside, no package
    Guest,
    Trainer,
)

TENANTS = itertools.count()


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    with Trainer(tmp_path_factory.mktemp("house") / "trainer") as made:
        yield made


@pytest.fixture
def trainer(house):
    """A trainer without models, as far as its tenant sees."""
    return Guest(house, f"tenant-{next(TENANTS)}")


@pytest.fixture
def model(trainer):
    """A trainer with one model, `m`."""
    trainer.create()
    return trainer
