"""A stand-in for a service that does on request what services do on bad days, and some rows."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

import numpy as np
import pyarrow as pa

from halfmask.hashing import HashedRows
from halfmask.trainer.client import RetryPolicy

TOKEN = "hmt_CANARY-token-0123456789"  # noqa: S105 # of no service
QUICK = RetryPolicy(answer_seconds=5, first_seconds=0.001, max_seconds=0.01, give_up_seconds=20)
#: What a moment of the service does: an answer, or something else with the connection.
Mishap = Callable[["Handler"], None]


@dataclass
class Seen:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def rows(self) -> HashedRows:
        with pa.ipc.open_stream(io.BytesIO(self.body)) as reader:
            (batch,) = reader
        return HashedRows.from_batch(batch)


@dataclass
class StandIn:
    """Learns by remembering rows by their keys; answers the first index of each row."""

    seen: list[Seen] = field(default_factory=list)
    learned: dict[str, HashedRows] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    mishaps: list[Mishap] = field(default_factory=list)
    before: Callable[[Seen], None] = lambda _: None
    classes: int = 2
    made: float = 1.0
    loss: str = ""
    may_read: bool = True
    left_out: int = 0
    answer: Callable[[HashedRows], np.ndarray[Any, Any]] = lambda rows: rows.indices[:, 0]
    token_options: list[str] = field(default_factory=list)
    url: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def rows_learned(self) -> int:
        return sum(map(len, self.learned.values()))

    def metrics(self) -> dict[str, Any]:
        batches = len(self.order)
        return {
            "ok": True, "rows": self.rows_learned() - self.left_out, "loss": 0.1, "accuracy": None,
            "curve": [], "logged": batches, "learned": batches, "skipped": self.left_out and 1,
            "skipped_rows": self.left_out, "defences": None,
        }  # fmt: skip


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    stand_in: StandIn

    def log_message(self, format, *args):  # noqa: A002 # the library's name
        """Say nothing."""

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    def respond(self, status: int, body: bytes, kind="application/json", **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def learn(self, seen: Seen) -> bytes:
        key, it = seen.headers["idempotency-key"], self.stand_in
        with it.lock:
            known = key in it.learned
            if not known:
                it.learned[key] = seen.rows
                it.order.append(key)
        return json.dumps({"ok": True, "rows": len(seen.rows), "replayed": known}).encode()

    def do(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        lower = {name.lower(): value for name, value in self.headers.items()}
        it = self.stand_in
        seen = Seen(self.command, self.path, lower, self.rfile.read(length))
        with it.lock:
            it.seen.append(seen)
            mishap = it.mishaps.pop(0) if it.mishaps and length else None
        it.before(seen)
        if mishap is not None:
            self.last = seen
            mishap(self)
        elif seen.path.endswith("/examples"):
            self.respond(200, self.learn(seen))
        elif seen.path.endswith("/predict"):
            numbers = it.answer(seen.rows).astype(np.float32)
            body = predictions(numbers, it.classes)
            self.respond(200, body, "application/vnd.apache.arrow.stream")
        elif it.may_read and seen.path.endswith("/metrics"):
            self.respond(200, json.dumps(it.metrics()).encode())
        elif it.may_read:
            found = told_model(it.classes, it.loss) | {"created": it.made}
            self.respond(200, json.dumps(found).encode())
        else:
            says(403)(self)

    do_GET = do_POST = do_DELETE = do  # noqa: N815 # the library looks for these names


def told_model(classes: int, loss: str = "") -> dict[str, Any]:
    loss = loss or ("logistic" if classes == 2 else "softmax")
    return {"ok": True, "name": "m", "loss": loss, "bits": 18, "classes": classes, "rows": 0}


def predictions(numbers: np.ndarray[Any, Any], classes: int = 2) -> bytes:
    """An answer as the wire has it."""
    column = pa.array(numbers)
    if classes > 2:
        flat = pa.array(np.repeat(numbers, classes))
        column = pa.FixedSizeListArray.from_arrays(flat, classes)
    batch = pa.RecordBatch.from_arrays([column], names=["p"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def says(status: int, error: str = "no", code: str = "word", **headers: str) -> Mishap:
    """The service refuses in its own words."""
    body = json.dumps({"ok": False, "error": error, "code": code}).encode()
    return lambda handler: handler.respond(status, body, **headers)


def hangs_up(handler: Handler) -> None:
    """The connection is gone before an answer."""
    handler.close_connection = True


def learns_and_hangs_up(handler: Handler) -> None:
    """The worst moment: it has learned, and nobody hears of it."""
    handler.learn(handler.last)
    handler.close_connection = True


def answers(body: bytes, kind="application/vnd.apache.arrow.stream", **headers: str) -> Mishap:
    return lambda handler: handler.respond(200, body, kind, **headers)


def rows_of(n: int, *, seed: int = 0, width: int = 3, labels: bool = True) -> HashedRows:
    """Rows with different first indices."""
    rng = np.random.default_rng(seed)
    indices = rng.integers(0, 1 << 18, (n, width), dtype=np.uint32)
    indices[:, 0] = np.arange(n)
    found = rng.integers(0, 2, n).astype(np.int32) if labels else None
    return HashedRows(indices=indices, bits=18, labels=found)


def in_order(service: StandIn) -> HashedRows:
    """All rows that were learned from, in that order."""
    return HashedRows.concat(service.learned[key] for key in service.order)
