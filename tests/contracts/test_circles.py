"""No file imports, by way of others, itself; imports for types count, too."""

from __future__ import annotations

import ast
from pathlib import Path

#: Files that show an object, or check it, and name its type. The list may only become shorter.
KNOWN = [
    {"assess.attacks._picture", "assess.attacks._report"},
    {"events.description._field_proposal", "events.description._policy_text"},
    {"trainer.defences._defences", "trainer.defences._defended"},
]


def test_no_new_circle(sizes, modules):
    """A circle that became smaller is fine; a new member is not."""
    trees = {sizes.dotted(Path("halfmask", path)): tree for path, tree in modules.items()}
    for circle in sizes.circles(trees):
        members = {name.removeprefix("halfmask.") for name in circle}
        assert any(members <= known for known in KNOWN), sorted(members)


def test_a_circle_is_seen(sizes):
    """Also one of imports for types alone."""
    trees = {
        "a": "from b import B",
        "b": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from c import C",
        "c": "def f():\n    from a import A",
        "d": "from a import A",
    }

    found = sizes.circles({name: ast.parse(text) for name, text in trees.items()})

    assert found == [["a", "b", "c"]]
