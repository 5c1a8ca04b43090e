from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask import HalfmaskError
from halfmask.engines import map_in_order, worker_count


@given(st.lists(st.integers()), st.integers(min_value=1, max_value=4))
def test_results_come_in_the_order_of_the_batches(batches, workers):
    assert [n + 1 for n in batches] == list(map_in_order(batches, lambda n: n + 1, workers=workers))


def test_no_more_batches_are_read_ahead_than_there_are_workers():
    read: list[int] = []

    def batches():
        for number in range(10):
            read.append(number)
            yield number

    results = map_in_order(batches(), lambda n: n, workers=2)

    assert next(results) == 0
    assert len(read) <= 2


def test_batches_run_side_by_side():
    both_are_there = threading.Barrier(2, timeout=30)

    results = list(map_in_order([1, 2], lambda _: both_are_there.wait(), workers=2))

    assert sorted(results) == [0, 1]


def test_what_a_batch_raises_is_raised_where_its_result_is_asked_for():
    results = map_in_order([1, 0, 1], lambda n: 1 // n, workers=1)

    assert next(results) == 1
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_no_workers_is_an_error():
    with pytest.raises(HalfmaskError, match="workers"):
        list(map_in_order([1], lambda n: n, workers=0))


def test_there_is_at_least_one_worker():
    assert worker_count() >= 1
