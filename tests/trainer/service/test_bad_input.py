"""Whatever is sent, the answer is a 4xx, no timeout, and the weights stay what they were."""

from __future__ import annotations

import gzip
import json
import random
import socket
import time

import numpy as np
import pyarrow as pa
import pytest

from halfmask.hashing import HashedRows
from halfmask.trainer.store import bytes_of
from trainer.service.stage import (  # type: ignore[import-not-found] # beside, no package
    ARROW,
    BITS,
    body,
    hashed,
    refused,
)

JSON = "application/json"
CANARY = "c4n4ry"


def text(**found):
    return json.dumps({"rows": [[1, 2]], "labels": [1], **found}).encode()


BAD_JSON = {
    "bad JSON": b'{"rows": [[1, 2]',
    "no JSON": CANARY.encode(),
    "no text": b"\xff\xfe",
    "nothing": b"",
    "a list": b"[]",
    "no rows": b'{"rows": [], "labels": []}',
    "rows missing": b'{"labels": [1]}',
    "too few labels": text(labels=[]),
    "too many labels": text(labels=[1, 0]),
    "no labels": b'{"rows": [[1]]}',
    "an index out of range": text(rows=[[1 << BITS]]),
    "a negative index": text(rows=[[-1]]),
    "a float index": text(rows=[[1.0]]),
    "a true index": b'{"rows": [[true]], "labels": [1]}',
    "an index of text": text(rows=[[CANARY]]),
    "a huge index": b'{"rows": [[%s]], "labels": [1]}' % (b"9" * 5_000),
    "a NaN label": b'{"rows": [[1]], "labels": [NaN]}',
    "an infinite label": b'{"rows": [[1]], "labels": [Infinity]}',
    "a label of infinite size": b'{"rows": [[1]], "labels": [1e999]}',
    "a label of 2": text(labels=[2]),
    "a label of -1": text(labels=[-1]),
    "a label of 0.5": text(labels=[0.5]),
    "an infinite value": text(values=[[1e39, 1]]),
    "values of other lengths": text(values=[[1]]),
    "a negative weight": text(weights=[-1]),
    "a field twice": b'{"rows": [[1]], "rows": [[1]], "labels": [1]}',
    "another field": text(**{CANARY: 1}),
    "deep nesting": b'{"rows": ' + b"[" * 100_000,
    "rows of rows": text(rows=[[[1]]]),
    "too long": b'{"rows": [[' + b"1," * 600_000 + b'1]], "labels": [1]}',
}


def packed(batch, compression=None):
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, batch.schema, options=options) as stream:
        stream.write_batch(batch)
    return bytes(sink.getvalue())


def changed(**columns):
    """Good rows with some columns replaced."""
    batch = hashed(3).to_batch()
    arrays = {name: batch.column(name) for name in batch.schema.names} | columns
    found = batch.schema.metadata
    return packed(pa.RecordBatch.from_pydict(arrays).replace_schema_metadata(found))


def bomb():
    zeros = HashedRows(
        indices=np.zeros((40_000, 5), np.uint32), labels=np.zeros(40_000, np.int32), bits=BITS
    )
    return packed(zeros.to_batch(), "zstd")


