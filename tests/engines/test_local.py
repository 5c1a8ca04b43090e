from __future__ import annotations

import threading
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask import HalfmaskError
from halfmask.engines import LocalEngine, map_in_order, worker_count


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


@given(st.lists(st.integers(), min_size=1), st.integers(min_value=1, max_value=4))
def test_a_fold_keeps_the_order(batches, workers):
    """Joining texts isn't commutative: one pair in another order would show."""
    found = LocalEngine(workers).fold(batches, lambda n: f"{n},", str.__add__)

    assert found == "".join(f"{n}," for n in batches)


def test_a_fold_of_nothing_is_an_error():
    with pytest.raises(HalfmaskError, match="no batch"):
        LocalEngine().fold([], str, str.__add__)


@pytest.mark.parametrize(
    "run",
    [
        lambda engine, batches, apply: list(engine.map(batches, apply)),
        lambda engine, batches, apply: engine.fold(batches, apply, str.__add__),
    ],
    ids=["map", "fold"],
)
def test_the_first_error_in_order_is_raised_once(run):
    """The second batch fails only after the third has: its error comes first all the same."""
    third_failed = threading.Event()

    def fail(n):
        if n == 2:
            third_failed.wait(timeout=30)
        if n == 3:
            third_failed.set()
        if n > 1:
            raise ValueError(str(n))
        return ""

    with pytest.raises(ValueError, match="2") as caught:
        run(LocalEngine(3), [1, 2, 3, 4], fail)
    assert caught.value.__context__ is None


def test_an_error_of_the_source_is_raised_and_leaves_no_thread():
    before = threading.active_count()

    def broken():
        yield 1
        raise HalfmaskError("The file has changed.")

    with pytest.raises(HalfmaskError, match="has changed"):
        LocalEngine(2).fold(broken(), str, str.__add__)
    assert threading.active_count() == before


def test_who_stops_early_leaves_no_thread():
    before = threading.active_count()
    results = LocalEngine(3).map(range(100), str)

    assert next(results) == "0"
    assert threading.active_count() > before
    results.close()  # type: ignore[attr-defined] # a generator

    assert threading.active_count() == before


def test_a_batch_is_let_go_before_the_next_one_is_read():
    """With one worker a table needs the memory of one batch."""
    alive: list[weakref.ref[Held]] = []

    def batches():
        for _ in range(4):
            assert not [ref for ref in alive if ref() is not None]
            held = Held()
            alive.append(weakref.ref(held))
            yield held
            del held

    assert LocalEngine(1).fold(batches(), lambda _: 1, int.__add__) == 4


class Held:
    """A batch that can be watched."""
