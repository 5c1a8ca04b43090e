"""The changelog merges by union: what that leaves twice is looked for here."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

CHANGELOG = Path(__file__).resolve().parents[2] / "CHANGELOG.md"
HEADINGS = ["### Added", "### Changed", "### Fixed"]
VERBS = {f"- {heading[4:]} ": heading for heading in HEADINGS}


def unreleased():
    """Return the lines of what isn't released yet."""
    text = CHANGELOG.read_text(encoding="utf-8").partition("\n## Unreleased\n")[2]
    return text.partition("\n## ")[0].splitlines()


def test_each_heading_stands_once_and_in_order():
    assert [line for line in unreleased() if line.startswith("#")] == HEADINGS


def test_no_change_is_listed_twice():
    counts = Counter(line for line in unreleased() if line.startswith("- "))
    assert [line for line, n in counts.items() if n > 1] == []


def test_lines_stand_under_the_heading_of_their_verb():
    heading, astray = "", []
    for line in unreleased():
        heading = line if line in HEADINGS else heading
        verb = next((verb for verb in VERBS if line.startswith(verb)), None)
        if verb is not None and (VERBS[verb] != heading or len(line) > 100):
            astray.append(line)
    assert astray == [], "under another heading, or longer than 100 characters"
