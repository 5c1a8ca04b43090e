"""Docstrings of public names: short summaries, parameters in three lines, the field's words.

Sections stand on public names and in `kernels/`; elsewhere a docstring is a line and the reason.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import sys
from collections import defaultdict
from enum import Enum
from functools import cache
from typing import NamedTuple

import pytest
from pydantic import BaseModel

import halfmask
from halfmask.events import run_events

#: Rooms that nobody imports from.
INNER = re.compile(r"halfmask\.(cli|kernels)\b")
RULE = re.compile(r"-{3,}")
#: Methods that pydantic names, and a room whose techniques are being written.
LATER = re.compile(r"halfmask\.masks\.\w+\.|.*\.model_post_init$")
#: What only the docstring of a public name, or of a kernel, describes in a section.
SECTION = re.compile(
    r"^(Attributes|Other Parameters|Parameters|Raises|Returns|See Also|Yields)\n-{3,}$",
    re.MULTILINE,
)
#: Words that we wrote once in place of the field's own.
RETIRED = re.compile(
    r"\b(anew|beside|but for|lessons?|of account|of which|promis(e|es|ed)|said|seldom|strangers?"
    r"|tells?|told|who knows (?!who\b)|whoever)\b",
    re.IGNORECASE,
)
#: Phrases in which such a word is another: names of parameters, fields and functions.
NAMES = re.compile(r"`[^`]+`|an (?:attacker|intruder) who knows|anyone who knows", re.IGNORECASE)
#: What people meet first. Each shows its options in examples, and what lies next to it.
MAIN = [
    halfmask.AnonymizedEstimator,
    halfmask.Codec,
    halfmask.DistinctLDiversity,
    halfmask.KAnonymity,
    halfmask.KeyedHasher,
    halfmask.Policy,
    halfmask.TCloseness,
    halfmask.attack,
    halfmask.protect,
    run_events,
]


class Documented(NamedTuple):
    """A public class, function or method, by its full name."""

    name: str
    it: object

    @property
    def doc(self):
        return inspect.cleandoc(self.it.__doc__ or "")

    @property
    def sections(self):
        """The lines of each section of the docstring, by its title."""
        found: dict[str, list[str]] = {"": []}
        title, lines = "", self.doc.splitlines()
        for line, after in zip(lines, [*lines[1:], ""], strict=True):
            if RULE.fullmatch(after) and line:
                title = line
                found[title] = []
            elif not RULE.fullmatch(line):
                found[title].append(line)
        return found

    @property
    def described(self):
        """The lines that describe each parameter or attribute, by its name."""
        found: dict[str, list[str]] = {}
        names: list[str] = []
        for title in ("Parameters", "Attributes"):
            for line in self.sections.get(title, []):
                if line and not line.startswith(" "):
                    names = [each.strip(" *") for each in line.partition(" : ")[0].split(",")]
                    found.update({name: [] for name in names})
                elif line:
                    for name in names:
                        found[name].append(line.strip())
        return found


def _own(value):
    """Return the function behind a member of a class, if it is one of ours."""
    if isinstance(value, property):
        value = value.fget
    value = getattr(value, "__func__", getattr(value, "func", value))
    ours = inspect.isfunction(value) and value.__module__.startswith("halfmask")
    return value if ours else None


def _public():
    """Yield all that is public, each once: names of rooms, and members of classes."""
    seen = set()
    for room in ["halfmask", *_rooms()]:
        for name in getattr(importlib.import_module(room), "__all__", ()):
            it = getattr(importlib.import_module(room), name)
            if not getattr(it, "__module__", "").startswith("halfmask") or it in seen:
                continue
            if not inspect.isclass(it) and not inspect.isfunction(it):
                continue
            seen.add(it)
            yield Documented(f"{room}.{name}", it)
            for base in it.__mro__ if inspect.isclass(it) else ():
                for inner, value in vars(base).items():
                    if base.__module__.startswith("halfmask") and not inner.startswith("_"):
                        own = _own(value)
                        if own is not None and own.__doc__ and own not in seen:
                            seen.add(own)
                            yield Documented(f"{room}.{name}.{inner}", own)


def _rooms(*, inner=False):
    found = (room.name for room in pkgutil.walk_packages(halfmask.__path__, "halfmask."))
    return [name for name in found if "._" not in name and (inner or not INNER.match(name))]


@pytest.fixture(scope="module")
def documented():
    return list(_public())


def test_there_are_public_names(documented):
    names = {each.name for each in documented}

    assert {"halfmask.protect", "halfmask.Release.write", "halfmask.masks.Rounding"} <= names


def test_a_summary_has_less_than_eighty_characters(documented):
    assert [it.name for it in documented if len(it.doc.partition("\n")[0]) >= 80] == []


def test_a_parameter_is_described_in_at_most_three_lines(documented):
    long = [
        (each.name, name)
        for each in documented
        for name, lines in each.described.items()
        if len(lines) > 3
    ]
    assert long == [], "move the detail into Notes, or a page of the docs"


def test_every_parameter_is_described(documented):
    """Of functions, values and methods; a protocol or a base class may describe its methods."""
    elsewhere = _described_by_kinds(documented)
    missing = [
        (each.name, sorted(asked))
        for each in documented
        if _is_call(each) or not inspect.isclass(each.it) or _is_of_halfmask(each)
        if not LATER.match(each.name)
        if (asked := _asked(each.it) - set(each.described) - elsewhere(each))
    ]
    assert missing == []


def _is_of_halfmask(each):
    return each.name.split(".")[1] in halfmask.__all__


def _described_by_kinds(documented):
    """Return what finds the parameters of a method that a class of its kind describes."""
    by_function = {each.it: set(each.described) for each in documented}
    kinds = [it for it in _classes() if getattr(it, "_is_protocol", False)]

    def found(each):
        if inspect.isclass(each.it) or _is_call(each):
            return set()
        inner = each.name.rpartition(".")[2]
        asked = _asked(each.it)
        above = [base for it in _homes().get(each.it, ()) for base in it.__mro__[1:]]
        methods = (_own(vars(it)[inner]) for it in [*above, *kinds] if inner in vars(it))
        fitting = (it for it in methods if it is not None and asked <= _asked(it))
        return set().union(*(by_function.get(it, ()) for it in fitting))

    return found


@cache
def _classes():
    """Return all public classes."""
    named = (
        getattr(importlib.import_module(room), name)
        for room in ["halfmask", *_rooms()]
        for name in getattr(importlib.import_module(room), "__all__", ())
    )
    return [it for it in named if inspect.isclass(it)]


@cache
def _homes():
    """Return the public classes that have each of our functions, by the function."""
    found = defaultdict(list)
    for it in _classes():
        for own in filter(None, map(_own, vars(it).values())):
            found[own].append(it)
    return found


def _parameters(it):
    """Return the names of parameters; inputs that a ``**`` types one by one are parameters."""
    names = set()
    for each in inspect.signature(it).parameters.values():
        typed = re.fullmatch(r"Unpack\[(\w+)\]", str(each.annotation))
        names |= (
            set(inspect.unwrap(it).__globals__[typed[1]].__annotations__) if typed else {each.name}
        )
    return names


def test_what_is_described_is_a_parameter(documented):
    """A renamed parameter is renamed in its docstring too."""
    stale = [
        (each.name, sorted(wrong))
        for each in documented
        if inspect.isfunction(each.it) and "Attributes" not in each.sections
        if (wrong := set(each.described) - _parameters(each.it))
    ]
    assert stale == []


def _is_call(each):
    """Whether it is a function of a room, or a class whose own fields are its parameters."""
    if inspect.isclass(each.it):
        return not issubclass(each.it, BaseModel | Enum | Exception) and not getattr(
            each.it, "_is_protocol", False
        )
    return not each.name.split(".")[-2][0].isupper()


def _asked(it):
    """Return the parameters of a function, or of what a class defines itself."""
    if inspect.isclass(it) and not {"__init__", "__dataclass_fields__"} & set(vars(it)):
        return set()
    return {name for name in _parameters(it) if not name.startswith("_")} - {"self", "cls"}


def test_words_are_those_of_the_field(documented):
    found = [
        (each.name, word[0])
        for each in documented
        for word in RETIRED.finditer(NAMES.sub("", _prose(each)))
    ]
    assert found == []


def _prose(each):
    """Return the docstring in one line, without examples and names of parameters."""
    lines = (line for lines in each.sections.values() for line in lines)
    text = " ".join(it for it in lines if it and not it.strip().startswith((">>>", "...")))
    for name in each.described:
        text = text.replace(f" {name} ", " ")
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("it", MAIN, ids=lambda it: it.__name__)
def test_main_names_have_examples_and_neighbours(it):
    sections = Documented(it.__name__, it).sections

    assert {"Parameters", "See Also", "Examples"} <= set(sections)


def test_sections_stand_only_on_public_names_and_in_kernels(modules):
    public = _defined_as_public()
    wide = [
        f"{path}: {name}"
        for path, tree in modules.items()
        if not path.startswith("kernels/")
        for name, node in _definitions(tree)
        if (path, name) not in public and SECTION.search(ast.get_docstring(node) or "")
    ]
    assert wide == [], "say it in one line, or in a comment at the field that needs it"


def test_private_modules_list_no_names(modules):
    listing = [
        path
        for path, tree in modules.items()
        if any(part.startswith("_") and part != "__init__.py" for part in path.split("/"))
        if path != "_errors.py"  # its names are ours and the tests' list of all errors
        if any("__all__" in ast.unparse(node).partition("=")[0] for node in tree.body)
    ]
    assert listing == []


def _defined_as_public():
    """Return file and qualified name of what rooms export, and of the members of their classes."""
    found = set()
    for room in ["halfmask", *_rooms(inner=True)]:
        for name in getattr(importlib.import_module(room), "__all__", ()):
            it = getattr(importlib.import_module(room), name)
            bases = it.__mro__ if inspect.isclass(it) else ()
            inner = (_own(value) for base in bases for value in vars(base).values())
            found |= {
                _place(each) for each in [it, *bases, *inner] if hasattr(each, "__qualname__")
            }
    return found


def _place(it):
    file = sys.modules[it.__module__].__file__ if it.__module__.startswith("halfmask") else None
    return (file or "").partition("/src/halfmask/")[2], it.__qualname__


def _definitions(tree, above=""):
    """Yield the classes and functions of a syntax tree, each with its qualified name."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield above + node.name, node
            yield from _definitions(node, f"{above}{node.name}.")
        else:
            yield from _definitions(node, above)
