"""A request to stop that reaches the command, wherever Python was when it came."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

#: After how many seconds a request that was lost is made again: the callback has ended by then.
AGAIN = 0.01


@contextmanager
def stopping_cleanly() -> Iterator[None]:
    """Let a request to end unwind as the interrupt key does: what is half written goes.

    Notes
    -----
    Python raises KeyboardInterrupt wherever it is. Where that is a callback (of a weak reference,
    of an object's end, of C), nobody can catch it: it goes to ``sys.unraisablehook``, and the
    run would go on as if nobody had asked. There it is asked for once more, by a request to end,
    for the interrupt key may be off in the background of a shell.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    main, running, lock = threading.get_ident(), [True], threading.Lock()

    def ask() -> None:
        with lock:
            if running:  # to the main thread, which may be waiting for the system
                signal.pthread_kill(main, signal.SIGTERM)

    def ask_again(lost: sys.UnraisableHookArgs) -> None:
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            hook(lost)
            return
        again = threading.Timer(AGAIN, ask)
        again.daemon = True
        again.start()

    terminate = signal.signal(signal.SIGTERM, signal.default_int_handler)
    hook, sys.unraisablehook = sys.unraisablehook, ask_again
    try:
        yield
    finally:
        try:
            with lock:
                running.clear()
        finally:
            sys.unraisablehook = hook
            signal.signal(signal.SIGTERM, terminate)


@contextmanager
def deaf(*, ending: bool) -> Iterator[None]:
    """Don't be interrupted again while the message about the stop is written."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = (signal.SIGINT, signal.SIGTERM)
    before = {each: signal.signal(each, signal.SIG_IGN) for each in asked}
    try:
        yield
    finally:
        for each, handler in before.items():
            # In the background of a shell the interrupt key stays off.
            kept = handler is signal.SIG_IGN or not ending
            signal.signal(each, handler if kept and handler else signal.SIG_DFL)
