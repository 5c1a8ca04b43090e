"""The same jobs in a terminal: ``halfmask describe``, ``protect``, ``verify``, ``vault``.

Start with `main`, which is the command `halfmask`. One file holds the commands of one verb; what
they have in common is in ``_options`` (what may be asked), ``_console`` (how it is answered, and
progress meanwhile) and ``_failures`` (what an error is called). Nothing here is imported that
`--help` doesn't need: ``_rooms`` imports a room when a command works in it.

A command returns its exit code: 0 done, 1 failed (an unmet guarantee included), 2 wrong
usage, 130 stopped by an interrupt. Results go to standard output, progress and errors to standard
error; with ``--json`` one object goes to standard output and nothing else.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from halfmask.cli._stopping import deaf

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command `halfmask` and return its exit code.

    Parameters
    ----------
    arguments
        The arguments after `halfmask`; by default, those of the process.

    Returns
    -------
    int
        0 done, 1 failed (an unmet guarantee included), 2 wrong usage, 130 stopped.

    Notes
    -----
    **Guarantees.** Every error is printed as one line and a hint on standard error. With
    ``--json`` it is one JSON object on standard output. Neither holds a cell's value, a
    category or the path of an input. Only ``--debug`` prints a traceback, which can hold them.

    Examples
    --------
    >>> main(["--version"])
    halfmask 0.2.0
    0
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    options = words[: words.index("--")] if "--" in words else words
    as_json, debug = "--json" in options, "--debug" in options
    try:
        from halfmask.cli._app import run  # noqa: PLC0415 # may be interrupted, too

        return run(words, as_json=as_json, debug=debug)
    except KeyboardInterrupt:
        with deaf(ending=arguments is None):
            from halfmask.cli._console import say_failure  # noqa: PLC0415 # as above
            from halfmask.cli._failures import INTERRUPTED  # noqa: PLC0415 # as above

            return say_failure(INTERRUPTED, as_json=as_json)
