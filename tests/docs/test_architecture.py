"""ARCHITECTURE.md lists the rooms in the order of the contract, files that exist, and all kinds."""

from __future__ import annotations

import re
import tomllib

from halfmask.release._kinds import KINDS
from halfmask.verifier import checks

CODE = re.compile(r"`([^`]+)`")
#: A file's name with its folders, or a folder.
PATH = re.compile(r"[\w.-]+(/[\w.-]+)*(\.(py|md|toml)|/)")


def first_cells(page_at, heading):
    """Return the first cell of each line of the table under a column's heading."""
    table = page_at("ARCHITECTURE.md").text.partition(f"\n| {heading} |")[2].partition("\n\n")[0]
    return [line.split("|")[1] for line in table.splitlines()[2:]]


def layers(repository):
    """Return the rooms of the contract from the top of the page to its end, those that exist."""
    settings = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (it for it in settings["tool"]["importlinter"]["contracts"] if "layers" in it)
    return [
        {room.strip().removeprefix("halfmask.") for room in layer.split(":")}
        for layer in reversed(contract["layers"])
        if not layer.startswith("(")
    ]


def test_rooms_stand_in_the_order_of_the_contract(page_at, repository):
    listed = [
        name.partition("/")[0]
        for cell in first_cells(page_at, "room")
        for name in CODE.findall(cell)
    ]

    placed = {room: place for place, layer in enumerate(layers(repository)) for room in layer}
    assert {*listed} == {*placed}
    places = [placed[room] for room in listed]
    assert places == sorted(places)


def test_each_kind_is_listed(page_at):
    listed = [name for cell in first_cells(page_at, "kind") for name in CODE.findall(cell)]

    assert {*listed} == {*checks.KINDS}
    assert {*listed} - {"events"} == {*KINDS}


def test_each_file_that_is_named_exists(page_at, repository):
    named = [it for it in CODE.findall(page_at("ARCHITECTURE.md").text) if PATH.fullmatch(it)]
    source = repository / "src" / "halfmask"

    assert len(named) > 50
    for name in named:
        there = (repository / name).exists() or any(source.glob(f"**/{name}"))
        assert there or "_its_name" in name, name
