"""The changelog merges by union: what that leaves twice, or astray, is looked for here."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import halfmask

CHANGELOG = Path(__file__).resolve().parents[2] / "CHANGELOG.md"
VERBS = ["Added", "Changed", "Fixed", "Removed"]
TEXT = CHANGELOG.read_text(encoding="utf-8")
#: The lines of each version, by its heading without the date.
VERSIONS = {part.split(maxsplit=1)[0]: part.splitlines()[1:] for part in TEXT.split("\n## ")[1:]}


def test_the_newest_version_is_the_packages_own():
    assert list(VERSIONS)[:2] == ["Unreleased", halfmask.__version__]
    heading = rf"\n## {re.escape(halfmask.__version__)} - \d{{4}}-\d\d-\d\d\n"
    assert re.search(heading, TEXT)


@pytest.mark.parametrize("version", VERSIONS)
def test_each_heading_stands_once_and_in_order(version):
    found = [line for line in VERSIONS[version] if line.startswith("#")]
    assert found == [f"### {verb}" for verb in VERBS if f"### {verb}" in found]


def test_no_change_is_listed_twice():
    counts = Counter(line for line in TEXT.splitlines() if line.startswith("- "))
    assert [line for line, n in counts.items() if n > 1] == []


@pytest.mark.parametrize("version", VERSIONS)
def test_lines_stand_under_the_heading_of_their_verb(version):
    verb, astray = "", []
    for line in VERSIONS[version]:
        verb = line.removeprefix("### ") if line.startswith("### ") else verb
        is_change = verb and line and not line.startswith("### ")
        if is_change and not (line.startswith(f"- {verb} ") and len(line) <= 100):
            astray.append(line)
    assert astray == [], "under another heading, of several lines, or longer than 100 characters"
