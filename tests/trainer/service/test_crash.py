"""A service that is killed at any point under load: what was acknowledged is learned, once."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import httpx
import pytest

from halfmask.trainer.store import Limits, Store, open_lists, replay_log
from trainer.service.stage import (  # type: ignore[import-not-found] # beside, no package
    ALL,
    ARROW,
    BITS,
    body,
)

COMMAND = "import sys; from halfmask.cli import main; sys.exit(main(sys.argv[1:]))"
OPTIONS = ("--port", "0", "--json", "--keep-log", "--snapshot-mib", "1")
#: So many rows that a snapshot comes after some twenty batches, and a kill before and after it.
CLIENTS, KILLS, ROWS = 4, 2, 2_000


class Process:
    """A service as a process of its own."""

    def __init__(self, folder):
        self.process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, "serve", folder, *OPTIONS],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self.process.stdout is not None
        self.output = self.process.stdout
        self.address = json.loads(self.output.readline())["address"]

    def kill(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        self.output.close()
        return self.process.wait(60)


class Load:
    """Clients that send batches, each until it is acknowledged, whatever happens to the service."""

    def __init__(self, tokens):
        self.address = ""
        self.stopped = threading.Event()
        self.acknowledged: dict[str, int] = {}
        self._threads = [
            threading.Thread(target=self._push, args=(number, token), daemon=True)
            for number, token in enumerate(tokens)
        ]

    def start(self):
        for thread in self._threads:
            thread.start()

    def stop(self):
        self.stopped.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()

    def has(self, count):
        return len(self.acknowledged) >= count

    def _push(self, number, token):
        turn = 0
        with httpx.Client(trust_env=False, timeout=30) as client:
            while not self.stopped.is_set():
                key, turn = f"{number}-{turn}", turn + 1
                seq = self._until_acknowledged(
                    client, key, body(ROWS, seed=turn * 97 + number), token
                )
                if seq is not None:
                    self.acknowledged[key] = seq

    def _until_acknowledged(self, client, key, sent, token):
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": ARROW,
            "Idempotency-Key": key,
        }
        while not self.stopped.is_set():
            try:
                path = f"{self.address}/v1/models/m/examples"
                answer = client.post(path, content=sent, headers=headers)
            except httpx.TransportError:
                self.stopped.wait(0.01)
                continue
            if answer.status_code == 200:
                return answer.json()["seq"]
            assert answer.status_code in {429, 503}, answer.text
            self.stopped.wait(0.01)
        return None


def until(told):
    end = time.monotonic() + 60
    while not told():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.005)


@pytest.fixture
def tokens(tmp_path):
    database, tokens = open_lists(tmp_path / "t", create=True)
    made = [
        tokens.create(client=f"c{each}", tenant="acme", scopes=frozenset(ALL))[1]
        for each in range(CLIENTS)
    ]
    database.close()
    return made


def test_what_was_acknowledged_is_learned_once_however_the_service_dies(tmp_path, tokens):
    rng, folder, load = random.Random(3), tmp_path / "t", Load(tokens)
    service = Process(folder)
    header = {"Authorization": f"Bearer {tokens[0]}"}
    wish = {"name": "m", "bits": BITS}
    httpx.post(f"{service.address}/v1/models", json=wish, headers=header).raise_for_status()
    load.address = service.address
    load.start()
    for _ in range(KILLS):
        wanted = len(load.acknowledged) + rng.randint(5, 40)
        until(partial(load.has, wanted))
        service.kill()
        service = Process(folder)
        load.address = service.address
    until(partial(load.has, len(load.acknowledged) + 4))
    service.kill()
    load.stop()

    store = Store(folder, limits=Limits(keep_log=True))
    store.open_models()
    model = store.model("acme", "m")
    keys = {record.entry.key.decode(): record.seq for record in model._log.records()}
    digest, logged = model.state.digest(), model.logged
    rows = model.state.curve.rows
    store.close()

    assert len(keys) == logged, "no key is there twice"
    assert {key: keys.get(key) for key in load.acknowledged} == load.acknowledged
    assert rows == ROWS * logged
    replayed = replay_log(model.facts.settings, folder / "models" / model.facts.id)
    assert replayed.digest() == digest


def test_a_service_that_is_asked_to_end_finishes_what_it_has(tmp_path, tokens):
    service = Process(tmp_path / "t")
    header = {"Authorization": f"Bearer {tokens[0]}"}
    with httpx.Client(base_url=service.address, headers=header, trust_env=False) as client:
        client.post("/v1/models", json={"name": "m", "bits": BITS}).raise_for_status()
        for seed in range(5):
            sent = {"Content-Type": ARROW}
            path = "/v1/models/m/examples"
            client.post(path, content=body(seed=seed), headers=sent).raise_for_status()

    assert service.kill(signal.SIGTERM) == 0
    store = Store(tmp_path / "t", limits=Limits())
    store.open_models()
    model = store.model("acme", "m")
    assert [each.seq for each in model.snapshots()] == [5]
    assert model.unindexed == []
    store.close()


def test_two_services_dont_share_a_folder(tmp_path, tokens):
    service = Process(tmp_path / "t")
    second = subprocess.run(
        [sys.executable, "-c", COMMAND, "serve", tmp_path / "t", "--port", "0", "--json"],
        check=False,
        capture_output=True,
        timeout=60,
    )
    service.kill()

    told = json.loads(second.stdout)
    assert second.returncode == 1
    assert told["code"] == "trainer"
    assert tokens
