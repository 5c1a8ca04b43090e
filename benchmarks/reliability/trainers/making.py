"""How long others wait while models are made on a machine that never compiled for one.

The compiled loops are kept in an empty folder, as on a new installation. One model is made and
waited for; then five more of other kinds at once, while six clients ask for health, readiness, a
model, its metrics and predictions, and teach it. The bar is for the slowest of these answers but
one in a hundred.
"""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from bars import Bar
from reliability.trainers.process import (
    ARROW,
    Service,
    client_of,
    rows_of,
    tokens_of,
    until_ready,
)

BITS, WIDTH = 10, 39
KINDS = (
    {"optimizer": "ftrl"},
    {"optimizer": "sgd"},
    {"loss": "softmax"},
    {"loss": "softmax", "optimizer": "sgd"},
    {"loss": "squared", "optimizer": "ftrl", "normalized": False},
)
ASKED = ("/health", "/ready", "/v1/models/m", "/v1/models/m/metrics")


class Asking:
    """Clients that ask again and again, and how long each answer took."""

    def __init__(self, address: str, token: str) -> None:
        self.taken: list[float] = []
        self.failed = 0
        self._stopped = threading.Event()
        rows = rows_of(0, rows=10, width=WIDTH, bits=BITS)
        bare = rows_of(0, rows=10, width=WIDTH, bits=BITS, labels=False)
        asked = [("GET", path, b"") for path in ASKED]
        asked += [("POST", "/v1/models/m/predict", bare), ("POST", "/v1/models/m/examples", rows)]
        self._threads = [
            threading.Thread(target=self._ask, args=(address, token, *each)) for each in asked
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, address: str, token: str, method: str, path: str, sent: bytes) -> None:
        headers = {"Content-Type": ARROW} if sent else {}
        with client_of(token, address, 300.0) as client:
            while not self._stopped.wait(0.02):
                start = time.perf_counter()
                answer = client.request(method, path, content=sent, headers=headers)
                self.taken.append(time.perf_counter() - start)
                self.failed += answer.status_code != 200


def measure(*, quick: bool, seed: int) -> list[Bar]:
    """Make models, and time what others wait for."""
    kinds = KINDS[: 2 if quick else None]
    with tempfile.TemporaryDirectory() as where:
        folder = Path(where) / "trainer"
        (token,) = tokens_of(folder, ("a", "t"))
        with Service(folder, surroundings={"NUMBA_CACHE_DIR": where}) as service:
            address = service.address()
            until_ready(address)
            start = time.perf_counter()
            made(address, token, "m", {"random_state": seed})
            first = time.perf_counter() - start
            asking = Asking(address, token)
            makers = [
                threading.Thread(target=made, args=(address, token, f"m{number}", kind))
                for number, kind in enumerate(kinds)
            ]
            for thread in makers:
                thread.start()
            for thread in makers:
                thread.join()
            asking.stop()
    late = float(np.quantile(asking.taken, 0.99))
    why = f"{len(asking.taken):,} answers, the slowest after {max(asking.taken):.1f} s"
    return [
        Bar(
            name="p99 of what others wait for while models are compiled for, seconds",
            value=late,
            goal=1,
            side="at most",
            why=why,
        ),
        Bar(
            name="answers to others that fail",
            value=asking.failed,
            goal=0,
            side="at most",
        ),
        Bar(
            name="the first model of a new machine, seconds",
            value=first,
            goal=300,
            side="at most",
            why="TrainerClient.create waits as long",
        ),
    ]


def made(address: str, token: str, name: str, kind: dict[str, object]) -> None:
    with client_of(token, address, 300.0) as client:
        wish = {"name": name, "bits": BITS, **kind}
        client.post("/v1/models", json=wish).raise_for_status()