WIDE = pa.array([[1, 1 << BITS]] * 3, pa.list_(pa.uint32()))
BAD_ARROW = {
    "nothing": b"",
    "no Arrow": CANARY.encode() * 100,
    "the first half": body()[: len(body()) // 2],
    "without its end": body()[:-8],
    "something behind": body() + b"more",
    "other bits": body(bits=BITS + 1),
    "no labels": body(labels=False),
    "labels of numbers": changed(y=pa.array([0.0, 1.0, 0.0], pa.float32())),
    "a label of 2": changed(y=pa.array([0, 1, 2], pa.int32())),
    "a missing label": changed(y=pa.array([0, 1, None], pa.int32())),
    "an index out of range": changed(i=WIDE),
    "indices of 64 bits": changed(i=pa.array([[1]] * 3, pa.list_(pa.uint64()))),
    "negative indices": changed(i=pa.array([[-1]] * 3, pa.list_(pa.int32()))),
    "floats for indices": changed(i=pa.array([[1.0]] * 3, pa.list_(pa.float32()))),
    "a name of a column": changed(**{CANARY: pa.array([1, 2, 3])}),
    "weights that are NaN": changed(w=pa.array([1.0, float("nan"), 1.0], pa.float32())),
    "a bomb": bomb(),
    "300 batches": b"",
    "too long": b"x" * ((1 << 20) + 1),
}


def many_batches():
    sink, batch = pa.BufferOutputStream(), hashed(1).to_batch()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        for _ in range(300):
            stream.write_batch(batch)
    return bytes(sink.getvalue())


BAD_ARROW["300 batches"] = many_batches()


class Unchanged:
    """Fails where the weights change, or an answer comes by a timeout."""

    def __init__(self, model):
        self.model = model
        model.learn(body(), key="first")
        self.before = model.digest()

    def __enter__(self):
        self.start = time.monotonic()
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            # Before the first of the service's own timeouts: nothing was waited for. How long it
            # takes on a quiet machine is a bar of benchmarks/reliability/trainer.py.
            options = self.model.service.options
            own = (options.stall_seconds, options.head_seconds, options.body_seconds)
            assert time.monotonic() - self.start < min(own)
            assert self.model.digest() == self.before
            assert self.model.ask("GET", "/v1/models/m").json()["logged"] == 1


@pytest.fixture
def unchanged(model):
    with Unchanged(model) as found:
        yield found.model


@pytest.mark.mostly_slow
@pytest.mark.parametrize("case", BAD_JSON)
def test_json_that_is_no_examples(unchanged, case):
    answer = unchanged.learn(BAD_JSON[case], kind=JSON)

    assert answer.status_code in {400, 413, 422}
    refused(answer, answer.status_code)
    assert CANARY not in answer.text


@pytest.mark.parametrize("case", BAD_ARROW)
def test_arrow_that_is_no_examples(unchanged, case):
    answer = unchanged.learn(BAD_ARROW[case])

    assert answer.status_code in {413, 422}
    refused(answer, answer.status_code)
    assert CANARY not in answer.text


@pytest.mark.parametrize("kind", ["", "text/plain", "application/octet-stream", ARROW[:-1]])
def test_another_kind_of_body(unchanged, kind):
    refused(unchanged.learn(body(), kind=kind), 415, "media-type")


def test_another_packing(unchanged):
    refused(unchanged.learn(body(), **{"Content-Encoding": "br"}), 415, "media-type")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (gzip.compress(bytes(100 << 20), mtime=0), 413),
        (gzip.compress(bytes(900_000), mtime=0), 413),
        (gzip.compress(body(), mtime=0)[:-3], 400),
        (gzip.compress(body(), mtime=0) + b"more", 400),
        (body(), 400),
        (b"", 400),
    ],
)
def test_gzip_that_is_none_or_a_bomb(unchanged, sent, status):
    refused(unchanged.learn(sent, **{"Content-Encoding": "gzip"}), status)


def test_a_body_in_pieces_that_is_too_long(unchanged):
    """Without a length, it is refused as soon as it is too long."""

    def endless():
        for _ in range(64):
            yield bytes(1 << 16)

    refused(unchanged.learn(endless()), 413, "too-large")


def raw(trainer, head, sent=b""):
    """Send bytes and return the status line of the answer."""
    port = trainer.client.base_url.port
    token = trainer.everything["Authorization"]
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        lines = [*head, "Host: x", f"Authorization: {token}", f"Content-Type: {ARROW}", "", ""]
        connection.sendall("\r\n".join(lines).encode() + sent)
        return connection.recv(1 << 16).split(b"\r\n")[0]


EXAMPLES = "POST /v1/models/m/examples HTTP/1.1"


def test_a_length_that_no_body_has_is_refused_before_it_comes(unchanged):
    found = raw(unchanged, [EXAMPLES, "Content-Length: 10000000000"])

    assert b" 413 " in found


@pytest.mark.parametrize(
    "head",
    [
        [EXAMPLES, "Content-Length: -1"],
        [EXAMPLES, "Content-Length: 1", "Content-Length: 2"],
        [EXAMPLES, "Content-Length: x"],
        ["POST /v1/models/m/examples"],
        [EXAMPLES, "Transfer-Encoding: gzip"],
    ],
)
def test_heads_that_are_no_http(unchanged, head):
    assert b" 400 " in raw(unchanged, head) or b" 501 " in raw(unchanged, head)


@pytest.mark.parametrize("piece", [b"zzz\r\n", b"-1\r\n", b"5\r\nab\r\n\r\n0\r\n\r\n"])
def test_pieces_that_are_none(unchanged, piece):
    assert b" 400 " in raw(unchanged, [EXAMPLES, "Transfer-Encoding: chunked"], piece)


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/models/", "/v2/models", "/v1/models/m/other"])
def test_there_is_nothing_elsewhere(trainer, path):
    refused(trainer.ask("GET", path), 404, "not-found")


def test_another_method(model):
    answer = model.ask("PUT", "/v1/models/m")

    refused(answer, 405, "method")
    assert "GET" in answer.headers["allow"]


@pytest.mark.slow
def test_arrow_with_bytes_changed_is_refused_or_learned_but_never_fails(model):
    """Each of 150 bodies with bytes changed gets an answer that says why, or is rows after all."""
    rng, good = random.Random(5), bytes_of(hashed(4, labels=False))
    for number in range(150):
        bad = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            bad[rng.randrange(len(bad) // 2 if number % 2 else len(bad))] = rng.randrange(256)
        answer = model.predict(bytes(bad))

        assert answer.status_code in {200, 413, 422}, answer.text
    assert model.client.get("/health").status_code == 200
