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

from halfmask.trainer.store import EXAMPLES, Limits, Store, open_lists, replay_log
from trainer.service.stage import (  # type: ignore[import-not-found] # beside, no package
    ALL,
    ARROW,
    BITS,
    body,
)

COMMAND = "import sys; from halfmask.cli import main; sys.exit(main(sys.argv[1:]))"
OPTIONS = ("--port", "0", "--json", "--keep-log", "--snapshot-mib", "1")
#: So many rows that a snapshot comes after some twenty batches of a model. The service is killed
#: twice here; benchmarks/reliability/trainer.py does it 200 times.
CLIENTS, ROWS = 4, 2_000
#: One model is plain, one has all defences; each client sends to both in turns.
MODELS = {
    "m": None,
    "guarded": {
        "clip": {"weight": 1.0},
        "caps": {"share": 0.4},
        "guard": {"tolerance": 0.05, "drift": 0.1},
        "every": 5_000,
    },
}


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
        self.acknowledged: dict[tuple[str, str], int] = {}
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
                name = list(MODELS)[turn % len(MODELS)]
                key, turn = f"{number}-{turn}", turn + 1
                sent = body(ROWS, seed=turn * 97 + number)
                seq = self._until_acknowledged(client, name, key, sent, token)
                if seq is not None:
                    self.acknowledged[name, key] = seq

    def _until_acknowledged(self, client, name, key, sent, token):
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": ARROW,
            "Idempotency-Key": key,
        }
        while not self.stopped.is_set():
            try:
                path = f"{self.address}/v1/models/{name}/examples"
                answer = client.post(path, content=sent, headers=headers)
            except httpx.TransportError:
                self.stopped.wait(0.01)
                continue
            if answer.status_code == 200:
                return answer.json()["seq"]
            assert answer.status_code in {429, 503}, answer.text
            self.stopped.wait(0.01)
        return None


def client_of(service, headers):
    """A client that waits while loops are compiled for the first model."""
    return httpx.Client(base_url=service.address, headers=headers, trust_env=False, timeout=300)


def until(condition):
    end = time.monotonic() + 60
    while not condition():
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


@pytest.mark.slow
def test_what_was_acknowledged_is_learned_once_however_the_service_dies(tmp_path, tokens):
    rng, folder, load = random.Random(3), tmp_path / "t", Load(tokens)
    service = Process(folder)
    header = {"Authorization": f"Bearer {tokens[0]}"}
    with client_of(service, header) as client:
        for name, defences in MODELS.items():
            wish = {"name": name, "bits": BITS, "defences": defences}
            client.post("/v1/models", json=wish).raise_for_status()
        sent = {"content": body(600, seed=1), "headers": {"Content-Type": ARROW}}
        client.post("/v1/models/guarded/canaries", **sent).raise_for_status()
    load.address = service.address
    load.start()
    until(partial(load.has, rng.randint(5, 40)))
    service.kill()
    service = Process(folder)
    load.address = service.address
    until(partial(load.has, len(load.acknowledged) + rng.randint(5, 40)))
    service.kill()
    load.stop()

    store = Store(folder, limits=Limits(keep_log=True))
    store.open_models()
    for model in store.models():
        check(model, folder, load)
    store.close()


def check(model, folder, load):
    """Check that what was acknowledged of a model is in its log, and its log in its weights."""
    name, records = model.facts.name, list(model._log.records())
    examples = [each for each in records if each.entry.kind == EXAMPLES]
    keys = {record.entry.key.decode(): record.seq for record in examples}
    found = {key: seq for (of, key), seq in load.acknowledged.items() if of == name}

    assert len(keys) == len(examples), "no key is there twice"
    assert {key: keys.get(key) for key in found} == found
    if model.defences is None:
        assert model.state.curve.rows == ROWS * len(examples)
    replayed = replay_log(model.facts.settings, folder / "models" / model.facts.id)
    assert replayed.digest() == model.state.digest()
    assert replayed.learner.to_bytes() == model.state.learner.to_bytes()
    assert replayed.summary() == model.state.summary()


@pytest.mark.slow
def test_a_service_that_is_asked_to_end_finishes_what_it_has(tmp_path, tokens):
    service = Process(tmp_path / "t")
    header = {"Authorization": f"Bearer {tokens[0]}"}
    with client_of(service, header) as client:
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


@pytest.mark.slow
def test_two_services_dont_share_a_folder(tmp_path, tokens):
    store = Store(tmp_path / "t")
    second = subprocess.run(
        [sys.executable, "-c", COMMAND, "serve", tmp_path / "t", "--port", "0", "--json"],
        check=False,
        capture_output=True,
        timeout=60,
    )
    store.close()

    content = json.loads(second.stdout)
    assert second.returncode == 1
    assert content["code"] == "trainer"
    assert tokens
