"""Words that only this project used for the field's ideas don't stand where readers read."""

from __future__ import annotations

import functools
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

#: Pages that people read. To look for a word in all code, give its row ``PAGES + CODE``.
PAGES = (
    *("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md", "docs/**/*.md"),
    *("examples/**/*.md", "examples/**/*.py", "examples/**/*.toml"),
)
#: Rooms whose comments, docstrings and messages have none of the words; a room joins when clean.
ROOMS = (
    "src/halfmask/anonymize/**/*.py",
    "src/halfmask/claims/**/*.py",
    "src/halfmask/cli/**/*.py",
    "src/halfmask/data/**/*.py",
    "src/halfmask/description/**/*.py",
    "src/halfmask/encode/**/*.py",
    "src/halfmask/events/**/*.py",
    "src/halfmask/guarantees/**/*.py",
    "src/halfmask/hashing/**/*.py",
    "src/halfmask/kernels/**/*.py",
    "src/halfmask/masks/**/*.py",
    "src/halfmask/microdata/**/*.py",
    "src/halfmask/minimize/**/*.py",
    "src/halfmask/release/**/*.py",
    "src/halfmask/vault/**/*.py",
    "src/halfmask/verifier/**/*.py",
)
CODE = ("src/**/*.py",)
#: Files that are still to be rewritten: remove a line when its file has none of the words.
PENDING: frozenset[str] = frozenset()
#: Sentences that may have such a word: the one that explains the project's name.
ALLOWED = ("A half mask hides who you are",)
#: What isn't prose of a module: a text of one word is a name; so are code and names in docstrings.
NAME = re.compile(r"""[a-z]*(["'])[\w-]*\1""")
CODE_OF_A_TEXT = re.compile(
    r"""``[^`]*``|`[^`\n]*`|\b\w+="\w+"|^ *(?:>>>|\.\.\.) .*$|^ *\w+(?:, \w+)*$""", re.MULTILINE
)
#: What isn't prose of a page: code, and the targets of links.
CODE_OF_A_PAGE = re.compile(r"^```.*?^```$|`[^`\n]*`|(?<=\])\([^)\s]*\)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Retired:
    """A word, what to write instead, a sentence that has it, and where it is looked for.

    In files whose paths match ``own`` it is the field's own word.
    """

    pattern: str
    instead: str
    example: str
    paths: tuple[str, ...] = PAGES + ROOMS
    own: str = "(?!)"

    def found(self, text: str) -> list[str]:
        """Return the lines of a text that have the word."""
        word = re.compile(rf"\b(?:{self.pattern})\b", re.IGNORECASE)
        if not word.search(text):  # as nearly always: one search is quicker than one a line
            return []
        lines = (line for line in text.splitlines() if not line.startswith(ALLOWED))
        return [line for line in lines if word.search(line)]


RETIRED = (
    Retired(r"models? of splits", "tree-based models", "Models of splits learn from codes."),
    Retired(r"answers? in steps", "tree-based models", "Models that answer in steps need no more."),
    Retired(r"by heart", "memorization", "A tree that knows its people by heart."),
    Retired(r"lessons?|teach(?:es)?", "candidate, training set", "The best lesson teaches more."),
    Retired(r"lend(?:s|ers?)", "donor rows", "Lenders of the class."),
    Retired(r"strangers?", "held-out rows; other people", "A model of strangers."),
    Retired(
        r"models? of (?:halves|parts)", "two-fold cross-validation", "Models of halves know it."
    ),
    Retired(r"scattered", "permuted within bins", "Values that are scattered."),
    Retired(r"exchanged", "labels swapped within a class", "Labels are exchanged."),
    Retired(r"several points", "several representatives", "Several points of a class."),
    Retired(r"whoever", "the attacker; the receiver", "Whoever gets it can count again."),
    Retired(r"outsiders?|intruders?", "the attacker", "What an intruder knows."),
    Retired(r"promis(?:es?|ed|ing)", "guarantee; claim", "The promise is counted."),
    # A released table states of each cell whether it is published or hidden.
    Retired(
        r"hid(?:es?|den|ing)",
        "protected; masked; removed",
        "A hash hides the name.",
        own=r"crosstab|release/meanings|suppression/|tables|reference/|publish-a-table|coming-from-|glossary|claims-and-|/cli",
    ),
    Retired(
        r"(?:may|needn't|doesn't|don't|didn't|that|what|rows|which) leaves?|leaves? the house",
        "is released; is written to the output",
        "What no rule names doesn't leave.",
    ),
    Retired(r"led by|guide leads", "guided by; split criterion", "Guided is led by the label."),
    Retired(r"as (?:they|it) (?:are|is|were|was)", "raw; unchanged", "A column leaves as it is."),
    Retired(r"rented machines?", "untrusted cloud", "Encode for a rented machine."),
    Retired(r"learns? blind", "train on encoded data", "A machine that learns blind."),
    Retired(r"seldom", "rarely", "It is seldom so."),
    Retired(r"moreover", "also", "Moreover, it is counted."),
    Retired(r"otherwise called", "also known as", "The rim, otherwise called the border."),
    Retired(r"beside", "next to; compared with", "It lies beside the output."),
    Retired(r"anew", "again", "Numbers begin anew."),
    Retired(r"told", "reported; stated", "The worst is told."),
    Retired(r"\w+, of which", "a sentence of its own", "Ten rows, of which two are unique."),
    Retired(r"but for", "except", "All but for the last."),
    Retired(
        r"(?-i:Who)(?: knows?| has| holds?| gets| sees)|(?:to|by|for|from|than) who(?: \w+s)",
        "an attacker who ...",
        "Who knows the values can rule them out.",
    ),
    Retired(r"(?:is|are|was|were) said", "states", "What is said of each column."),
    Retired(r"enciphered", "encrypted, where it is true", "The files aren't enciphered."),
)


@functools.cache
def _prose(path: Path) -> str:
    """Return what people read of a file: a page without code, comments and texts of a module."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return CODE_OF_A_PAGE.sub(lambda found: "\n" * found[0].count("\n"), text)
    if path.suffix == ".py":
        return "\n".join(_texts(text))
    return text


def _texts(code: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT:
            yield token.string
        elif token.type == tokenize.STRING and not NAME.fullmatch(token.string):
            yield CODE_OF_A_TEXT.sub("", token.string)


@functools.cache
def _files(root: Path, paths: tuple[str, ...]) -> list[Path]:
    found = {path for pattern in paths for path in root.glob(pattern)}
    return sorted(it for it in found if it.relative_to(root).as_posix() not in PENDING)


@pytest.mark.mostly_slow
@pytest.mark.parametrize("word", RETIRED, ids=lambda word: word.instead)
def test_a_retired_word_stands_nowhere(word, repository):
    """Each file that is looked through has none of its lines with the word."""
    found = {
        path.relative_to(repository).as_posix(): lines
        for path in _files(repository, word.paths)
        if not re.search(word.own, path.relative_to(repository).as_posix())
        and (lines := word.found(_prose(path)))
    }
    assert found == {}, f"write instead: {word.instead}"


@pytest.mark.parametrize("word", RETIRED, ids=lambda word: word.instead)
def test_a_retired_word_is_found(word):
    """The rule has power: it finds the sentence that it is there for, on a heading as well."""
    assert word.found(word.example) == [word.example]
    assert word.found(f"## {word.example}") == [f"## {word.example}"]


def test_files_are_looked_through(repository):
    """The patterns find the pages, and pending files exist."""
    names = {path.relative_to(repository).as_posix() for path in _files(repository, PAGES)}

    assert {"README.md", "docs/tutorial.md", "examples/adult/README.md"} <= names
    assert all((repository / name).is_file() for name in PENDING)


def test_code_on_a_page_is_no_prose(tmp_path):
    """Names of options and code may be what they are; words around them may not."""
    page = tmp_path / "page.md"
    page.write_text('```\nhidden\n```\nUse `missing="hidden"`, [see](hidden.md).\nhidden\n')

    assert _prose(page).split() == ["Use", ",", "[see].", "hidden"]


def test_names_of_a_module_are_no_prose(tmp_path):
    """A variable may be called hidden; a comment and a message may not use the word."""
    module = tmp_path / "module.py"
    module.write_text(
        'hidden = "a hidden unit"  # hidden\n'
        'if missing == "hidden":\n'
        '    """Take ``missing="hidden"``.\n\n    hidden\n        Hidden cells.\n    """\n'
    )

    assert [it.strip() for it in _prose(module).splitlines() if it.strip()] == [
        '"a hidden unit"', "# hidden", '"""Take .', "Hidden cells.", '"""'
    ]  # fmt: skip
