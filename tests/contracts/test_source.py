"""Rules for every line of the package: no print, no pickle, no code from text, no room for all."""

from __future__ import annotations

import ast
import re

import pytest

FORBIDDEN_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}
FORBIDDEN_CALLS = {"eval", "exec", "print", "breakpoint", "input"}
SECRETS = {"key", "keys", "secret", "token", "password", "passphrase", "share"}
NAMES_OF_NOTHING = {"utils", "util", "helpers", "helper", "common", "misc", "tools", "base"}


def imported(tree):
    """Return the top packages that a module imports, anywhere in it."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


def called(tree):
    """Return the names of the plain functions that a module calls."""
    return {
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }


def test_nothing_is_pickled(modules):
    for path, tree in modules.items():
        assert not imported(tree) & FORBIDDEN_MODULES, path
        pickling = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle"
        ]
        assert not pickling, path


def test_nothing_is_printed_nor_run_from_text(modules):
    for path, tree in modules.items():
        assert not called(tree) & FORBIDDEN_CALLS, path


def test_modules_are_private_unless_another_room_imports_them(modules):
    """An underscore says private to a room, and nothing is open that nobody asks for."""
    asked = set()
    for path, tree in modules.items():
        for node in ast.walk(tree):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [each.name for each in node.names] if isinstance(node, ast.Import) else []
            for inner in (name.split(".")[1:] for name in names if name.startswith("halfmask.")):
                if inner[0] != path.split("/")[0].removesuffix(".py"):
                    asked.add("/".join(inner) + ".py")
    for path in modules:
        name = path.rpartition("/")[2].removesuffix(".py")
        if name.startswith("_"):
            inner_room = path.count("/") and not path.startswith("kernels/")
            assert not (inner_room and path in asked), f"{path}: drop its underscore"
        elif not path.startswith(("kernels/", "plots/")):
            assert path in asked, f"{path}: only its own room imports it"
        assert name.strip("_") not in NAMES_OF_NOTHING, path


def test_no_secret_is_in_a_repr(modules):
    """A field of a key or token isn't shown, unless the class writes its repr itself."""
    # Names of fields of events, and what a client and the trainer know of a batch, are no secrets.
    public = ("events/block/_path_tree.py", "trainer/")
    for path, tree in modules.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not path.startswith(public):
                shown = [ast.unparse(it.target) for it in shown_fields(node) if is_secret(it)]
                assert not shown, (path, node.name, shown)


def shown_fields(node):
    """Return the fields that a data class shows."""
    made = [ast.unparse(it) for it in node.decorator_list]
    own = any(getattr(it, "name", "") == "__repr__" for it in node.body)
    if own or not any("dataclass" in it and "repr=False" not in it for it in made):
        return []
    fields = [it for it in node.body if isinstance(it, ast.AnnAssign)]
    return [it for it in fields if not (it.value and "repr=False" in ast.unparse(it.value))]


def is_secret(field):
    kind = ast.unparse(field.annotation)
    named = ast.unparse(field.target).strip("_").rpartition("_")[2]
    return kind == "Key" or ("bytes" in kind and named in SECRETS)


def test_every_module_says_what_it_is_for(modules):
    for path, tree in modules.items():
        assert ast.get_docstring(tree), path


@pytest.mark.parametrize(
    ("check", "text", "seen"),
    [
        (imported, "def f():\n    import pickle", "pickle"),
        (imported, "from joblib.numpy_pickle import load", "joblib"),
        (called, "def f():\n    print(1)", "print"),
    ],
)
def test_the_checks_see_what_they_forbid(check, text, seen):
    assert seen in check(ast.parse(text))


def test_commands_ask_rooms_for_no_private_module(source):
    """A command's `rooms.trainer._x` would be an import that no other test sees."""
    private = re.compile(r"\brooms(\.\w+)*\._")
    texts = {path.name: path.read_text() for path in (source / "cli").glob("*.py")}
    assert texts
    assert not [name for name, text in texts.items() if private.search(text)]
