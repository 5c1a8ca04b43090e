"""The same jobs in a terminal: ``halfmask describe``, ``protect``, ``verify``, ``vault``.

Start with `main`, which is the command `halfmask`. One file holds one command; what they have in
common is in ``_options`` (what may be asked), ``_console`` (how it is answered), ``_failures``
(what an error is called) and ``_progress``. Nothing here is imported that `--help` doesn't need: a
command imports its room when it runs.

A command returns its exit code: 0 done, 1 failed (a promise that isn't met included), 2 wrong
usage. Results go to standard output, progress and errors to standard error; with ``--json`` one
object goes to standard output and nothing else.
"""

from __future__ import annotations

from halfmask.cli._app import main

__all__ = ["main"]
