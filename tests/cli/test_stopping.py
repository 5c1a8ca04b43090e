"""Stopping: a request that Python could raise nowhere is made again, and nothing else changes."""

from __future__ import annotations

import select
import signal
import socket
import sys
import threading
from collections.abc import Iterator

import pytest

from halfmask.cli._stopping import stopping_cleanly

#: After so many seconds the system answers: what should come at once came before.
PATIENCE = 5


class Ending:
    """Asks to stop while it ends, where nobody can catch what that becomes."""

    def __init__(self, which: signal.Signals) -> None:
        self.which = which

    def __del__(self) -> None:
        signal.raise_signal(self.which)


@pytest.fixture
def ended() -> Iterator[list[int]]:
    """What a handler of our own was told of requests to end."""
    told: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _frame: told.append(number))
    yield told
    signal.signal(signal.SIGTERM, before)


def lose_and_wait(which: signal.Signals, reached: list[str]) -> None:
    """Ask where it is lost, then wait for the system, as who reads from a pipe does."""
    ours, theirs = socket.socketpair()

    def feed() -> None:
        reached.append("fed")
        theirs.send(b"late")

    feeding = threading.Timer(PATIENCE, feed)
    with ours, theirs:
        try:
            with stopping_cleanly():
                Ending(which)
                reached.append("waiting")
                feeding.start()
                select.select([ours], [], [])
        finally:
            feeding.cancel()


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_what_was_lost_is_asked_for_again_though_the_program_waits(which):
    reached: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        lose_and_wait(which, reached)
    assert reached == ["waiting"], "the first was lost, the second came before the system did"


def test_a_request_to_end_is_an_interrupt_and_is_none_afterwards(ended):
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), stopping_cleanly():
        signal.raise_signal(signal.SIGTERM)
    assert not ended
    assert signal.getsignal(signal.SIGTERM) is before


def test_other_errors_that_nobody_can_catch_are_told_as_before(monkeypatch):
    told: list[type[BaseException]] = []

    def tell(lost: sys.UnraisableHookArgs) -> None:
        told.append(lost.exc_type)

    monkeypatch.setattr(sys, "unraisablehook", tell)

    class Failing:
        def __del__(self) -> None:
            raise ValueError("lost")

    with stopping_cleanly():
        Failing()
    assert told == [ValueError]
    assert sys.unraisablehook is tell


def test_a_request_that_was_lost_at_the_very_end_ends_nothing_later(ended, monkeypatch):
    asked: list[threading.Timer] = []

    def keep(timer: threading.Timer) -> None:
        asked.append(timer)

    monkeypatch.setattr(threading.Timer, "start", keep)
    with stopping_cleanly():
        Ending(signal.SIGINT)
    (timer,) = asked
    timer.function()  # as if its time came now
    assert not ended


def test_in_another_thread_nothing_is_changed():
    found: list[bool] = []
    before = (signal.getsignal(signal.SIGTERM), sys.unraisablehook)

    def run() -> None:
        with stopping_cleanly():
            found.append((signal.getsignal(signal.SIGTERM), sys.unraisablehook) == before)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(PATIENCE)
    assert found == [True]
