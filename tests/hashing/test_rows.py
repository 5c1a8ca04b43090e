"""Hashed rows: what is valid, what is refused, and the same rows behind every wire."""

from __future__ import annotations

import io
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import DataError, ParameterError
from halfmask.hashing import HashedRows


def over_the_wire(rows):
    sink = io.BytesIO()
    batch = rows.to_batch()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    with pa.ipc.open_stream(sink.getvalue()) as stream:
        return HashedRows.from_batch(stream.read_next_batch())


@st.composite
def some_rows(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, bits = draw(st.integers(0, 6)), draw(st.integers(1, 31))
    found = {"bits": bits}
    if draw(st.booleans()):
        shape: tuple[int, ...] = n, draw(st.integers(1, 4))
    else:
        found["indptr"] = np.concatenate([[0], np.cumsum(rng.integers(0, 4, n))]).astype(np.int64)
        shape = (int(found["indptr"][-1]),)
    found["indices"] = rng.integers(0, 2**bits, shape, dtype=np.uint32)
    if draw(st.booleans()):
        found["values"] = rng.normal(size=shape).astype(np.float32)
    kind = draw(st.sampled_from(["none", "number", 2, 5]))
    if kind == "number":
        found["labels"] = rng.normal(size=n).astype(np.float32)
    elif kind != "none":
        found["labels"] = rng.integers(0, kind, n).astype(np.int32)
        found["classes"] = kind
    if draw(st.booleans()):
        found["weights"] = rng.random(n).astype(np.float32)
    return HashedRows(**found)


def naive(rows):
    """Return each row as a sorted list of its indices and values."""
    bounds, indices, values = rows.flat()
    values = np.ones(len(indices), np.float32) if values is None else values
    return [
        sorted(zip(indices[a:b].tolist(), values[a:b].tolist(), strict=True))
        for a, b in pairwise(bounds)
    ]


@given(rows=some_rows())
def test_the_wire_gives_back_what_was_sent(rows):
    assert over_the_wire(rows).equals(rows)
    assert over_the_wire(rows).label_kind == rows.label_kind


@given(rows=some_rows(), start=st.integers(-7, 7), stop=st.integers(-7, 7))
def test_slices_are_those_of_the_rows(rows, start, stop):
    some = rows.slice(start, stop)

    assert naive(some) == naive(rows)[start:stop]
    assert over_the_wire(some).equals(some)
    if start >= 0 and stop >= start:  # a slice of a batch is one of the rows, too
        sliced = rows.to_batch().slice(start, max(0, stop - start))
        assert HashedRows.from_batch(sliced).equals(some)


@pytest.mark.slow
@given(rows=some_rows(), cuts=st.lists(st.integers(0, 6), max_size=3))
def test_parts_are_joined_in_order(rows, cuts):
    bounds = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    parts = [rows.slice(a, b) for a, b in pairwise(bounds)]

    assert HashedRows.concat(parts).equals(rows)


def test_parts_of_different_widths_are_joined():
    one = HashedRows(indices=np.array([[1, 2]], np.uint32), bits=3)
    other = HashedRows(indices=np.array([[4]], np.uint32), bits=3)

    assert naive(HashedRows.concat([one, other, one])) == [
        [(1, 1.0), (2, 1.0)], [(4, 1.0)], [(1, 1.0), (2, 1.0)],
    ]  # fmt: skip


def test_parts_of_different_forms_are_not_joined():
    one = HashedRows(indices=np.array([[1]], np.uint32), bits=3)
    other = HashedRows(indices=np.array([[1]], np.uint32), bits=4)

    with pytest.raises(ParameterError, match="bits"):
        HashedRows.concat([one, other])
    with pytest.raises(ParameterError, match="at least one"):
        HashedRows.concat([])


@pytest.mark.slow
@given(rows=some_rows().filter(lambda it: it.bits < 8))
def test_a_matrix_adds_up_what_is_there_twice(rows):
    dense = rows.to_csr().toarray()

    expected = np.zeros((len(rows), 2**rows.bits), np.float32)
    for row, features in enumerate(naive(rows)):
        for index, value in features:
            expected[row, index] += np.float32(value)
    np.testing.assert_allclose(dense, expected, rtol=1e-5, atol=1e-6)


def test_nobody_writes_into_rows():
    indices = np.array([[1]], np.uint32)
    rows = HashedRows(indices=indices, bits=1)

    with pytest.raises(ValueError, match="read-only"):
        rows.indices[0, 0] = 0
    indices[0, 0] = 0  # the caller's own array stays theirs


GOOD: dict[str, Any] = {"indices": np.array([[1, 2], [3, 0]], np.uint32), "bits": 2}
FLAT: dict[str, Any] = {"indices": np.array([1, 2], np.uint32), "bits": 2}


@pytest.mark.parametrize(
    "wrong",
    [
        GOOD | {"indices": GOOD["indices"].astype(np.int64)},
        GOOD | {"indices": GOOD["indices"].tolist()},
        GOOD | {"indices": np.array([[4]], np.uint32)},
        GOOD | {"indices": np.zeros((2, 0), np.uint32)},
        FLAT,
        FLAT | {"indptr": np.array([0, 1])},
        FLAT | {"indptr": np.array([1, 2])},
        FLAT | {"indptr": np.array([0, 2, 1, 2])},
        FLAT | {"indptr": np.array([0, 2], np.int32)},
        FLAT | {"indptr": np.zeros(0, np.int64)},
        GOOD | {"values": np.ones(2, np.float32)},
        GOOD | {"values": np.ones((2, 2))},
        GOOD | {"values": np.full((2, 2), np.nan, np.float32)},
        GOOD | {"labels": np.array([0, 2], np.int32)},
        GOOD | {"labels": np.array([0, -1], np.int32)},
        GOOD | {"labels": np.array([0], np.int32)},
        GOOD | {"labels": np.array([0, np.inf], np.float32)},
        GOOD | {"labels": np.array([0, 1])},
        GOOD | {"weights": np.array([1, -1], np.float32)},
        GOOD | {"weights": np.array([1, np.nan], np.float32)},
        GOOD | {"weights": np.array([[1], [1]], np.float32)},
    ],
    ids=range(21),
)
def test_what_is_no_row_is_refused(wrong):
    with pytest.raises(DataError):
        HashedRows(**wrong)


@pytest.mark.parametrize("wrong", [{"bits": 0}, {"bits": 32}, {"bits": 2.5}, {"classes": 1}])
def test_bits_and_classes_have_ranges(wrong):
    with pytest.raises(ParameterError):
        HashedRows(**(GOOD | wrong))


SAID = {b"halfmask.format": b"hashed-rows/1", b"halfmask.bits": b"2", b"halfmask.labels": b"none"}
LISTS = pa.array([[1, 2], [3, 0]], pa.list_(pa.uint32(), 2))


def batch(said=None, **columns):
    fields = columns or {"i": LISTS}
    return pa.record_batch(fields).replace_schema_metadata(SAID | (said or {}))


def rigged(*offsets):
    """Return a batch that came over a wire on which its offsets were altered."""
    sink = io.BytesIO()
    good = batch(i=pa.array([[1], [2, 3, 1]], pa.list_(pa.uint32())))
    with pa.ipc.new_stream(sink, good.schema) as stream:
        stream.write_batch(good)
    was, new = (np.array(it, np.int32).tobytes() for it in ((0, 1, 4), offsets))
    assert sink.getvalue().count(was) == 1
    with pa.ipc.open_stream(sink.getvalue().replace(was, new)) as stream:
        return stream.read_next_batch()


BAD_BATCHES = {
    "no batch": "i",
    "no metadata": pa.record_batch({"i": LISTS}),
    "another format": batch({b"halfmask.format": b"hashed-rows/2"}),
    "bits of no number": batch({b"halfmask.bits": b"two"}),
    "bits of too many digits": batch({b"halfmask.bits": b"1" * 5000}),
    "no bits": batch({b"halfmask.bits": b"0"}),
    "too many bits": batch({b"halfmask.bits": b"32"}),
    "an index beyond": batch({b"halfmask.bits": b"1"}),
    "labels said and not there": batch({b"halfmask.labels": b"binary"}),
    "labels there and not said": batch(i=LISTS, y=pa.array([0, 1], pa.int32())),
    "labels of no kind": batch({b"halfmask.labels": b"classes:2"}),
    "labels of too many kinds": batch(
        {b"halfmask.labels": b"classes:9999999"}, i=LISTS, y=pa.array([0, 1], pa.int32())
    ),
    "labels of another type": batch(
        {b"halfmask.labels": b"binary"}, i=LISTS, y=pa.array([0, 1], pa.int64())
    ),
    "labels missing": batch(
        {b"halfmask.labels": b"binary"}, i=LISTS, y=pa.array([0, None], pa.int32())
    ),
    "a label beyond": batch(
        {b"halfmask.labels": b"classes:3"}, i=LISTS, y=pa.array([0, 3], pa.int32())
    ),
    "no field i": batch(w=pa.array([1, 1], pa.float32())),
    "another field": batch(i=LISTS, x=pa.array([1, 2])),
    "another order": batch(w=pa.array([1, 1], pa.float32()), i=LISTS),
    "numbers, not lists": batch(i=pa.array([1, 2], pa.uint32())),
    "signed": batch(i=pa.array([[1], [2]], pa.list_(pa.int32()))),
    "long lists": batch(i=pa.array([[1], [2]], pa.large_list(pa.uint32()))),
    "a missing list": batch(i=pa.array([[1], None], pa.list_(pa.uint32()))),
    "a missing index": batch(i=pa.array([[1], [None]], pa.list_(pa.uint32()))),
    "a missing fixed list": batch(i=pa.array([[1], None], pa.list_(pa.uint32(), 1))),
    "lists of no length": batch(i=pa.array([[], []], pa.list_(pa.uint32(), 0))),
    "values of other lists": batch(
        i=pa.array([[1], [2, 3]], pa.list_(pa.uint32())),
        v=pa.array([[1, 1], [2]], pa.list_(pa.float32())),
    ),
    "values of another layout": batch(
        i=pa.array([[1], [2]], pa.list_(pa.uint32())),
        v=pa.array([[1], [2]], pa.list_(pa.float32(), 1)),
    ),
    "values of another width": batch(i=LISTS, v=pa.array([[1], [2]], pa.list_(pa.float32(), 1))),
    "an infinite value": batch(
        i=LISTS, v=pa.array([[1, np.inf], [2, 2]], pa.list_(pa.float32(), 2))
    ),
    "a negative weight": batch(i=LISTS, w=pa.array([1, -1], pa.float32())),
    "offsets beyond": rigged(0, 1, 2**30),
    "offsets that fall": rigged(0, 2, 1),
    "negative offsets": rigged(-5, 1, 2),
}


@pytest.mark.parametrize("name", BAD_BATCHES)
def test_a_stranger_s_batch_is_refused(name):
    with pytest.raises(DataError):
        HashedRows.from_batch(BAD_BATCHES[name])


@given(data=st.data())
def test_damaged_streams_are_rows_or_errors(data):
    """Any byte of a stream may be another: what comes is an error of ours or of Arrow, or rows."""
    rows = HashedRows(
        indices=np.arange(12, dtype=np.uint32) % 8, indptr=np.array([0, 5, 5, 12]), bits=3
    )
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, rows.to_batch().schema) as stream:
        stream.write_batch(rows.to_batch())
    sent = bytearray(sink.getvalue())
    for _ in range(data.draw(st.integers(1, 3))):
        sent[data.draw(st.integers(0, len(sent) - 1))] = data.draw(st.integers(0, 255))

    try:
        with pa.ipc.open_stream(bytes(sent)) as stream:
            found = [HashedRows.from_batch(it) for it in stream]
    except (DataError, pa.ArrowException, OSError, ValueError, MemoryError):
        return
    assert all(isinstance(it, HashedRows) for it in found)
