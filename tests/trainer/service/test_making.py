"""A model that takes its time to be made, or to be deleted, holds nobody up."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from halfmask.trainer.client import RetryPolicy, TrainerClient
from halfmask.trainer.store._state import _warm, warm_up
from trainer.service.stage import (  # type: ignore[import-not-found] # beside, no package
    BITS,
    body,
)

KINDS: tuple[dict[str, str], ...] = (
    {},
    {"optimizer": "sgd", "loss": "hinge"},
    {"optimizer": "ftrl", "loss": "squared"},
    {"loss": "softmax", "optimizer": "ftrl"},
    {"loss": "quantile"},
)


@pytest.fixture
def compiling(monkeypatch):
    """An event that a compiler waits for, where a model is being made."""
    go = threading.Event()

    def slow(settings):
        assert go.wait(60)
        warm_up(settings)

    monkeypatch.setattr("halfmask.trainer.store._store.warm_up", slow)
    yield go
    go.set()


def test_others_are_answered_while_models_are_made(model, compiling):
    """Five models wait for a compiler; all that there is for others is answered meanwhile."""
    model.learn(body())
    model.digest()
    wishes = [{"name": f"late-{each}", "bits": BITS} for each in range(5)]
    with ThreadPoolExecutor(5) as pool:
        late = [pool.submit(model.ask, "POST", "/v1/models", json=wish) for wish in wishes]
        begun = model.service.store._models
        names = {(model.tenant, each["name"]) for each in wishes}
        model.until(lambda: len(names & set(begun)) == 4)  # the fifth waits for a thread
        newcomer = model.header()
        for path in ("/health", "/ready", "/metrics", "/v1/models", "/v1/models/m"):
            assert model.ask("GET", path, token=newcomer).status_code == 200
        assert model.ask("GET", "/v1/models/m/metrics").json()["rows"] == 20
        assert model.learn(body(seed=1)).status_code == 200
        assert model.predict(body(labels=False)).status_code == 200
        assert model.ask("POST", "/v1/models/m/snapshots").status_code == 201
        back = {"snapshot": 2}
        assert model.ask("POST", "/v1/models/m/rollback", json=back).status_code == 200
        assert not any(each.done() for each in late)
        compiling.set()
        assert [each.result().status_code for each in late] == [201] * 5


@pytest.mark.slow
def test_a_client_waits_for_a_model_longer_than_for_anything_else(trainer, compiling):
    url, token = str(trainer.client.base_url), trainer.everything["Authorization"][7:]
    hasty = RetryPolicy(answer_seconds=0.2, give_up_seconds=0)
    after = threading.Timer(0.6, compiling.set)
    after.start()
    with TrainerClient(url, token=token, retry_policy=hasty) as client:
        assert client.create("m", loss="logistic", bits=BITS).name == "m"
    after.join()


def test_a_service_has_compiled_for_each_kind_of_model_before_one_is_made(trainer):
    trainer.until(lambda: _warm.cache_info().currsize >= 4, seconds=120)
    before = _warm.cache_info().misses

    for number, kind in enumerate(KINDS):
        trainer.create(f"m{number}", rate=0.1 + number / 10, **kind)

    assert _warm.cache_info().misses == before
