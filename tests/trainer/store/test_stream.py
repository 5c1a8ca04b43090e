"""Untrusted bytes are rows, or are refused in our words."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask import DataError
from halfmask.hashing import HashedRows
from halfmask.trainer.store import RefusedError, bytes_of, unpack

MOST = 1 << 20


def rows(n=5):
    rng = np.random.default_rng(0)
    return HashedRows(
        indices=rng.integers(0, 64, (n, 3)).astype(np.uint32),
        bits=6,
        values=rng.random((n, 3), np.float32),
        labels=rng.integers(0, 2, n).astype(np.int32),
        weights=rng.random(n, np.float32),
    )


def packed(compression, part=None):
    sink, batch = pa.BufferOutputStream(), (part or rows()).to_batch()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, batch.schema, options=options) as stream:
        stream.write_batch(batch)
        stream.write_batch(batch)
    return bytes(sink.getvalue())


GOOD = {kind: packed(kind) for kind in (None, "lz4", "zstd")}


@pytest.mark.parametrize("kind", GOOD)
def test_rows_come_back(kind):
    found = unpack(GOOD[kind], most=MOST)

    assert found.rows == 10
    assert all(part.equals(rows()) for part in found.parts)
    assert (found.inflated > 0) == (kind is not None)


@pytest.mark.slow
@settings(max_examples=600)
@given(
    st.sampled_from(list(GOOD)),
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=5),
    st.floats(0.5, 1),
)
def test_changed_bytes_are_rows_or_refused(kind, changes, kept):
    bad = bytearray(GOOD[kind])
    for place, value in changes:
        bad[int(place * len(bad))] = value

    for sent in (bytes(bad), bytes(bad[: int(kept * len(bad))])):
        try:
            found = unpack(sent, most=MOST)
        except (DataError, RefusedError):
            continue
        assert found.rows > 0


@given(st.binary(max_size=300))
def test_any_bytes_are_refused(sent):
    with pytest.raises(DataError):
        unpack(sent, most=MOST)


@pytest.mark.parametrize("kind", ["lz4", "zstd"])
def test_what_would_need_too_much_memory_is_refused_before_it_is_unpacked(kind):
    zeros = HashedRows(indices=np.zeros((1, 4_000_000), np.uint32), bits=6)
    sent = packed(kind, zeros)

    with pytest.raises(RefusedError) as caught:
        unpack(sent, most=MOST)
    assert caught.value.status == 413
    with pytest.raises(RefusedError):
        unpack(sent, most=1 << 30)


def test_what_is_written_is_read():
    assert unpack(bytes_of(rows()), most=MOST).parts[0].equals(rows())
