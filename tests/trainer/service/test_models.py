"""Models are made, listed, kept, set back and deleted."""

from __future__ import annotations

import pytest

from trainer.service.stage import (  # type: ignore[import-not-found] # beside, no package
    Trainer,
    body,
    refused,
    with_limits,
)


def test_a_model_is_made_listed_shown_and_deleted(trainer):
    made = trainer.create("one", loss="squared")
    trainer.create("two")

    listed = trainer.ask("GET", "/v1/models").json()["models"]
    assert [each["name"] for each in listed] == ["one", "two"]
    assert listed[0] == made
    assert trainer.ask("GET", "/v1/models/one").json() == made
    assert trainer.ask("DELETE", "/v1/models/one").json() == {"ok": True}
    refused(trainer.ask("GET", "/v1/models/one"), 404, "not-found")
    refused(trainer.ask("DELETE", "/v1/models/one"), 404, "not-found")
    trainer.create("one")


def test_a_name_is_taken_once_in_a_tenant(trainer):
    trainer.create("one")

    refused(trainer.ask("POST", "/v1/models", json={"name": "one"}), 409, "exists")
    trainer.create("one", token=trainer.header(tenant="other"))


@pytest.mark.parametrize(
    "wish",
    [
        {},
        {"name": ""},
        {"name": "../up"},
        {"name": "a/b"},
        {"name": "x" * 65},
        {"name": "m", "bits": 0},
        {"name": "m", "bits": 25},
        {"name": "m", "bits": "10"},
        {"name": "m", "bits": 10.0},
        {"name": "m", "bits": True},
        {"name": "m", "loss": "other"},
        {"name": "m", "rate": -1},
        {"name": "m", "threads": 4},
        {"name": "m", "classes": 3},
        {"name": "m", "l1": 1.0},
        {"name": "m", "loss": "softmax", "bits": 24, "classes": 5},
        {"name": "m", "other": 1},
    ],
)
def test_what_no_model_can_be_is_refused(trainer, wish):
    refused(trainer.ask("POST", "/v1/models", json=wish), 422)
    assert trainer.ask("GET", "/v1/models").json()["models"] == []


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[]", b"NaN", b"\xff", b'{"name":"m","rate":NaN}', b'{"name":"m","rate":1e400}'],
)
def test_a_wish_that_is_no_json_object_is_refused(trainer, text):
    sent = {"Content-Type": "application/json"}
    answer = trainer.ask("POST", "/v1/models", content=text, headers=sent)

    assert answer.status_code in {400, 422}
    refused(answer, answer.status_code)


def test_a_tenant_has_so_many_models_and_no_more(tmp_path):
    with Trainer(tmp_path / "t", with_limits(models_per_tenant=2)) as trainer:
        trainer.create("one")
        trainer.create("two")
        refused(trainer.ask("POST", "/v1/models", json={"name": "three"}), 409, "too-many")
        trainer.ask("DELETE", "/v1/models/one")
        trainer.create("three")


def test_a_snapshot_is_gone_back_to(model):
    model.learn(body(50))
    made = model.ask("POST", "/v1/models/m/snapshots").json()
    before = model.digest()
    model.learn(body(50, seed=1))
    assert model.digest() != before

    back = model.ask("POST", "/v1/models/m/rollback", json={"snapshot": made["snapshot"]})

    assert back.status_code == 200
    assert back.json()["rows"] == 50
    assert model.digest() == before
    listed = model.ask("GET", "/v1/models/m/snapshots").json()["snapshots"]
    assert made["snapshot"] == 1
    assert [each["snapshot"] for each in listed] == [1, 3]


@pytest.mark.slow
def test_a_rollback_is_kept_over_a_restart(tmp_path):
    with Trainer(tmp_path / "t") as first:
        first.create()
        first.learn(body(50))
        first.ask("POST", "/v1/models/m/snapshots")
        before = first.digest()
        first.learn(body(50, seed=1))
        first.ask("POST", "/v1/models/m/rollback", json={"snapshot": 1})
        first.learn(body(50, seed=2))
        after = first.digest()
    assert after != before
    with Trainer(tmp_path / "t") as second:
        assert second.digest() == after


def test_a_snapshot_that_isnt_there_is_not_found(model):
    refused(model.ask("POST", "/v1/models/m/rollback", json={"snapshot": 7}), 404, "not-found")
    refused(model.ask("DELETE", "/v1/models/m/snapshots/7"), 404, "not-found")
    refused(model.ask("POST", "/v1/models/m/rollback", json={"snapshot": -1}), 422)


def test_a_snapshot_is_deleted_unless_a_restart_begins_from_it(model):
    for seed in (0, 1):
        model.learn(body(seed=seed))
        model.ask("POST", "/v1/models/m/snapshots")

    refused(model.ask("DELETE", "/v1/models/m/snapshots/2"), 409, "in-use")
    assert model.ask("DELETE", "/v1/models/m/snapshots/1").status_code == 200
    listed = model.ask("GET", "/v1/models/m/snapshots").json()["snapshots"]
    assert [each["snapshot"] for each in listed] == [2]


def test_snapshots_are_made_by_themselves_and_old_ones_and_their_log_go(tmp_path):
    limits = with_limits(snapshot_bytes=1, snapshots_kept=2, segment_bytes=1, keep_log=False)
    with Trainer(tmp_path / "t", limits) as trainer:
        trainer.create()
        for seed in range(6):
            trainer.learn(body(seed=seed))
            trainer.digest()
        digest = trainer.digest()
        trainer.until(lambda: [each.seq for each in trainer.model().snapshots()] == [5, 6])
        (folder,) = (tmp_path / "t" / "models").iterdir()
        assert len(list((folder / "log").iterdir())) <= 2
    with Trainer(tmp_path / "t", limits) as again:
        assert again.digest() == digest


def test_of_models_that_were_deleted_nothing_stays_but_the_rows_of_their_clients(tmp_path):
    """Who makes and deletes models again and again doesn't fill the lists."""
    with Trainer(tmp_path / "t") as trainer:
        token = trainer.header(rows_quota=100)
        for number in range(3):
            trainer.create()
            trainer.learn(body(), key=f"key-{number}", token=token)
            assert trainer.ask("DELETE", "/v1/models/m").status_code == 200
        lists = trainer.service.store.database
        assert lists.rows("SELECT id FROM models") == lists.rows("SELECT key FROM keys") == []
        assert lists.rows("SELECT model, rows FROM usage") == [("", 60)]
    with Trainer(tmp_path / "t") as again:
        again.create()
        assert again.learn(body(40), token=token).status_code == 200
        refused(again.learn(body(1, seed=1), token=token), 403, "quota")


def test_a_damaged_model_that_two_delete_at_once_is_deleted_once(tmp_path, monkeypatch):
    with Trainer(tmp_path / "t") as trainer:
        trainer.create()
        store = trainer.service.store
        store._models.pop((trainer.tenant, "m")).close()
        store.broken.add((trainer.tenant, "m"))
        marked = store._marked_deleted

        def twice(*who):
            refused(trainer.ask("DELETE", "/v1/models/m"), 404, "not-found")
            return marked(*who)

        monkeypatch.setattr(store, "_marked_deleted", twice)
        assert trainer.ask("DELETE", "/v1/models/m").status_code == 200
