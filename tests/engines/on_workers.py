"""Functions that a cluster's workers import."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from halfmask import SchemaError


def text(n):
    """Return a number as text, with a comma."""
    return f"{n},"


def failing(n):
    """Fail from the second batch on; the exception says which."""
    if n >= 2:
        raise ValueError(str(n))
    return ""


def careless(frame):
    """Fail on a batch without saying a value of it."""
    raise RuntimeError(f"{frame.height} rows")


def killing(marker, n):
    """Kill the worker at the fourth batch, the first time."""
    path = Path(marker)
    if n == 3 and not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{n},"


def killing_once(marker, function, batch):
    """Kill the worker once, else do what another function does."""
    killing(marker, 3)
    return function(batch)


def refusing(_batch):
    """Raise an error of ours."""
    raise SchemaError("No such table.", hint="Open it.")


def size(batch):
    """Return how long a batch is."""
    return len(batch)
