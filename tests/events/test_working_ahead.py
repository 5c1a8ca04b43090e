"""Working ahead: what is ordered stays in order, whoever is first, and nothing taken is lost."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

import pytest

from halfmask._errors import DataError
from halfmask.events.running._working_ahead import Steps, WorkingAhead

DEADLINE = 60


@dataclass
class Numbers:
    """A source of numbers, that may fail at its end, or have none."""

    count: int
    error: Exception | None = None
    given: list[int] = field(default_factory=list)

    def chunks(self, position, stop):
        number = position or 0
        while number < self.count and not stop.is_set():
            self.given.append(number)
            yield number
            number += 1
        if self.error is not None:
            raise self.error


def working(source, *, scan=None, take=None, finish=None, threads=2, position=None):
    steps: Steps[Any, Any] = Steps(
        scan=scan or (lambda chunk: chunk),
        take=take or (lambda chunk, read: (chunk, read)),
        finish=finish or (lambda _taken: None),
    )
    ahead = WorkingAhead(source, position, steps, threads=threads)
    ahead.start()
    return ahead


@pytest.fixture
def ending():
    """Close what a test began, whatever became of it."""
    begun: list[WorkingAhead[Any, Any]] = []

    def close_later(ahead):
        begun.append(ahead)
        return ahead

    yield close_later
    for ahead in begun:
        ahead.close()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_all_that_a_source_has_comes_in_its_order(ending, threads):
    ahead = ending(working(Numbers(40), threads=threads))

    assert list(ahead.items(threading.Event())) == [(n, n) for n in range(40)]


def test_it_begins_where_it_is_told_to(ending):
    ahead = ending(working(Numbers(5), position=3))

    assert list(ahead.items(threading.Event())) == [(3, 3), (4, 4)]


def test_who_was_scanned_first_waits_for_who_came_first(ending):
    second_is_there = threading.Event()

    def scan(chunk):
        if chunk == 0:
            assert second_is_there.wait(DEADLINE)
        if chunk == 1:
            second_is_there.set()
        return chunk

    def take(chunk, _read):
        taken.append(chunk)

    taken: list[int] = []
    ahead = ending(working(Numbers(6), scan=scan, take=take))

    list(ahead.items(threading.Event()))
    assert taken == [*range(6)]


def test_no_two_are_taken_at_once(ending):
    inside, met = threading.Lock(), []

    def take(chunk, _read):
        met.append(inside.acquire(blocking=False))
        inside.release()
        return chunk

    ahead = ending(working(Numbers(200), take=take, threads=8))

    assert list(ahead.items(threading.Event())) == [*range(200)]
    assert all(met)


def test_one_thread_does_all_that_is_done_to_a_chunk(ending):
    threads: dict[int, set[int]] = {}

    def note(chunk, _read=None):
        threads.setdefault(chunk, set()).add(threading.get_ident())
        return chunk

    ahead = ending(working(Numbers(50), scan=note, take=note, finish=note, threads=4))

    list(ahead.items(threading.Event()))
    assert [len(threads[chunk]) for chunk in range(50)] == [1] * 50


@pytest.mark.parametrize("step", ["scan", "take", "finish"])
@pytest.mark.parametrize("threads", [1, 3])
def test_what_a_step_raises_comes_behind_all_before_it(ending, step, threads):
    taken = []

    def fail(chunk, _read=None):
        if chunk == 7:
            raise DataError("seven")
        return chunk

    def take(chunk, _read):
        taken.append(fail(chunk) if step == "take" else chunk)
        return chunk

    ahead = ending(
        working(
            Numbers(30),
            scan=fail if step == "scan" else None,
            take=take,
            finish=fail if step == "finish" else None,
            threads=threads,
        )
    )
    found = []

    with pytest.raises(DataError, match="seven"):
        found.extend(ahead.items(threading.Event()))
    # extend keeps what came before
    assert found == [*range(7)]
    if step != "finish":  # then it had been taken
        assert taken == [*range(7)]


def test_what_the_source_raises_comes_behind_all_that_it_gave(ending):
    ahead = ending(working(Numbers(9, error=DataError("torn"))))
    found = []

    with pytest.raises(DataError, match="torn"):
        found.extend(ahead.items(threading.Event()))
    assert found == [(n, n) for n in range(9)]


def test_after_a_stop_all_that_was_taken_is_yielded_and_nothing_else_is_taken(ending):
    taken: list[int] = []
    begun, next_is_there = threading.Event(), threading.Event()
    end = time.monotonic() + DEADLINE

    def scan(chunk):
        if chunk == 24:
            next_is_there.set()
        return chunk

    def take(chunk, _read):
        if chunk == 23:
            begun.set()
            # Others wait for their turn when the end comes.
            assert next_is_there.wait(DEADLINE)
            while not ahead._turns._ended and time.monotonic() < end:
                pass
        taken.append(chunk)
        return chunk

    ahead = ending(working(Numbers(10**9), scan=scan, take=take, threads=3))
    stop, found = threading.Event(), []

    for each in ahead.items(stop):
        found.append(each)
        if each == 20:
            assert begun.wait(DEADLINE)
            stop.set()

    ahead.close()
    assert found == taken == [*range(24)]


def test_it_reads_no_more_than_a_few_chunks_ahead(ending):
    source = Numbers(10**9)
    ahead = ending(working(source, threads=2))
    items = ahead.items(threading.Event())

    for _ in range(100):
        next(items)

    assert len(source.given) < 110


def test_it_can_be_closed_while_threads_wait_for_their_turn():
    waiting, never = threading.Event(), threading.Event()

    def scan(chunk):
        if chunk == 0:
            waiting.set()
            assert never.wait(DEADLINE)
        return chunk

    ahead = working(Numbers(10), scan=scan, threads=3)
    assert waiting.wait(DEADLINE)
    closing = threading.Thread(target=ahead.close)
    closing.start()
    never.set()
    closing.join(DEADLINE)

    assert not closing.is_alive()
