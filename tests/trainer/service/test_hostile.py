"""Slow, many and greedy clients don't hold others up; a full disk doesn't stop predictions."""

from __future__ import annotations

import dataclasses
import errno
import os
import resource
import shutil
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from halfmask.trainer.service import _serving
from halfmask.trainer.service._requests import Pace
from halfmask.trainer.store import RefusedError
from halfmask.trainer.store._state import StoredState
from trainer.service.stage import (  # type: ignore[import-not-found] # beside, no package
    ARROW,
    OPTIONS,
    Trainer,
    body,
    refused,
    with_limits,
)

HASTY = dataclasses.replace(OPTIONS, head_seconds=0.4, body_seconds=0.4, answer_seconds=0.4)
ROWS = body(labels=False)


@pytest.fixture
def held(monkeypatch):
    """An event that learning waits for."""
    go, learn = threading.Event(), StoredState.learn

    def held_up(state, *rows):
        assert go.wait(60)
        learn(state, *rows)

    monkeypatch.setattr(StoredState, "learn", held_up)
    yield go
    go.set()


def opened(trainer, sent):
    connection = socket.create_connection(("127.0.0.1", trainer.port), timeout=20)
    connection.sendall(sent)
    return connection


def head(trainer, *more):
    token = trainer.everything["Authorization"]
    lines = [
        "POST /v1/models/m/examples HTTP/1.1",
        "Host: x",
        f"Authorization: {token}",
        f"Content-Type: {ARROW}",
        *more,
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def test_slow_clients_are_sent_away_and_hold_nobody_up(tmp_path):
    """Connections that say nothing, half a head, half a body: each ends; others are answered."""
    with Trainer(tmp_path / "t", HASTY) as trainer:
        trainer.create()
        whole = head(trainer, "Content-Length: 1000")
        slow = [opened(trainer, b"") for _ in range(20)]
        slow += [opened(trainer, whole[:40]) for _ in range(20)]
        late = [opened(trainer, whole + b"half") for _ in range(20)]
        late += [opened(trainer, head(trainer, "Transfer-Encoding: chunked")) for _ in range(20)]

        assert trainer.predict(ROWS).status_code == 200
        assert trainer.learn(body()).status_code == 200
        for connection in slow:
            assert connection.recv(100) == b"", "it is closed without a word"
        for connection in late:
            assert b" 408 " in connection.recv(1_000).split(b"\r\n")[0]
        trainer.until(lambda: trainer.service.backlog.taken == 0)
        for connection in slow + late:
            connection.close()


@pytest.mark.slow
def test_a_body_that_stalls_or_trickles_is_refused_long_before_its_time(tmp_path):
    """Pieces without an end: of one nothing more comes, of the other too little."""
    options = dataclasses.replace(
        OPTIONS, stall_seconds=0.3, body_bytes_per_second=1 << 20, body_seconds=600.0
    )
    chunked = "Transfer-Encoding: chunked"
    with Trainer(tmp_path / "t", options) as trainer:
        trainer.create()
        before = trainer.digest()
        with (
            opened(trainer, head(trainer, chunked) + b"5\r\nhello\r\n") as stalled,
            opened(trainer, head(trainer, chunked)) as trickling,
        ):
            ended = threading.Event()

            def trickle():
                with suppress(OSError):
                    while not ended.wait(0.02):
                        trickling.sendall(b"1\r\nx\r\n")

            sender = threading.Thread(target=trickle)
            sender.start()
            assert b" 408 " in stalled.recv(1_000).split(b"\r\n")[0]
            answer = trickling.recv(1_000)
            ended.set()
            sender.join()
            assert b" 408 " in answer.split(b"\r\n")[0]
        trainer.until(lambda: trainer.service.backlog.taken == 0)
        assert trainer.digest() == before


@pytest.mark.parametrize(
    ("now", "size", "deadline"),
    [(100.0, 0, 105.0), (104.0, 10, 105.1), (110.0, 1_000, 115.0), (129.0, 10**9, 130.0)],
)
def test_when_more_of_a_body_has_to_come(now, size, deadline):
    pace = Pace(seconds=30.0, stall_seconds=5.0, bytes_per_second=100)

    assert pace.deadline(100.0, now, size) == pytest.approx(deadline)


@pytest.mark.parametrize("path", ["", "/m/snapshots", "/m/rollback"])
def test_a_wish_is_short_and_comes_in_time_whoever_sends_it(tmp_path, path):
    """FastAPI would read to the end, for a token that may not even ask for it."""
    with Trainer(tmp_path / "t", HASTY) as trainer:
        trainer.create()
        token = trainer.header("predict")

        def sent(*more):
            first, *lines = head(trainer, *more).decode().split("\r\n")
            lines[1] = f"Authorization: {token['Authorization']}"
            lines[2] = "Content-Type: application/json"
            first = f"POST /v1/models{path} HTTP/1.1"
            return "\r\n".join([first, *lines]).encode()

        chunked = "Transfer-Encoding: chunked"
        endless = sent(chunked) + b"20000\r\n" + b" " * (2 << 16)
        for content, status in (
            (endless, b" 413 "),
            (sent("Content-Length: 100000000000"), b" 413 "),
            (sent("Content-Length: 10") + b"{", b" 408 "),
        ):
            with opened(trainer, content) as connection:
                assert status in connection.recv(1_000).split(b"\r\n")[0]
        trainer.until(lambda: trainer.service.backlog.taken == 0)


def test_a_client_that_never_ends_a_refused_body_is_sent_away(tmp_path):
    with (
        Trainer(tmp_path / "t", HASTY) as trainer,
        opened(trainer, head(trainer, "Content-Length: 1000000")) as connection,
    ):
        assert b" 404 " in connection.recv(1_000).split(b"\r\n")[0]
        # It would wait for the rest for ever; now it ends, with or without a word.
        with suppress(ConnectionError):
            while connection.recv(100):
                connection.sendall(b"more")


def test_a_client_that_goes_before_its_body_is_whole_changes_nothing(tmp_path):
    with Trainer(tmp_path / "t") as trainer:
        trainer.create()
        before = trainer.digest()
        opened(trainer, head(trainer, "Content-Length: 1000") + b"half").close()

        trainer.until(lambda: trainer.service.backlog.taken == 0)
        assert trainer.digest() == before


def test_more_connections_than_there_may_be_are_refused(tmp_path):
    few = dataclasses.replace(OPTIONS, connections=10)
    with Trainer(tmp_path / "t", few) as trainer:
        many = [opened(trainer, b"") for _ in range(12)]
        answers = [opened(trainer, b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n") for _ in range(3)]
        assert all(b" 503 " in each.recv(1_000).split(b"\r\n")[0] for each in answers)
        for connection in many + answers:
            connection.close()
        trainer.until(lambda: trainer.client.get("/health").status_code == 200)


def test_still_more_connections_are_closed_without_a_word(tmp_path, monkeypatch):
    """They would use up the files that the process may open, those of the logs too."""
    monkeypatch.setattr(_serving, "MAX_REFUSED", 5)
    with Trainer(tmp_path / "t", dataclasses.replace(OPTIONS, connections=5)) as trainer:
        many = [opened(trainer, b"") for _ in range(40)]
        for connection in many[10:]:
            with suppress(ConnectionResetError):
                assert connection.recv(100) == b""
        trainer.until(lambda: len(trainer.server.server_state.connections) == 10)
        for connection in many:
            connection.close()
        trainer.until(lambda: trainer.client.get("/health").status_code == 200)


def test_a_service_may_open_files_for_all_its_connections_and_its_own(monkeypatch):
    found = []
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: found.append(limits))
    for soft, most in ((1_024, 4_096), (1_024, 1_500), (8_192, 9_000), (1_024, -1)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, both=(soft, most): both)
        _serving._allow_files(2_100)
    assert found == [(2_100, 4_096), (1_500, 1_500), (2_100, -1)]


@pytest.mark.slow
def test_ten_times_too_much_is_refused_and_takes_no_memory(tmp_path, held):
    """While nothing is learned, bodies fill the backlog and no more; then all that was taken is."""
    limits = with_limits(body_bytes=1 << 18, backlog_bytes=1 << 20)
    with Trainer(tmp_path / "t", limits) as trainer:
        trainer.create()
        clients = [trainer.header("learn", client=f"c{each}", tenant="acme") for each in range(8)]
        sent = [body(2_000, seed=seed) for seed in range(4)]
        total, budget = 10 * (1 << 20) // len(sent[0]), trainer.service.backlog
        highest = []

        def push(number):
            answer = trainer.learn(sent[number % 4], token=clients[number % 8], key=f"k{number}")
            highest.append(budget.taken)
            return answer

        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(push, range(total)))
            assert trainer.predict(ROWS).status_code == 200, "predictions go on"
        taken = [each for each in answers if each.status_code == 200]
        late = [each for each in answers if each.status_code != 200]

        assert max(highest) <= budget.total
        assert len(taken) * len(sent[0]) <= budget.total
        assert len(late) > total / 2
        for each in late:
            refused(each, 429, "busy")
            assert int(each.headers["retry-after"]) >= 1
        held.set()
        trainer.until(lambda: budget.taken == 0)
        trainer.digest()
        rows = trainer.ask("GET", "/v1/models/m/metrics").json()["rows"]
        assert rows == 2_000 * len(taken)


def test_one_client_and_one_tenant_leave_room_for_others(tmp_path, held):
    limits = with_limits(body_bytes=1 << 18, backlog_bytes=1 << 20)
    with Trainer(tmp_path / "t", limits) as trainer:
        trainer.create()
        other = trainer.header(tenant="other")
        trainer.create(token=other)
        big = body(2_000)
        clients = [trainer.header(client=f"c{each}") for each in range(8)]

        for client in clients:
            while trainer.learn(big, token=client).status_code == 200:
                pass
        assert trainer.service.backlog.taken <= trainer.service.backlog.total / 2
        assert trainer.learn(big, token=other).status_code == 200
        held.set()


@pytest.mark.parametrize("how", ["nearly", "write", "flush"])
def test_on_a_full_disk_nothing_is_learned_and_predictions_go_on(tmp_path, monkeypatch, how):
    limits = with_limits(free_bytes=1 << 20)
    with Trainer(tmp_path / "t", limits) as trainer:
        trainer.create()
        trainer.learn(body())
        before = trainer.digest()

        def refuse(*_):
            raise OSError(errno.ENOSPC, "CANARY")

        with monkeypatch.context() as patch:
            if how == "nearly":
                left = shutil.disk_usage(tmp_path)._replace(free=1_000)
                patch.setattr(shutil, "disk_usage", lambda _: left)
            else:
                patch.setattr(os, {"write": "pwritev", "flush": "fdatasync"}[how], refuse)
            answer = trainer.learn(body(seed=1), key="k")
            refused(answer, 507, "disk-full")
            assert "CANARY" not in answer.text
            assert trainer.predict(ROWS).status_code == 200
        assert trainer.digest() == before
        assert trainer.learn(body(seed=1), key="k").json()["replayed"] is False


def test_on_a_full_disk_no_model_is_made_or_deleted(tmp_path, monkeypatch):
    with Trainer(tmp_path / "t") as trainer:
        trainer.create()
        trainer.learn(body())

        def refuse(*_, **__):
            raise OSError(errno.ENOSPC, "CANARY")

        def full():
            raise RefusedError("The disk is full.", status=507, word="disk-full")

        with monkeypatch.context() as patch:
            patch.setattr(Path, "mkdir", refuse)
            refused(trainer.ask("POST", "/v1/models", json={"name": "n"}), 507, "disk-full")
            patch.setattr(trainer.service.store.database, "writing", full)
            refused(trainer.ask("DELETE", "/v1/models/m"), 507, "disk-full")
        assert [each["name"] for each in trainer.ask("GET", "/v1/models").json()["models"]] == ["m"]
        assert trainer.learn(body(seed=1)).json()["seq"] == 2
        trainer.create("n")


def test_lists_that_were_altered_are_told(tmp_path):
    with Trainer(tmp_path / "t") as trainer:
        trainer.create()
    (tmp_path / "t" / "lists.sqlite").write_bytes(b"CANARY" * 1_000)
    for end in ("-wal", "-shm"):
        (tmp_path / "t" / f"lists.sqlite{end}").unlink(missing_ok=True)

    with pytest.raises(RefusedError, match="can't be read") as caught:
        Trainer(tmp_path / "t")
    assert "CANARY" not in str(caught.value)


def test_a_disk_that_fails_for_good_is_told_until_the_restart(tmp_path, monkeypatch):
    with Trainer(tmp_path / "t") as trainer:
        trainer.create()
        trainer.learn(body())
        before = trainer.digest()

        def refuse(*_):
            raise OSError(errno.EIO, "CANARY")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fdatasync", refuse)
            patch.setattr(os, "ftruncate", refuse)
            refused(trainer.learn(body(seed=1)), 503, "disk-failed")
        refused(trainer.learn(body(seed=1)), 503, "disk-failed")
        assert trainer.predict(ROWS).status_code == 200
    with Trainer(tmp_path / "t") as again:
        # The batch may be there: it wasn't acknowledged, and nothing could take it back.
        assert again.ask("GET", "/v1/models/m").json()["logged"] in {1, 2}
        assert again.learn(body(seed=2)).status_code == 200
        assert before


def test_a_learner_that_fails_stops_and_loses_nothing(tmp_path, monkeypatch):
    with Trainer(tmp_path / "t") as trainer:
        trainer.create()

        def fail(*_):
            raise MemoryError

        with monkeypatch.context() as patch:
            patch.setattr(StoredState, "learn", fail)
            assert trainer.learn(body()).status_code == 200, "it is on the disk"
            trainer.until(lambda: trainer.ask("GET", "/v1/models/m").json()["stopped"])
        refused(trainer.learn(body(seed=1)), 503, "stopped")
        refused(trainer.ask("POST", "/v1/models/m/snapshots"), 503, "stopped")
        assert trainer.predict(ROWS).status_code == 200
    with Trainer(tmp_path / "t") as again:
        assert again.ask("GET", "/v1/models/m/metrics").json()["rows"] == 20
        assert again.learn(body(seed=1)).status_code == 200


def test_a_damaged_model_is_told_and_others_are_served(tmp_path):
    with Trainer(tmp_path / "t") as trainer:
        trainer.create("good")
        trainer.create("bad")
        trainer.learn(body(), name="bad")
        trainer.digest("bad")
        folder = tmp_path / "t" / "models" / trainer.model("bad").facts.id
    for path in (folder / "log").iterdir():
        path.write_bytes(b"something else that is longer than a head")
    with Trainer(tmp_path / "t") as again:
        assert again.learn(body(), name="good").status_code == 200
        refused(again.learn(body(), name="bad"), 503, "broken")
        refused(again.ask("POST", "/v1/models", json={"name": "bad"}), 409, "exists")
        assert again.ask("DELETE", "/v1/models/bad").status_code == 200
        assert not folder.exists()
