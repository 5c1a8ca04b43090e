"""The workbench: every job in a browser, on 127.0.0.1, for people who don't open a terminal.

Start with `run_workbench`, which `halfmask workbench` calls. Each page is a view of the policy
file, each click writes a version of it, and the same file runs in the terminal. `_guard` decides
who may ask, `_project` holds the folder, `_jobs` runs what takes long, and `pages/` has one module
for each page.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halfmask.workbench._serving import run_workbench

__all__ = ["run_workbench"]


def __getattr__(name: str) -> object:
    """Import the server when it is asked for: a job's process needs none."""
    if name not in __all__:
        raise AttributeError(f"module 'halfmask.workbench' has no attribute {name!r}")
    found = getattr(importlib.import_module("halfmask.workbench._serving"), name)
    return globals().setdefault(name, found)
