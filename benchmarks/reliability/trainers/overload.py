"""Whether a trainer's memory grows while it gets ten times what it can learn.

A softmax of 1,024 classes learns slowly. Sixteen clients of two tenants send it batches as fast as
they are answered, and don't heed `Retry-After`; two more ask for predictions. The queues are full
when the first batch is refused. From a quarter of the time on, the memory of the process (VmRSS) is
looked at ten times a second: what counts is the most of the last half over the most of the second
quarter. In the end everything that was acknowledged has to be learned.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import httpx
import numpy as np

from bars import Bar, say
from halfmask.hashing import HashedRows
from halfmask.trainer.store import bytes_of
from reliability.trainers.process import (
    ARROW,
    Service,
    client_of,
    rows_of,
    tokens_of,
    until_ready,
)

BITS, WIDTH, ROWS, CLASSES = 10, 39, 1_000, 1_024
OPTIONS = ("--body-mib", "4", "--backlog-mib", "32")
CLIENTS, SECONDS, QUICK_SECONDS = 16, 120.0, 20.0
SETTLE_SECONDS = 600.0


class Load:
    """Clients of two tenants, and what they were answered."""

    def __init__(self, address: str, tokens: list[tuple[str, str]], seed: int) -> None:
        self.answers: Counter[int] = Counter()
        self.bare = 0
        self.waits: list[float] = []
        self.lost = 0
        self.full = threading.Event()
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._push, args=(address, token, bodies(seed + number)))
            for number, (token, _) in enumerate(tokens)
        ]
        self._threads += [
            threading.Thread(target=self._predict, args=(address, token))
            for token in {tenant: token for token, tenant in tokens}.values()
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _push(self, address: str, token: str, sent: list[bytes]) -> None:
        turn, headers = 0, {"Content-Type": ARROW}
        with client_of(token, address, 300.0) as client:
            while not self._stopped.is_set():
                turn += 1
                try:
                    answer = client.post(
                        "/v1/models/m/examples", content=sent[turn % len(sent)], headers=headers
                    )
                except httpx.HTTPError:
                    # A refused body that is still being sent: the connection is closed under it.
                    self.lost += 1
                    continue
                with self._lock:
                    self.answers[answer.status_code] += 1
                if answer.status_code == 429:
                    self.full.set()
                    self.bare += int(answer.headers.get("retry-after", "0")) < 1

    def _predict(self, address: str, token: str) -> None:
        sent = rows_of(0, rows=1, width=WIDTH, bits=BITS, labels=False)
        with client_of(token, address, 300.0) as client:
            while not self._stopped.wait(0.05):
                start = time.perf_counter()
                answer = client.post(
                    "/v1/models/m/predict", content=sent, headers={"Content-Type": ARROW}
                )
                self.waits.append(time.perf_counter() - start)
                self.bare += answer.status_code != 200


def bodies(seed: int) -> list[bytes]:
    rng = np.random.default_rng(seed)
    return [
        bytes_of(
            HashedRows(
                indices=rng.integers(0, 1 << BITS, (ROWS, WIDTH)).astype(np.uint32),
                labels=rng.integers(0, CLASSES, ROWS).astype(np.int32),
                bits=BITS,
                classes=CLASSES,
            )
        )
        for _ in range(4)
    ]


def measure(*, quick: bool, seed: int) -> list[Bar]:
    """Send too much, and look at the memory."""
    seconds = QUICK_SECONDS if quick else SECONDS
    with tempfile.TemporaryDirectory() as where:
        folder = Path(where) / "trainer"
        who = [(f"c{number}", f"t{number % 2}") for number in range(CLIENTS)]
        tokens = tokens_of(folder, *who)
        pairs = [(token, tenant) for token, (_, tenant) in zip(tokens, who, strict=True)]
        with Service(folder, *OPTIONS) as service:
            address = service.address()
            until_ready(address)
            for token, _ in pairs[:2]:
                make(address, token)
            load, start = Load(address, pairs, seed), time.monotonic()
            load.full.wait(SETTLE_SECONDS)
            filled = time.monotonic() - start
            early, late = watched(service, seconds)
            taken = time.monotonic() - start
            load.stop()
            learned = sum(rows_learned(address, token) for token, _ in pairs[:2])
            kept = sum(drained(address, token) for token, _ in pairs[:2])
    return bars_of(load, (early, late), (taken, filled), (learned, kept))


def make(address: str, token: str) -> None:
    with client_of(token, address, 300.0) as client:
        wish = {"name": "m", "bits": BITS, "loss": "softmax", "classes": CLASSES}
        client.post("/v1/models", json=wish).raise_for_status()


def watched(service: Service, seconds: float) -> tuple[int, int]:
    """Return the most memory of the second quarter of a time, and that of its last half."""
    early = late = 0
    start = time.monotonic()
    while (now := time.monotonic() - start) < seconds:
        size = service.resident()
        if seconds / 4 < now <= seconds / 2:
            early = max(early, size)
        elif now > seconds / 2:
            late = max(late, size)
        time.sleep(0.1)
    return early, late


def rows_learned(address: str, token: str) -> int:
    with client_of(token, address, 300.0) as client:
        return int(client.get("/v1/models/m/metrics").json()["rows"])


def drained(address: str, token: str) -> int:
    """Wait until all that was acknowledged is learned; return how many rows that is."""
    end = time.monotonic() + SETTLE_SECONDS
    with client_of(token, address, 300.0) as client:
        while time.monotonic() < end:
            told = client.get("/v1/models/m/metrics").json()
            if told["learned"] == told["logged"]:
                return int(told["rows"])
            time.sleep(0.2)
    return 0


def bars_of(
    load: Load,
    memory: tuple[int, int],
    seconds: tuple[float, float],
    rows: tuple[int, int],
) -> list[Bar]:
    (early, late), (taken, filled), (learned, kept) = memory, seconds, rows
    offered = ROWS * (sum(load.answers.values()) + load.lost)
    others = sum(count for status, count in load.answers.items() if status not in {200, 429})
    say(f"  answers: {dict(load.answers)}, {load.lost} connections closed before the answer")
    return [
        Bar(
            name="rows offered for each that is learned meanwhile",
            value=offered / max(1, learned),
            goal=10,
            side="at least",
            why=f"{offered / taken:,.0f} rows/s offered by {CLIENTS} clients, "
            f"{learned / taken:,.0f} learned, for {taken:.0f} s; the queues were full after "
            f"{filled:.1f} s",
        ),
        Bar(
            name="memory of the service under it, when the queues have been full, as a ratio",
            value=late / max(1, early),
            goal=1.1,
            side="at most",
            why=f"{early / 2**20:,.0f} MiB, then {late / 2**20:,.0f} MiB",
        ),
        Bar(
            name="batches refused with 429 and Retry-After",
            value=load.answers[429],
            goal=1,
            side="at least",
            why=f"beside {load.answers[200]:,} that were acknowledged",
        ),
        Bar(
            name="other answers, 429 without Retry-After, predictions that fail",
            value=others + load.bare,
            goal=0,
            side="at most",
        ),
        Bar(
            name="rows acknowledged and not learned in the end",
            value=abs(ROWS * load.answers[200] - kept),
            goal=0,
            side="at most",
        ),
        Bar(
            name="p99 of a prediction meanwhile, seconds",
            value=float(np.quantile(load.waits, 0.99)),
            goal=2,
            side="at most",
            why=f"{len(load.waits):,} predictions; the clients share the cores with the service",
        ),
    ]
