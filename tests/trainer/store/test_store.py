"""What a store lets go of."""

from __future__ import annotations

import gc
import weakref

import pytest

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
