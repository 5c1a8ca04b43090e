"""Readers share, the writer is alone, and neither waits for more than the other's next turn."""

from __future__ import annotations

import threading
import time

import pytest

from halfmask.trainer.store._state import RWLock


def started(function):
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread


def until(condition):
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.001)


def test_readers_read_at_the_same_time():
    lock, both = RWLock(), threading.Barrier(2, timeout=10)

    def read():
        with lock.reading():
            both.wait()

    threads = [started(read) for _ in range(2)]
    for thread in threads:
        thread.join(10)

    assert not both.broken


def test_a_writer_is_alone():
    """Two numbers that are written one after the other are never read apart."""
    lock, pair, torn = RWLock(), [0, 0], []

    def read():
        for _ in range(300):
            with lock.reading():
                first = pair[0]
                time.sleep(0)
                if pair[1] != first:
                    torn.append(first)

    threads = [started(read) for _ in range(3)]
    for number in range(1, 300):
        with lock.writing():
            pair[0] = number
            time.sleep(0)
            pair[1] = number
    for thread in threads:
        thread.join(10)

    assert torn == []


@pytest.mark.parametrize("turn", range(3))
def test_whoever_waits_to_read_goes_before_the_next_write(turn):
    lock, order = RWLock(), []

    def read():
        with lock.reading():
            order.append("read")

    with lock.writing():
        reader = started(read)
        until(lambda: lock._waiting == 1)
    with lock.writing():
        order.append("write")
    reader.join(10)

    assert order == ["read", "write"], turn


def test_a_writer_that_waits_goes_before_whoever_comes_to_read():
    lock, order, inside, out = RWLock(), [], threading.Event(), threading.Event()

    def first():
        with lock.reading():
            inside.set()
            out.wait(10)

    def write():
        with lock.writing():
            order.append("write")

    def second():
        with lock.reading():
            order.append("read")

    threads = [started(first)]
    inside.wait(10)
    threads.append(started(write))
    until(lambda: lock._writer)
    threads.append(started(second))
    until(lambda: lock._waiting == 1)
    assert order == []
    out.set()
    for thread in threads:
        thread.join(10)

    assert order == ["write", "read"]


def test_an_error_in_a_turn_ends_it():
    lock = RWLock()

    for turn in (lock.reading, lock.writing):
        with pytest.raises(KeyError), turn():
            raise KeyError
    with lock.writing():
        pass
