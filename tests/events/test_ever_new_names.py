"""Fields whose names are ever new: what is known of them doesn't grow with the stream."""

from __future__ import annotations

import json

import numpy as np
import pytest

from events.running import transform_of  # type: ignore[import-not-found] # beside
from halfmask import DataError
from halfmask.events.block import _naming
from halfmask.events.block._buffers import ArrayLease
from halfmask.events.running import _transforming

STAR = {"path": "a.*", "names": "hash"}


def line(block, count=100):
    """Return an event with fields that no other block has."""
    return (
        json.dumps({"a": {f"n{block}-{i}": i for i in range(count)}, "b": block}).encode() + b"\n"
    )


@pytest.mark.slow
def test_places_are_forgotten(monkeypatch):
    """Entries are counted: of places, and of shapes; the named path and the bytes stay."""
    monkeypatch.setattr(_transforming, "MOST_PLACES", 300)
    monkeypatch.setattr(_naming, "_MOST_NAMES", 400)
    rules = [{**STAR, "do": "keep"}, {"path": "b", "do": "keep"}]
    transform, other = transform_of(rules), transform_of(rules)
    first = other.apply(line(0))

    for block in range(40):
        assert json.loads(transform.apply(line(block)))["b"] == block
        assert len(transform._rules) <= 300 + 1
        assert sum(map(len, transform._naming._shapes)) <= 400
    assert transform.apply(line(0)) == first
    assert not json.loads(transform.state())["rules"]


def test_numbers_stay_known_and_have_a_limit(monkeypatch):
    """What a sequence gave is never forgotten; beyond a limit that is said."""
    monkeypatch.setattr(_transforming, "MOST_PLACES", 300)
    monkeypatch.setattr(_transforming, "MOST_NUMBERED", 1_000)
    transform = transform_of([{**STAR, "do": "sequence", "scope": "stream"}])
    first = transform.apply(line(0))

    for block in range(1, 11):
        transform.apply(line(block))
    lines = b"".join(line(block) for block in range(11, 15))
    with pytest.raises(DataError, match="more than 1,000 places") as caught:
        transform.apply(lines)
    assert "n1" not in str(caught.value)
    again = transform_of([{**STAR, "do": "sequence", "scope": "stream"}])
    assert again.apply(line(0)) == first


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 300])
def test_memory_of_a_block_grows_with_its_fields_alone(monkeypatch, rows):
    """Bytes are counted: fields that a block finds one by one cost each their own."""
    taken = []
    array = ArrayLease.array

    def counted(lease, count, kind):
        taken.append(count * np.dtype(kind).itemsize)
        return array(lease, count, kind)

    monkeypatch.setattr(ArrayLease, "array", counted)

    def bytes_of(names):
        taken.clear()
        lines = b"".join(
            json.dumps({"a": {f"n{i}-{j}": j for j in range(names // 10)}}).encode() + b"\n"
            for i in [*range(10)] * (max(rows, 10) // 10)
        )
        block = transform_of([{**STAR, "do": "keep"}]).scan(lines)
        assert len(block.paths) == names
        return sum(taken) - 2 * len(lines)

    # 17 bytes a slot, twice as many slots as there may be rows, and as many again left behind.
    assert bytes_of(1_600) < 1_600 * 17 * (64 + 2 * rows) * 8
    assert bytes_of(1_600) < 6 * bytes_of(400)
