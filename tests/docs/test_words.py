"""Words that promise more than was counted don't stand on our pages."""

from __future__ import annotations

import re

import pytest

#: Each would promise more than a count can hold.
PROMISES = re.compile(
    r"(?<!k-)\banonymous(?:ly)?\b|\banonymi[sz]ed\b|\bsafe(?:ly)?\b|\bsecurely\b|\bencrypted\b"
    r"|\bGDPR[- ]compliant\b|\bfully protected\b|\bcan(?:'t|not) be re-?identified\b",
    re.IGNORECASE,
)
#: Where a page names such a word without using it: the line, and why it may.
ALLOWED = {
    # The word rule itself.
    '"anonymous", "safe", "encrypted" or "GDPR-compliant"',
    '"anonymous", "safe", "encrypted",',
    '"GDPR-compliant". `tests/docs/test_words.py` looks for them.',
    # The title of a paper.
    "destruction of data-mining utility in anonymized data publishing",
}


def _promises(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if not any(it in line for it in ALLOWED)]
    return [line for line in lines if PROMISES.search(line)]


def test_no_page_promises_more_than_was_counted(page):
    """No page calls data anonymous, safe, encrypted or compliant."""
    assert _promises(page.text) == []


def test_neither_does_the_report(repository):
    """Nor does the page that goes with a release."""
    templates = repository / "src" / "halfmask" / "release" / "templates"
    report = repository / "src" / "halfmask" / "microdata" / "_report.py"
    for path in (report, *templates.iterdir()):
        assert _promises(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "line",
    [
        "Your data are now anonymous.",
        "The release is safe to share.",
        "The file is GDPR-compliant",
        "rows are encrypted by ranges",
        "an anonymized table",
    ],
)
def test_a_promise_is_found(line):
    """The rule has power: it finds the sentences that it is there for."""
    assert _promises(line) == [line]


def test_the_name_of_a_model_is_no_promise():
    """k-anonymous with its number says what was counted."""
    assert _promises("The table is k-anonymous with k = 10 over nine columns.") == []


def test_no_page_names_a_machine(page):
    """No path of somebody's machine, no host of a registry."""
    found = re.findall(r"/home/|/root/|/Users/|/work/|/tmp/|[A-Z]:\\|pypi\.|index-url", page.text)
    assert found == []
