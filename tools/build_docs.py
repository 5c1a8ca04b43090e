"""Build the documentation into site/, where every warning is an error.

zensical finds links and anchors that lead nowhere; Griffe, which reads the docstrings, only prints
what it finds: parameters that don't exist, sections that can't be read.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Build, show what was said, and fail if any of it is a warning."""
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--clean", "--strict"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(done.stdout, end="")
    return done.returncode or int("griffe: " in done.stdout)


if __name__ == "__main__":
    sys.exit(main())
