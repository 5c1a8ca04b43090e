"""How long a trainer takes to refuse what is no rows, and whether anything changes.

A model of 2 ** 22 weights has learned a batch. Then come the bad requests of the list, each three
times, one after the other: no JSON, no Arrow, lengths, indices, labels and weights that can't be,
bombs, floods, other kinds, keys used again, no token, another tenant's. Each has to be refused by
a 4xx; of each the fastest counts, of all of them the slowest. Digest and log must be as before.

Two can't be refused before time has passed: a body in pieces that stops coming, and one that comes
too slowly. Their seconds are a bar of their own.
"""

from __future__ import annotations

import gzip
import json
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import numpy as np
import pyarrow as pa

from bars import Bar, say
from halfmask.hashing import HashedRows
from reliability.trainers.process import (
    ARROW,
    Service,
    client_of,
    rows_of,
    tokens_of,
    until_ready,
)

BITS, RUNS = 22, 3
JSON = "application/json"
EXAMPLES = "/v1/models/m/examples"
OPTIONS = ("--body-mib", "4", "--backlog-mib", "64")


def good(seed: int = 0, *, bits: int = BITS, labels: bool = True) -> bytes:
    return rows_of(seed, rows=200, width=39, bits=bits, labels=labels)


def text(**told: object) -> bytes:
    return json.dumps({"rows": [[1, 2]], "labels": [1], **told}).encode()


def packed(batch: pa.RecordBatch, compression: str | None = None) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, batch.schema, options=options) as stream:
        stream.write_batch(batch)
    return bytes(sink.getvalue())


def bomb() -> bytes:
    zeros = HashedRows(
        indices=np.zeros((1_000_000, 39), np.uint32),
        labels=np.zeros(1_000_000, np.int32),
        bits=BITS,
    )
    return packed(zeros.to_batch(), "zstd")


def bad_json() -> dict[str, bytes]:
    return {
        "bad JSON": b'{"rows": [[1, 2]',
        "an index out of range": text(rows=[[1 << BITS]]),
        "a negative index": text(rows=[[-1]]),
        "a float index": text(rows=[[1.0]]),
        "a huge index": b'{"rows": [[%s]], "labels": [1]}' % (b"9" * 100_000),
        "a NaN label": b'{"rows": [[1]], "labels": [NaN]}',
        "an infinite label": b'{"rows": [[1]], "labels": [1e999]}',
        "a label of 2": text(labels=[2]),
        "a label of 0.5": text(labels=[0.5]),
        "an infinite value": text(values=[[1e39, 1]]),
        "too few labels": text(labels=[]),
        "a negative weight": text(weights=[-1]),
        "a field twice": b'{"rows": [[1]], "rows": [[1]], "labels": [1]}',
        "deep nesting": b'{"rows": ' + b"[" * 900_000,
        "a long list, and then a bad index": b'{"rows": [[' + b"1," * 500_000 + b"-1]]}",
        "a list longer than may be": b'{"rows": [[' + b"1," * 1_500_000 + b"1]]}",
    }


