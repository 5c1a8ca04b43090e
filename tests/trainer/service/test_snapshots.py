"""Nobody takes away what a restart needs, nor fills the disk or the queues with snapshots."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from halfmask.trainer.store import _model, _snapshots
from halfmask.trainer.store._state import StoredState
from trainer.service.stage import (  # type: ignore[import-not-found] # beside, no package
    Trainer,
    body,
    refused,
    with_limits,
)

PATH = "/v1/models/m/snapshots"


class Gate:
    """Lets learning go on where it is open."""

    def __init__(self, monkeypatch):
        self.open, learn = threading.Event(), StoredState.learn
        self.open.set()

        def held(state, *rows):
            assert self.open.wait(60)
            learn(state, *rows)

        monkeypatch.setattr(StoredState, "learn", held)
        self._patch = monkeypatch

    def once_it_is(self, condition):
        """Open, and close when something is so; return what opens it then."""
        waited, learn = threading.Event(), StoredState.learn

        def held(state, *rows):
            if condition():
                assert waited.wait(60)
            learn(state, *rows)

        self._patch.setattr(StoredState, "learn", held)
        self.open.set()
        return waited


@pytest.fixture
def gate(monkeypatch):
    made = Gate(monkeypatch)
    yield made
    made.open.set()


def back(trainer, seq):
    return trainer.ask("POST", "/v1/models/m/rollback", json={"snapshot": seq})


def test_a_snapshot_that_two_rollbacks_need_outlives_the_first(tmp_path, gate):
    """The second one is in the log: without the snapshot the model could never be opened again."""
    with Trainer(tmp_path / "t") as trainer, ThreadPoolExecutor(2) as pool:
        trainer.create()
        trainer.learn(body())
        trainer.ask("POST", PATH)
        before = trainer.digest()
        gate.open.clear()
        trainer.learn(body(seed=1))
        first = pool.submit(back, trainer, 1)
        trainer.until(lambda: trainer.model().logged == 3)
        trainer.learn(body(seed=2))
        second = pool.submit(back, trainer, 1)
        trainer.until(lambda: trainer.model().logged == 5)
        # The first rollback is done, and the batch behind it is being learned.
        waited = gate.once_it_is(first.done)
        assert first.result().status_code == 200
        waited.set()
        assert second.result().status_code == 200
        assert trainer.digest() == before
        assert trainer.ask("DELETE", f"{PATH}/1").status_code == 200
    with Trainer(tmp_path / "t") as again:
        assert again.digest() == before


@pytest.mark.slow
def test_a_rollback_that_isnt_logged_holds_nothing(tmp_path, monkeypatch):
    with Trainer(tmp_path / "t", with_limits(free_bytes=1)) as trainer:
        trainer.create()
        for seed in (0, 1):
            trainer.learn(body(seed=seed))
            trainer.ask("POST", PATH)
        with monkeypatch.context() as patch:
            left = shutil.disk_usage(tmp_path)._replace(free=0)
            patch.setattr(shutil, "disk_usage", lambda _: left)
            refused(back(trainer, 1), 507, "disk-full")
        assert trainer.ask("DELETE", f"{PATH}/1").status_code == 200


def test_the_snapshot_that_a_restart_begins_from_cant_be_deleted(tmp_path):
    """What the log had before it is gone."""
    limits = with_limits(snapshot_bytes=1, segment_bytes=1, keep_log=False)
    with Trainer(tmp_path / "t", limits) as trainer:
        trainer.create()
        for seed in range(5):
            trainer.learn(body(seed=seed))
            trainer.digest()
        digest = trainer.digest()
        trainer.until(lambda: [each.seq for each in trainer.model().snapshots()] == [3, 4, 5])
        answers = [trainer.ask("DELETE", f"{PATH}/{each}").status_code for each in (3, 4, 5)]
        assert answers == [200, 200, 409]
    with Trainer(tmp_path / "t", limits) as again:
        assert again.digest() == digest


def test_a_damaged_snapshot_isnt_gone_back_to_and_stops_nothing(tmp_path):
    with Trainer(tmp_path / "t") as trainer:
        trainer.create()
        for seed in (0, 1):
            trainer.learn(body(seed=seed))
            trainer.ask("POST", PATH)
        digest = trainer.digest()
        (path,) = (tmp_path / "t").glob("models/*/snapshots/*1.snapshot")
        altered = bytearray(path.read_bytes())
        altered[-9] ^= 1
        path.write_bytes(altered)

        refused(back(trainer, 1), 503)
        assert trainer.learn(body()).json()["seq"] == 3
        assert trainer.ask("GET", "/v1/models/m").json()["stopped"] is False
        assert trainer.digest() != digest
    with Trainer(tmp_path / "t") as again:
        assert again.learn(body()).json()["seq"] == 4


def test_while_learning_is_behind_no_more_snapshots_are_asked_for_than_may_be(
    tmp_path, gate, monkeypatch
):
    monkeypatch.setattr(_model, "_MAX_ASKED", 4)
    monkeypatch.setattr(_snapshots, "_MAX_KEPT", 2)
    with Trainer(tmp_path / "t") as trainer, ThreadPoolExecutor(8) as pool:
        trainer.create()
        gate.open.clear()
        asked = []
        for seed in range(6):
            trainer.learn(body(seed=seed))
            asked.append(pool.submit(trainer.ask, "POST", PATH))
            trainer.until(lambda: asked[-1].done() or trainer.model()._asked == len(asked))
        refused(back(trainer, 7), 404, "not-found")
        gate.open.set()
        answers = sorted(each.result().status_code for each in asked)
        assert answers == [201, 201, 409, 409, 429, 429]
        assert len(trainer.model().snapshots()) == 2
        trainer.until(lambda: trainer.model()._asked == 0)


def test_snapshots_that_are_asked_for_leave_the_disk_its_room(tmp_path, monkeypatch):
    with Trainer(tmp_path / "t", with_limits(free_bytes=1 << 20)) as trainer:
        trainer.create()
        trainer.learn(body())
        with monkeypatch.context() as patch:
            left = shutil.disk_usage(tmp_path)._replace(free=(1 << 20) + 100)
            patch.setattr(shutil, "disk_usage", lambda _: left)
            refused(trainer.ask("POST", PATH), 507, "disk-full")
            assert trainer.ask("GET", "/v1/models/m").json()["stopped"] is False
        assert trainer.ask("POST", PATH).status_code == 201
