"""Write docs/reference/cli.md from what `--help` says, so that the two can't part.

With ``--check`` nothing is written; the exit code is 1 if the page isn't in step.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "cli.md"
COMMANDS = (
    "describe",
    "protect",
    "verify",
    "schema",
    "encode",
    *(f"encode {name}" for name in ("fit", "apply")),
    "encode series",
    *(f"encode series {name}" for name in ("fit", "apply")),
    "decode",
    "hash",
    "push",
    "predict",
    "events",
    *(f"events {name}" for name in ("describe", "run", "verify", "reverse")),
    "events table",
    *(f"events table {name}" for name in ("set", "list")),
    "assess",
    "assess encoding",
    "vault",
    *(f"vault {name}" for name in ("create", "list", "rotate", "split", "join", "destroy")),
    "serve",
    "serve run",
    "serve token",
    *(f"serve token {name}" for name in ("create", "list", "revoke")),
    "serve model",
    *(f"serve model {name}" for name in ("create", "list")),
)
RUN = "import sys; from halfmask.cli import main; sys.exit(main())"
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
    parts += [_section(f"halfmask {name}", name.split()) for name in COMMANDS]
    return "\n".join(parts)


def _section(title: str, words: list[str]) -> str:
    said = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", RUN, *words, "--help"],
        capture_output=True,
        check=True,
        encoding="utf-8",
        env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONUTF8": "1"},
    )
    lines = "\n".join(line.rstrip() for line in said.stdout.strip().splitlines())
    return f"## {title}\n\n```\n{lines}\n```\n"


def main() -> int:
    """Write the page, or say by the exit code whether it is in step."""
    if "--check" in sys.argv[1:]:
        return int(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
