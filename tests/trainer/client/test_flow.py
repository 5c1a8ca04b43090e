"""Work in threads: in order, few at once, none after a failure, none left behind."""

from __future__ import annotations

import threading

import pytest

from halfmask.trainer.client._flow import flow


@pytest.mark.parametrize("at_once", [1, 3])
def test_results_are_in_the_order_of_the_items(at_once):
    assert list(flow(range(50), lambda n, _: n * n, at_once=at_once)) == [n * n for n in range(50)]


def test_no_more_are_under_way_than_was_said():
    under_way, most, lock = [0], [0], threading.Lock()

    def work(_, stopped):
        with lock:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
        stopped.wait(0.001)
        with lock:
            under_way[0] -= 1
        return 1

    assert sum(flow(range(60), work, at_once=3)) == 60
    assert 1 <= most[0] <= 3


def test_none_is_begun_after_one_that_failed():
    begun = []

    def work(n, _):
        begun.append(n)
        if n == 3:
            raise ValueError
        return n + 1

    with pytest.raises(ValueError, match=r"^$"):
        list(flow(range(100), work, at_once=1))
    assert begun == [0, 1, 2, 3]


def test_a_failure_ahead_is_the_error_that_is_raised():
    both = threading.Barrier(2, timeout=20)

    def work(n, stopped):
        both.wait()
        if n == 0:
            return stopped.wait(20)
        raise KeyError

    with pytest.raises(KeyError):
        list(flow(range(2), work, at_once=2))


def test_who_stops_asking_leaves_nothing_under_way():
    ended = []

    def work(n, stopped):
        if n:
            stopped.wait(20)
        ended.append(n)
        return True

    found = flow(range(10), work, at_once=2)
    assert next(found)
    found.close()

    assert threading.active_count() == 1 or not any(
        each.name.startswith("ThreadPoolExecutor") for each in threading.enumerate()
    )
    assert len(ended) <= 3


def test_an_error_of_the_source_is_raised():
    def source():
        yield 1
        raise OSError

    with pytest.raises(OSError, match=r"^$"):
        list(flow(source(), lambda n, _: n, at_once=2))
