"""What a store lets go of."""

from __future__ import annotations

import contextlib
import gc
import sqlite3
import weakref

import pytest

from halfmask.trainer.defences import DefendedLearner, Guard
from halfmask.trainer.learner import OnlineLearner
from halfmask.trainer.store import Limits, Store


@pytest.fixture
def _no_search_for_circles():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.slow
@pytest.mark.usefixtures("_no_search_for_circles")
def test_the_weights_of_a_deleted_model_are_free_at_once(tmp_path):
    store = Store(tmp_path / "store", limits=Limits(free_bytes=0))
    try:
        store.open_models()
        model = store.create("acme", "m", {"bits": 10})
        learner = weakref.ref(model.state.learner)
        del model

        store.delete("acme", "m")

        assert learner() is None
    finally:
        store.close()


def test_models_of_0_1_are_read(tmp_path):
    """Their settings have `seed` and a guard's `least_rows`, which have other names now."""
    guard = {"tolerance": 0.1, "drift": 0.1, "min_rows": 40, "margins": False}
    settings = {"bits": 10, "random_state": 7, "defences": {"guard": guard}}
    store = Store(tmp_path / "store", limits=Limits(free_bytes=0))
    store.open_models()
    store.create("acme", "m", settings)
    store.close()
    (listed,) = (tmp_path / "store").glob("*.sqlite")
    with contextlib.closing(sqlite3.connect(listed)) as database, database:
        (text,) = database.execute("SELECT settings FROM models").fetchone()
        assert '"random_state": 7' in text
        old = text.replace("random_state", "seed").replace("min_rows", "least_rows")
        database.execute("UPDATE models SET settings = ?", (old,))

    store = Store(tmp_path / "store", limits=Limits(free_bytes=0))
    try:
        store.open_models()
        learner = store.model("acme", "m").state.learner

        assert isinstance(learner, DefendedLearner)
        assert learner.defences.guard == Guard(tolerance=0.1, drift=0.1, min_rows=40)
        assert OnlineLearner.from_settings({"bits": 10, "seed": 7}).settings["random_state"] == 7
    finally:
        store.close()
