"""Each class has a name of its own, so that a reader who searches for it finds one."""

from __future__ import annotations

import ast
from collections import defaultdict

#: Names that two public rooms have for good, or that their rooms' policies write.
SHARED = {
    "Dictionary",
    "Finding",
    "Level",
    "Limits",
    "Mask",
    "Source",
    "TableSink",
    "Token",
}


def test_no_two_classes_share_a_name(modules):
    """Private ones aside, and those of the list, which may only become shorter."""
    found = defaultdict(set)
    for path, tree in modules.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].add(path)

    assert {name for name, paths in found.items() if len(paths) > 1} <= SHARED
