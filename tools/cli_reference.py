"""Write docs/reference/cli.md from what `--help` says, so that the two can't part.

With ``--check`` nothing is written; the exit code is 1 if the page isn't in step.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import typer

from halfmask.cli import main
from halfmask.cli._app import app

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "cli.md"
HEAD = """\
# The command line

<!-- Written by tools/cli_reference.py from --help. Change the help, then run it. -->

Results go to standard output, progress and errors to standard error. With `--json` one object goes
to standard output and nothing else; it has `"ok": true`, or `"ok": false` with `error`, `hint`,
`code` and `status`. [Errors and exit codes](errors.md) lists the codes.

"""


def page() -> str:
    """Return the whole page."""
    parts = [HEAD, _section("halfmask", [])]
    parts += [_section(f"halfmask {' '.join(words)}", words) for words in _commands()]
    return "\n".join(parts)


def _commands() -> Iterator[list[str]]:
    """Yield the words of each command, those of a group after it."""
    waiting: list[tuple[list[str], Any]] = [([], typer.main.get_command(app))]
    while waiting:
        words, command = waiting.pop(0)
        if words:
            yield words
        inner = getattr(command, "commands", {})
        waiting = [([*words, name], each) for name, each in inner.items()] + waiting


def _section(title: str, words: list[str]) -> str:
    said = StringIO()
    with redirect_stdout(said):
        main([*words, "--help"])
    lines = "\n".join(line.rstrip() for line in said.getvalue().strip().splitlines())
    return f"## {title}\n\n```\n{lines}\n```\n"


def write() -> int:
    """Write the page, or say by the exit code whether it is in step."""
    if "--check" in sys.argv[1:]:
        return int(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    os.environ.update(COLUMNS="80", NO_COLOR="1")
    sys.exit(write())
