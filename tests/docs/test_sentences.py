"""Sentences are short: readers skim, and many don't have English as their first language."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

TOOL = runpy.run_path(str(Path(__file__).resolve().parents[2] / "tools" / "readability.py"))
LONGEST = TOOL["LONGEST"]
#: The share of long sentences of all pages: 0.5 % on 25 November 2026, lists of names for the most.
ALLOWED = 0.015
LONG = "An attacker " + "who knows a value " * 6 + "finds the row."


def long_ones(text):
    return [it for it in TOOL["sentences"](text) if len(it.split()) > LONGEST]


def test_the_readme_has_no_long_sentence(page_at):
    assert long_ones(page_at("README.md").text) == []


def test_few_sentences_of_the_docs_are_long(repository):
    texts = [path.read_text(encoding="utf-8") for path in (repository / "docs").rglob("*.md")]
    long = sum(len(long_ones(text)) for text in texts)

    assert long <= ALLOWED * sum(len(TOOL["sentences"](text)) for text in texts), (
        "run: python tools/readability.py"
    )


@pytest.mark.parametrize("text", [LONG, f"- {LONG}", f"Short.\n\n{LONG}", f"| a | {LONG} |"])
def test_a_long_sentence_is_found(text):
    assert len(long_ones(text)) == 1


def test_code_and_cells_are_no_sentences():
    assert long_ones(f"```\n{LONG}\n```\n\n" + "| one two | three |\n" * 30) == []
