"""Print the size of each room: files, lines, functions over 60 lines, and circles of imports.

    python tools/sizes.py

A circle is a set of files that import each other, imports for types included.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from pathlib import Path

from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

SOURCE = Path(__file__).resolve().parents[1] / "src"
LONG = 60


def modules(source: Path = SOURCE) -> dict[str, ast.Module]:
    """Return the syntax tree of each module of the package, by its dotted name."""
    return {
        dotted(path.relative_to(source)): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted((source / "halfmask").rglob("*.py"))
    }


def dotted(path: Path) -> str:
    """Return the name of the module that a file of the source is."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def circles(trees: dict[str, ast.Module]) -> list[list[str]]:
    """Return the sets of modules that import each other, each in order."""
    names = list(trees)
    number = {name: i for i, name in enumerate(names)}
    edges = {
        (number[name], number[target])
        for name, tree in trees.items()
        for target in _imported(tree, number)
    }
    links = csr_array(([1] * len(edges), tuple(zip(*edges, strict=True))), shape=(len(names),) * 2)
    _, group = connected_components(links, directed=True, connection="strong")
    members = defaultdict(list)
    for name, of in zip(names, group, strict=True):
        members[of].append(name)
    return sorted(each for each in members.values() if len(each) > 1)


def _imported(tree: ast.Module, known: dict[str, int]) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in known:
            for name in node.names:
                inner = f"{node.module}.{name.name}"
                found.add(inner if inner in known else str(node.module))
    return found


def _room(name: str) -> str:
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def main() -> None:
    """Print the table."""
    trees = modules()
    files, lines, long = Counter[str](), Counter[str](), Counter[str]()
    for path in (SOURCE / "halfmask").rglob("*.py"):
        room = path.relative_to(SOURCE / "halfmask").parts[0].removesuffix(".py")
        files[room] += 1
        lines[room] += path.read_text(encoding="utf-8").count("\n")
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= LONG:
                long[_room(name)] += 1
    turning = Counter(_room(circle[0]) for circle in circles(trees))
    print(f"{'room':<16}{'files':>6}{'lines':>8}{f'over {LONG}':>9}{'circles':>9}")
    for room, n in lines.most_common():
        print(f"{room:<16}{files[room]:>6}{n:>8}{long[room]:>9}{turning[room]:>9}")
    totals = [sum(each.values()) for each in (files, lines, long, turning)]
    print(f"{'in all':<16}{totals[0]:>6}{totals[1]:>8}{totals[2]:>9}{totals[3]:>9}")


if __name__ == "__main__":
    main()