def bad_arrow() -> dict[str, bytes]:
    batch = HashedRows.from_batch(next(iter(pa.ipc.open_stream(good())))).to_batch()
    other = {"y": pa.array([2] * 200, pa.int32())}
    columns = {name: batch.column(name) for name in batch.schema.names} | other
    labels = pa.RecordBatch.from_pydict(columns).replace_schema_metadata(batch.schema.metadata)
    return {
        "nothing": b"",
        "no Arrow": b"no Arrow" * 100_000,
        "the first half": good()[: len(good()) // 2],
        "without its end": good()[:-8],
        "something behind": good() + b"more",
        "other bits": good(bits=BITS - 1),
        "no labels": good(labels=False),
        "labels of 2": packed(labels),
        "a bomb": bomb(),
        "longer than may be": bytes((4 << 20) + 1),
    }


def flood() -> Iterator[bytes]:
    """A body in pieces that never ends, as fast as it is taken."""
    while True:
        yield bytes(1 << 16)


def raw(address: str, token: str, *head: str, sent: bytes = b"") -> int:
    """Send a request by hand; return the status of the answer, or 0 if there is none."""
    found = urlsplit(address)
    lines = [f"POST {EXAMPLES} HTTP/1.1", "Host: x", f"Authorization: Bearer {token}"]
    with socket.create_connection((found.hostname, found.port or 80), timeout=120) as connection:
        connection.sendall("\r\n".join([*lines, f"Content-Type: {ARROW}", *head, "", ""]).encode())
        with suppress(OSError):
            connection.sendall(sent)
        line = connection.recv(1_000).split(b"\r\n")[0].split()
        return int(line[1]) if len(line) > 1 else 0


def cases(client: httpx.Client, other: str, token: str) -> dict[str, Callable[[], int]]:
    """Return what is sent, by name; each returns the status of its answer."""

    def post(content: bytes, kind: str = ARROW, **headers: str) -> int:
        sent = {
            "Content-Type": kind,
            **{name.replace("_", "-"): it for name, it in headers.items()},
        }
        return client.post(EXAMPLES, content=content, headers=sent).status_code

    def flooded() -> int:
        # The answer comes while the body is still being sent: by hand, or it would be lost.
        return raw(str(client.base_url), token, "Transfer-Encoding: chunked", sent=chunks)

    piece = next(flood())
    chunks = (b"%x\r\n" % len(piece) + piece + b"\r\n") * 65
    found: dict[str, Callable[[], int]] = {
        name: partial(post, content, JSON) for name, content in bad_json().items()
    }
    found |= {name: partial(post, content) for name, content in bad_arrow().items()}
    found |= {
        "another kind": partial(post, good(), "text/plain"),
        "another packing": partial(post, good(), Content_Encoding="br"),
        "a bomb of gzip": partial(
            post, gzip.compress(bytes(1 << 30), 9)[: 3 << 20], Content_Encoding="gzip"
        ),
        "no gzip": partial(post, good(), Content_Encoding="gzip"),
        "a key used again": partial(post, good(1), Idempotency_Key="first"),
        "no token": lambda: (
            httpx.post(f"{client.base_url}{EXAMPLES}", content=good(), trust_env=False).status_code
        ),
        "another tenant's token": partial(raw, str(client.base_url), other, "Content-Length: 0"),
        "a length that no body has": partial(
            raw, str(client.base_url), token, "Content-Length: 10000000000"
        ),
        "a length that is none": partial(raw, str(client.base_url), token, "Content-Length: -1"),
        "pieces that are none": partial(
            raw, str(client.base_url), token, "Transfer-Encoding: chunked", sent=b"zzz\r\n"
        ),
        "pieces without an end": flooded,
    }
    return found


def slow(address: str, token: str) -> float:
    """Return how long a body in pieces was waited for of which one piece came."""
    start = time.perf_counter()
    status = raw(address, token, "Transfer-Encoding: chunked", sent=b"5\r\nhello\r\n")
    return time.perf_counter() - start if status == 408 else float("inf")


def measure(*, quick: bool, seed: int) -> list[Bar]:
    """Send all of it, and time the answers."""
    with tempfile.TemporaryDirectory() as where:
        folder = Path(where) / "trainer"
        mine, other = tokens_of(folder, ("a", "t"), ("b", "other"))
        with Service(folder, *OPTIONS) as service:
            address = service.address()
            until_ready(address)
            with client_of(mine, address, 300.0) as client:
                client.post("/v1/models", json={"name": "m", "bits": BITS}).raise_for_status()
                sent = {"Content-Type": ARROW, "Idempotency-Key": "first"}
                client.post(EXAMPLES, content=good(seed), headers=sent).raise_for_status()
                before = state(client)
                taken, wrong = timed(cases(client, other, mine), 1 if quick else RUNS)
                waited = slow(address, mine)
                same = state(client) == before
    worst = max(taken, key=lambda name: taken[name])
    return [
        Bar(
            name="slowest refusal of bad input, seconds",
            value=taken[worst],
            goal=1,
            side="at most",
            why=f"of {len(taken)} cases: {worst}",
        ),
        Bar(
            name="bad input that isn't refused by a 4xx, or changes the model",
            value=len(wrong) + (not same),
            goal=0,
            side="at most",
            why=", ".join(wrong),
        ),
        Bar(
            name="seconds until a body is refused that stops coming",
            value=waited,
            goal=6,
            side="at most",
            why="nothing but time tells it from a slow one",
        ),
    ]


def timed(found: dict[str, Callable[[], int]], runs: int) -> tuple[dict[str, float], list[str]]:
    """Return the seconds of each case, and those that weren't refused as they should be."""
    taken, wrong = {}, []
    for name, send in found.items():
        seconds = []
        for _ in range(runs):
            start = time.perf_counter()
            status = send()
            seconds.append(time.perf_counter() - start)
            if not 400 <= status < 500:
                wrong.append(f"{name}: {status}")
        taken[name] = min(seconds)
    for name, each in sorted(taken.items(), key=lambda it: -it[1])[:5]:
        say(f"  {each:.3f} s  {name}")
    return taken, wrong


def state(client: httpx.Client) -> tuple[object, ...]:
    """Return the digest and what is logged, when all of it is learned."""
    while True:
        told = client.get("/v1/models/m", params={"digest": True}).json()
        if told["learned"] == told["logged"]:
            return told["digest"], told["logged"]
