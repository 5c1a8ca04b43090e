"""Print how many sentences of each page have more than 25 words.

Run it as ``python tools/readability.py [page ...]``; without pages, for the README and all of docs.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: The most words that a sentence may have.
LONGEST = 25
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
#: A sentence ends at its mark, and so does a cell of a table, a list item and a heading.
END = re.compile(
    r"(?<=[.!?:;])[\"')*`]*\s+(?=[A-Z`*\[\"(0-9])|\n\s*\n|\n\s*(?:[-*]|\d+\.|#+|>)\s+|\|"
)


def sentences(text: str) -> list[str]:
    """Return the sentences of a Markdown page without its code."""
    prose = re.sub(r"\]\([^)]*\)", "]", FENCE.sub("\n\n", text))
    return [" ".join(it.split()) for it in END.split(prose) if len(it.split()) > 1]


def main() -> None:
    """Print a line for each page."""
    pages = [Path(it).resolve() for it in sys.argv[1:]]
    pages = pages or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    print(f"{'page':55} {'words':>6} {'sentences':>9} {'long':>5} {'share':>6} {'longest':>7}")
    for page in pages:
        text = page.read_text(encoding="utf-8")
        counts = [len(it.split()) for it in sentences(text)]
        long = sum(it > LONGEST for it in counts)
        name = page.relative_to(ROOT).as_posix()
        words = len(text.split())
        share = long / max(len(counts), 1)
        print(f"{name:55} {words:6} {len(counts):9} {long:5} {share:6.1%} {max(counts):7}")


if __name__ == "__main__":
    main()
