"""Keys come from the operating system: no other generator is in reach of the vault's code."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from halfmask import vault

SOURCES = sorted(Path(vault.__file__).parent.glob("*.py"))
OTHERS = {"random", "numpy", "uuid", "time", "tempfile"}


def _imported(text):
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


@pytest.mark.parametrize("path", SOURCES, ids=[path.stem for path in SOURCES])
def test_no_other_generator(path):
    assert not _imported(path.read_text(encoding="utf-8")) & OTHERS


def test_the_check_sees_what_it_forbids():
    assert _imported("def f():\n    import numpy.random") == {"numpy"}
    assert len(SOURCES) > 10
