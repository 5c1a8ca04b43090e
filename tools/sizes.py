"""Print the size of each room, and fail where one is over its budget.

    python tools/sizes.py            print, and compare with tools/budget.toml
    python tools/sizes.py --write    lower the limits to today's values; none is ever raised

A circle is a set of files that import each other, imports for types included.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
BUDGET = ROOT / "tools" / "budget.toml"
LONG = 60
#: Run in an interpreter of its own: what naming `protect` loads, and what a release passes.
LOADED = (
    "import sys, halfmask\nhalfmask.protect\nprint(*(m for m in sys.modules if 'halfmask' in m))"
)
PASSED = """
import sys, tempfile, threading
import polars as pl
import halfmask as hm

passed = set()

def note(frame, event, arg):
    if "/src/halfmask/" in frame.f_code.co_filename and frame.f_code.co_name != "<module>":
        passed.add(frame.f_code.co_filename)

rows = pl.DataFrame({"age": [20, 21, 40, 41] * 5, "sex": ["f", "m"] * 10, "ill": ["a", "b"] * 10})
def run(out):
    hm.protect(rows, k=2, quasi_identifiers=["age", "sex"], sensitive=["ill"]).write(out)

with tempfile.TemporaryDirectory() as folder:
    run(folder + "/first")  # what modules do as they are loaded isn't asked
    threading.setprofile(note)
    sys.setprofile(note)
    run(folder + "/second")
sys.setprofile(None)
print(*passed, sep="\\n")
"""


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


def private_imports(trees: dict[str, ast.Module]) -> set[tuple[str, str]]:
    """Return the names of private modules that another room imports, each with its module."""
    return {
        (str(node.module), alias.name)
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and _is_private(str(node.module), of=_room(name))
        for alias in node.names
    }


def _is_private(module: str, *, of: str) -> bool:
    """Whether a module is private to a room other than this one."""
    parts = module.split(".")
    inner = any(part.startswith("_") for part in parts[2:])
    return parts[0] == "halfmask" and inner and parts[1] != of


def _room(name: str) -> str:
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def _public_names(trees: dict[str, ast.Module]) -> int:
    """Return how many names the rooms list as public."""
    return len(
        {
            name
            for tree in trees.values()
            for node in tree.body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
            if isinstance(node.value, ast.List)
            for name in ast.literal_eval(node.value)
        }
    )


def _printed(code: str) -> list[str]:
    """Return what a program prints, in words, run in an interpreter of its own."""
    done = subprocess.run(  # noqa: S603 # our own two programs
        [sys.executable, "-c", code], check=True, capture_output=True, encoding="utf-8", cwd=ROOT
    )
    return done.stdout.split()


def measured() -> dict[str, dict[str, int]]:
    """Return lines of each room, files of each folder, and what holds for the whole house."""
    trees = modules()
    lines, files = Counter[str](), Counter[str]()
    casts = 0
    for path in (SOURCE / "halfmask").rglob("*.py"):
        inside, text = path.relative_to(SOURCE / "halfmask"), path.read_text(encoding="utf-8")
        lines[inside.parts[0].removesuffix(".py")] += text.count("\n")
        files[inside.parent.as_posix()] += 1
        casts += len(re.findall(r"(?<![.\w])cast\(", text))
    functions = [node for tree in trees.values() for node in ast.walk(tree) if _is_long(node)]
    house = {
        "lines": sum(lines.values()),
        "files in a folder": max(files.values()),
        "functions over 60 lines": len(functions),
        "public names": _public_names(trees),
        "private names across rooms": len(private_imports(trees)),
        "casts": casts,
        "circles of imports": len(circles(trees)),
        "modules loaded by protect": len(_printed(LOADED)),
        "files passed by protect and write": len(_printed(PASSED)),
    }
    return {"house": house, "lines": dict(lines.most_common())}


def _is_long(node: ast.AST) -> bool:
    """Whether it is a function of more than sixty lines, its docstring left out."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    first = node.body[0]
    doc = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    skipped = (first.end_lineno or 0) - first.lineno + 1 if doc else 0
    return (node.end_lineno or 0) - node.lineno + 1 - skipped > LONG


def over(values: dict[str, dict[str, int]], limits: dict[str, dict[str, int]]) -> list[str]:
    """Return each value that is over its limit, or has none."""
    return [
        f"{kind}: {name} is {value}, and its limit {limits.get(kind, {}).get(name, 0)}."
        for kind, each in values.items()
        for name, value in each.items()
        if value > limits.get(kind, {}).get(name, 0)
    ]


def lowered(
    values: dict[str, dict[str, int]], limits: dict[str, dict[str, int]]
) -> dict[str, dict[str, int]]:
    """Return limits that no value is below; a limit that is over stays, for a person to raise."""
    return {
        kind: {
            name: min(value, limits.get(kind, {}).get(name, value)) for name, value in it.items()
        }
        for kind, it in values.items()
    }


def main() -> None:
    """Print the values next to their limits, and fail where one is over."""
    values, limits = measured(), tomllib.loads(BUDGET.read_text(encoding="utf-8"))
    if "--write" in sys.argv[1:]:
        limits = lowered(values, limits)
        written = (
            f"[{kind}]\n" + "".join(f'"{name}" = {value}\n' for name, value in each.items())
            for kind, each in limits.items()
        )
        head = "# Limits of `make sizes`. To raise one takes a commit of its own that says why.\n"
        BUDGET.write_text(head + "\n".join(written), encoding="utf-8")
    for kind, each in values.items():
        for name, value in each.items():
            print(f"{kind:<8}{name:<36}{value:>8}{limits.get(kind, {}).get(name, 0):>8}")
    if faults := over(values, limits):
        sys.exit("\n".join([*faults, "Cut, or raise the limit in a commit that says why."]))


if __name__ == "__main__":
    main()
