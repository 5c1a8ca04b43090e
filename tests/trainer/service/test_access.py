"""Nobody comes in without a token; nobody reaches another tenant; rates and quotas hold."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from halfmask import ParameterError
from halfmask.trainer.service._access import Bucket
from halfmask.trainer.store._state import StoredState
from trainer.service.stage import (  # type: ignore[import-not-found] # beside, no package
    ARROW,
    Trainer,
    body,
    refused,
)

ROUTES = {
    ("POST", "/v1/models"): "admin",
    ("GET", "/v1/models"): "read",
    ("GET", "/v1/models/m"): "read",
    ("DELETE", "/v1/models/m"): "admin",
    ("GET", "/v1/models/m/metrics"): "read",
    ("POST", "/v1/models/m/snapshots"): "admin",
    ("GET", "/v1/models/m/snapshots"): "read",
    ("DELETE", "/v1/models/m/snapshots/1"): "admin",
    ("POST", "/v1/models/m/rollback"): "admin",
    ("POST", "/v1/models/m/examples"): "learn",
    ("POST", "/v1/models/m/canaries"): "admin",
    ("POST", "/v1/models/m/predict"): "predict",
    ("GET", "/metrics"): "metrics",
}
#: Bodies that are good where they go.
SENT: dict[str, dict[str, Any]] = {
    "/v1/models": {"json": {"name": "other", "bits": 4}},
    "/v1/models/m/rollback": {"json": {"snapshot": 1}},
    "/v1/models/m/examples": {"content": body(), "headers": {"Content-Type": ARROW}},
    "/v1/models/m/canaries": {"content": body(), "headers": {"Content-Type": ARROW}},
    "/v1/models/m/predict": {"content": body(labels=False), "headers": {"Content-Type": ARROW}},
}


def ask(trainer, route, token):
    method, path = route
    sent = dict(SENT.get(path, {})) if method == "POST" else {}
    return trainer.ask(method, path, token=token, **sent)


@pytest.mark.slow
def test_every_route_with_a_token_is_here(trainer):
    """What the OpenAPI has behind a token is what these tests walk."""
    content = trainer.client.get("/openapi.json").json()["paths"]
    behind = {
        (method.upper(), path)
        for path, methods in content.items()
        for method, operation in methods.items()
        if operation.get("security")
    }

    plain = {(method, path.replace("{name}", "m")) for method, path in behind}
    assert {(m, p.replace("{snapshot}", "1")) for m, p in plain} == set(ROUTES)


@pytest.mark.mostly_slow
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer x", "Basic x", "Bearer hmt_" + "0" * 16 + "_" + "0" * 64]
)
def test_without_a_token_that_is_of_use_nothing_is_told(model, route, header):
    answer = ask(model, route, {"Authorization": header or ""})

    refused(answer, 401, "unauthorized")
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("route", ROUTES)
def test_each_route_needs_its_scope(trainer, route):
    trainer.create(defences={"guard": {"tolerance": 0.1, "drift": 0.1, "min_rows": 20}})
    for _ in range(2):  # a restart begins from the newest snapshot, which isn't deleted
        ask(trainer, ("POST", "/v1/models/m/canaries"), trainer.everything)
        trainer.ask("POST", "/v1/models/m/snapshots")
    others = {"read", "predict", "learn", "admin", "metrics"} - {ROUTES[route]}

    refused(ask(trainer, route, trainer.header(*others)), 403, "forbidden")
    assert ask(trainer, route, trainer.header(ROUTES[route])).status_code < 300


@pytest.mark.parametrize("route", [each for each in ROUTES if each[1].startswith("/v1/models/m")])
def test_another_tenants_model_is_as_if_it_werent(model, route):
    """The answer is that of a model that nobody has, byte by byte."""
    model.learn(body())
    model.ask("POST", "/v1/models/m/snapshots")
    other = model.header(tenant="stranger")
    method, path = route
    sent = dict(SENT.get(path, {})) if method == "POST" else {}

    theirs = ask(model, route, other)
    nobodys = model.ask(method, path.replace("models/m", "models/n"), token=other, **sent)

    refused(theirs, 404, "not-found")
    assert theirs.content == nobodys.content
    assert model.ask("GET", "/v1/models", token=other).json()["models"] == []


def test_a_wrong_secret_under_a_right_id_is_refused(model):
    right = model.everything["Authorization"]
    wrong = right[:-1] + ("0" if right[-1] != "0" else "1")

    refused(model.ask("GET", "/v1/models", token={"Authorization": wrong}), 401)


def test_a_revoked_token_is_of_no_use_after_a_second(model):
    token = model.header("read")
    assert model.ask("GET", "/v1/models", token=token).status_code == 200

    model.service.store.tokens.revoke(token["Authorization"].split("_")[1])

    model.until(lambda: model.ask("GET", "/v1/models", token=token).status_code == 401)


def test_an_expired_token_is_refused(model, monkeypatch):
    token = model.header("read", valid_seconds=60.0)
    assert model.ask("GET", "/v1/models", token=token).status_code == 200
    later = time.time() + 61

    monkeypatch.setattr(time, "time", lambda: later)

    refused(model.ask("GET", "/v1/models", token=token), 401)


def test_no_token_is_on_the_disk(model):
    secret = model.everything["Authorization"].rpartition("_")[2]
    model.learn(body())

    for path in model.folder.rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes(), path.name
            assert bytes.fromhex(secret) not in path.read_bytes(), path.name
    assert (model.folder / "token.key").stat().st_mode & 0o077 == 0
    assert model.folder.stat().st_mode & 0o077 == 0
    token = model.service.store.tokens.listed()[0]
    assert token.digest.hex() not in repr(token)
    assert str(token.digest) not in repr(token)


def test_requests_are_held_to_their_rate(model):
    slow = model.header("read", requests_per_second=2.0)

    answers = [model.ask("GET", "/v1/models", token=slow) for _ in range(12)]

    late = [each for each in answers if each.status_code != 200]
    assert late
    for each in late:
        refused(each, 429, "rate")
        assert int(each.headers["retry-after"]) >= 1


def test_rows_are_held_to_their_rate(model):
    slow = model.header("learn", rows_per_second=10.0)

    assert model.learn(body(1_000), token=slow).status_code == 200, "a full bucket lets one through"
    before = model.digest()
    refused(model.learn(body(1), token=slow), 429, "rate")
    assert model.digest() == before


def test_a_quota_is_used_up_and_stays_so(tmp_path):
    with Trainer(tmp_path / "t") as trainer:
        trainer.create()
        few = trainer.header("learn", rows_quota=50)
        assert trainer.learn(body(30), token=few, key="k").status_code == 200
        assert trainer.learn(body(30), token=few, key="k").json()["replayed"] is True
        refused(trainer.learn(body(30), token=few), 403, "quota")
        assert trainer.learn(body(20), token=few).status_code == 200
        refused(trainer.learn(body(1), token=few), 403, "quota")
    with Trainer(tmp_path / "t") as again:
        refused(again.learn(body(1), token=few), 403, "quota")


def test_a_token_may_have_a_largest_weight(model):
    capped = model.header("learn", max_weight=2.0)
    text = b'{"rows": [[1]], "labels": [1], "weights": [%d]}'

    assert model.learn(text % 2, token=capped, kind="application/json").status_code == 200
    refused(model.learn(text % 3, token=capped, kind="application/json"), 422)


@pytest.mark.parametrize(
    "wrong",
    [
        {"client": ""},
        {"tenant": "a/b"},
        {"scopes": frozenset()},
        {"scopes": frozenset({"root"})},
        {"requests_per_second": 0.0},
        {"rows_quota": -1},
        {"valid_seconds": float("nan")},
    ],
)
def test_what_no_token_can_be_is_refused(trainer, wrong):
    good = {"client": "c", "tenant": "t", "scopes": frozenset({"read"})}

    with pytest.raises(ParameterError):
        trainer.service.store.tokens.create(**{**good, **wrong})


def test_a_bucket_lets_through_what_its_rate_allows():
    now = [0.0]
    bucket = Bucket(10.0, clock=lambda: now[0])
    through = 0
    for step in range(1_000):
        now[0] = step / 100
        through += bucket.take(1) == 0

    assert through == pytest.approx(10 * 10 + 10, abs=1)


def test_a_token_is_revoked_whatever_the_others_wait_for(model, monkeypatch):
    """Digests of large models, asked for again and again, keep no token waiting."""
    go, digest = threading.Event(), StoredState.digest

    def held(state):
        assert go.wait(60)
        return digest(state)

    monkeypatch.setattr(StoredState, "digest", held)
    token = model.header("read")
    with ThreadPoolExecutor(8) as pool:
        asked = [
            pool.submit(model.ask, "GET", "/v1/models/m", params={"digest": True}) for _ in range(8)
        ]
        model.until(lambda: model.service.digesting._work_queue.qsize() == 7)
        assert model.ask("GET", "/v1/models/m", token=token).status_code == 200
        identity = token["Authorization"].split("_")[1]
        model.service.store.tokens.revoke(identity)
        model.until(lambda: model.ask("GET", "/v1/models/m", token=token).status_code == 401)
        go.set()
        assert all(each.result().status_code == 200 for each in asked)
