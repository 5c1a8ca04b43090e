"""Readers share, the writer is alone, and neither waits for more than the other's next turn."""

from __future__ import annotations

import threading
import time

import pytest

from halfmask.trainer.store._turns import Turns


def started(function):
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread


def until(told):
    end = time.monotonic() + 10
    while not told():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.001)


def test_readers_read_at_the_same_time():
    turns, both = Turns(), threading.Barrier(2, timeout=10)

    def read():
        with turns.reading():
            both.wait()

    threads = [started(read) for _ in range(2)]
    for thread in threads:
        thread.join(10)

    assert not both.broken


def test_a_writer_is_alone():
    """Two numbers that are written one after the other are never read apart."""
    turns, pair, torn = Turns(), [0, 0], []

    def read():
        for _ in range(300):
            with turns.reading():
                first = pair[0]
                time.sleep(0)
                if pair[1] != first:
                    torn.append(first)

    threads = [started(read) for _ in range(3)]
    for number in range(1, 300):
        with turns.writing():
            pair[0] = number
            time.sleep(0)
            pair[1] = number
    for thread in threads:
        thread.join(10)

    assert torn == []


@pytest.mark.parametrize("turn", range(3))
def test_whoever_waits_to_read_goes_before_the_next_write(turn):
    turns, order = Turns(), []

    def read():
        with turns.reading():
            order.append("read")

    with turns.writing():
        reader = started(read)
        until(lambda: turns._waiting == 1)
    with turns.writing():
        order.append("write")
    reader.join(10)

    assert order == ["read", "write"], turn


def test_a_writer_that_waits_goes_before_whoever_comes_to_read():
    turns, order, inside, out = Turns(), [], threading.Event(), threading.Event()

    def first():
        with turns.reading():
            inside.set()
            out.wait(10)

    def write():
        with turns.writing():
            order.append("write")

    def second():
        with turns.reading():
            order.append("read")

    threads = [started(first)]
    inside.wait(10)
    threads.append(started(write))
    until(lambda: turns._writer)
    threads.append(started(second))
    until(lambda: turns._waiting == 1)
    assert order == []
    out.set()
    for thread in threads:
        thread.join(10)

    assert order == ["write", "read"]


def test_an_error_in_a_turn_ends_it():
    turns = Turns()

    for turn in (turns.reading, turns.writing):
        with pytest.raises(KeyError), turn():
            raise KeyError
    with turns.writing():
        pass
