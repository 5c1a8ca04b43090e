"""Examples are acknowledged when they are on the disk and learned once; rows are predicted."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pyarrow as pa
import pytest

from halfmask.hashing import HashedRows
from halfmask.trainer.learner import OnlineLearner
from halfmask.trainer.store import bytes_of, replay_log
from halfmask.trainer.store._record import Mark
from trainer.service.stage import (  # type: ignore[import-not-found] # beside, no package
    ARROW,
    BITS,
    Trainer,
    body,
    hashed,
    refused,
)

JSON = "application/json"


def naive(model, batches):
    """A learner of the same settings that has learned the batches, one after the other."""
    learner = OnlineLearner(**model.model().facts.settings)
    for rows in batches:
        learner.learn(rows)
    return learner


def test_the_weights_are_those_of_a_learner_that_learned_the_same(model):
    batches = [hashed(30, seed=seed) for seed in range(5)]
    for rows in batches:
        assert model.learn(bytes_of(rows)).status_code == 200

    assert model.digest() == naive(model, batches).digest()


def test_a_receipt_says_the_number_of_the_batch(model):
    first, second = model.learn(body(7)).json(), model.learn(body(9)).json()

    assert first == {"ok": True, "seq": 1, "rows": 7, "replayed": False}
    assert second == {"ok": True, "seq": 2, "rows": 9, "replayed": False}


def test_what_is_sent_again_under_its_key_is_learned_once(model):
    first = model.learn(body(), key="one").json()
    model.learn(body(seed=1), key="two")
    again = model.learn(body(), key="one").json()

    assert again == first | {"replayed": True}
    assert model.digest() == naive(model, [hashed(), hashed(seed=1)]).digest()


def test_without_a_key_it_is_learned_each_time(model):
    model.learn(body())
    model.learn(body())

    assert model.digest() == naive(model, [hashed(), hashed()]).digest()


def test_another_batch_under_a_key_is_refused(model):
    model.learn(body(), key="one")
    before = model.digest()

    refused(model.learn(body(seed=1), key="one"), 422, "key-reused")
    assert model.digest() == before


def test_a_key_is_its_clients_own(model):
    other = model.header(client="ben")
    model.learn(body(), key="one")

    assert model.learn(body(seed=1), key="one", token=other).json()["replayed"] is False


@pytest.mark.parametrize("key", ["", "two words", "ä", "x" * 129])
def test_a_key_that_is_no_word_is_refused(model, key):
    raw = {"Idempotency-Key": key.encode("latin-1")}
    refused(model.learn(body(), **raw), 422)


def test_keys_are_known_after_a_restart(tmp_path):
    with Trainer(tmp_path / "t") as first:
        first.create()
        receipt = first.learn(body(), key="one").json()
        digest = first.digest()
    with Trainer(tmp_path / "t") as second:
        again = second.learn(body(), key="one", token=second.header(client="anna")).json()
        known = second.learn(body(), key="one", token=first.everything).json()
        assert again["replayed"] is False, "another token of the same name is another client"
        assert known == receipt | {"replayed": True}
        assert second.digest() != digest
        assert second.ask("GET", "/v1/models/m/metrics").json()["rows"] == 40


def test_a_restart_gives_the_same_weights_as_a_replay(tmp_path):
    with Trainer(tmp_path / "t") as first:
        first.create()
        for seed in range(4):
            first.learn(body(50, seed=seed))
        digest = first.digest()
        facts = first.model().facts
    with Trainer(tmp_path / "t") as second:
        assert second.digest() == digest
    assert replay_log(facts.settings, tmp_path / "t" / "models" / facts.id).digest() == digest


def test_json_and_gzip_are_learned_like_arrow(model):
    rows = hashed(12)
    text = json.dumps({"rows": rows.indices.tolist(), "labels": rows.labels.tolist()}).encode()

    model.learn(bytes_of(rows))
    assert model.learn(text, kind=JSON).json()["rows"] == 12
    model.learn(gzip.compress(bytes_of(rows)), **{"Content-Encoding": "gzip"})

    assert model.digest() == naive(model, [rows] * 3).digest()


def test_json_rows_may_differ_in_length_and_have_values_and_weights(model):
    found = {"rows": [[1], [2, 3], []], "values": [[0.5], [1, -2.5], []], "labels": [1, 0, 1],
            "weights": [1, 0.5, 2]}  # fmt: skip
    rows = HashedRows(
        indices=np.array([1, 2, 3], np.uint32),
        indptr=np.array([0, 1, 3, 3]),
        values=np.array([0.5, 1, -2.5], np.float32),
        labels=np.array([1, 0, 1], np.int32),
        weights=np.array([1, 0.5, 2], np.float32),
        bits=BITS,
    )

    model.learn(json.dumps(found).encode(), kind=JSON)

    assert model.digest() == naive(model, [rows]).digest()


@pytest.mark.parametrize("packing", ["lz4", "zstd"])
def test_arrows_own_packing_is_learned(model, packing):
    batch, sink = hashed(400).to_batch(), pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=packing)
    with pa.ipc.new_stream(sink, batch.schema, options=options) as stream:
        stream.write_batch(batch)

    assert model.learn(bytes(sink.getvalue())).status_code == 200
    assert model.digest() == naive(model, [hashed(400)]).digest()


def test_predictions_are_the_learners(model):
    model.learn(body(200))
    model.digest()
    rows = hashed(30, seed=7, labels=False)
    expected = naive(model, [hashed(200)]).predict(rows)

    as_json = model.predict(bytes_of(rows)).json()
    as_arrow = model.predict(bytes_of(rows), Accept=ARROW)

    assert as_json["learned"] == 1
    np.testing.assert_array_equal(np.array(as_json["predictions"], np.float32), expected)
    assert as_arrow.headers["content-type"] == ARROW
    table = pa.ipc.open_stream(as_arrow.content).read_all()
    np.testing.assert_array_equal(table["p"].to_numpy(), expected)
    text = json.dumps({"rows": rows.indices.tolist()}).encode()
    assert model.predict(text, kind=JSON).json() == as_json


def test_a_softmax_answers_with_a_number_for_each_class(trainer):
    trainer.create(loss="softmax", classes=3)
    rows = hashed(9, labels=False)
    codes = (rows.indices[:, 0] % 3).astype(np.int32)
    labelled = HashedRows(indices=rows.indices, bits=BITS, labels=codes, classes=3)
    assert trainer.learn(bytes_of(labelled)).status_code == 200

    found = pa.ipc.open_stream(trainer.predict(bytes_of(rows), Accept=ARROW).content).read_all()

    assert found["p"].type == pa.list_(pa.field("item", pa.float32(), nullable=False), 3)
    assert len(found) == 9


def test_many_rows_are_predicted_in_order(model):
    rows = hashed(10_000, labels=False, width=2)

    found = model.predict(bytes_of(rows)).json()["predictions"]

    np.testing.assert_array_equal(np.array(found, np.float32), naive(model, []).predict(rows))


def test_an_answer_that_would_be_too_long_is_refused(trainer):
    trainer.create(loss="softmax", classes=4_096, bits=4)

    sent = body(100, labels=False, bits=4)
    refused(trainer.predict(sent), 413, "too-large")
    refused(trainer.predict(sent, Accept=ARROW), 413, "too-large")
    assert trainer.predict(body(10, labels=False, bits=4), Accept=ARROW).status_code == 200


def test_what_is_remembered_of_a_batch_holds_no_rows(model):
    """Keys stay in memory until they are indexed; bodies would be more than the backlog."""
    for seed in range(5):
        model.learn(body(seed=seed), key=f"k{seed}")

    known = list(model.model()._keys._known.values())

    assert all(isinstance(each, Mark) for each in known)


def test_rows_with_labels_arent_predicted(model):
    refused(model.predict(body()), 422)


def test_metrics_are_of_rows_before_they_were_learned(model):
    for seed in range(20):
        model.learn(body(100, seed=seed))
    model.digest()

    content = model.ask("GET", "/v1/models/m/metrics").json()

    assert content["rows"] == 2_000
    assert content["curve"][-1]["rows"] == 2_000
    assert content["curve"][0]["loss"] > content["curve"][-1]["loss"] > 0
    assert 0.5 < content["accuracy"] <= 1
    learner = naive(model, [])
    losses = [learner.learn(hashed(100, seed=seed)).loss for seed in range(20)]
    assert content["loss"] == pytest.approx(np.mean(losses))
