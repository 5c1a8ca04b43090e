"""Every room says what it is for and what is public in it, and public names are there."""

from __future__ import annotations

import ast
import importlib
import pkgutil

import pytest

import halfmask

ROOMS = sorted(
    found.name for found in pkgutil.walk_packages(halfmask.__path__, "halfmask.") if found.ispkg
)


def _order(name):
    """Constants, classes, then functions, each by the alphabet."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def test_there_are_rooms():
    assert "halfmask.verifier.tables" in ROOMS


@pytest.mark.parametrize("name", ["halfmask", *ROOMS])
def test_a_room_opens_with_what_it_is_for(name):
    room = importlib.import_module(name)

    assert room.__doc__
    first = room.__doc__.partition("\n")[0]
    assert first.endswith((".", ":"))
    assert len(first) > 20


@pytest.mark.parametrize("name", ["halfmask", *ROOMS])
def test_public_names_are_listed_once_in_order_and_there(name):
    room = importlib.import_module(name)
    listed = list(getattr(room, "__all__", ()))

    assert listed == sorted(set(listed), key=_order)
    for each in listed:
        assert getattr(room, each) is not None


def test_what_the_package_lists_is_what_it_finds():
    assert {*halfmask._ROOMS, "__version__"} == set(halfmask.__all__)
    assert dir(halfmask) == sorted(halfmask.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        halfmask.nothing  # noqa: B018 # asking is the point


def test_a_public_name_of_the_package_is_public_in_its_room():
    for name, room in halfmask._ROOMS.items():
        assert name in importlib.import_module(f"halfmask.{room}").__all__


def test_modules_list_only_what_they_hold(modules):
    for path, tree in modules.items():
        held = {node.name for node in tree.body if hasattr(node, "name")}
        listed = set()
        for node in tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = {
                    each.id
                    for target in targets
                    for each in ast.walk(target)
                    if isinstance(each, ast.Name)
                }
                held |= names
                if "__all__" in names and node.value is not None:
                    listed |= set(ast.literal_eval(node.value))
            if isinstance(node, ast.ImportFrom | ast.Import | ast.If):
                held |= {
                    alias.asname or alias.name
                    for inner in ast.walk(node)
                    if isinstance(inner, ast.ImportFrom | ast.Import)
                    for alias in inner.names
                }
        assert listed <= held, path
