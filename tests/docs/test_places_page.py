"""The page about places: what it shows without running it is a valid policy."""

from __future__ import annotations

import re
from inspect import signature

import pytest

from halfmask.masks import TABLE_MASKS
from halfmask.microdata import Policy

PAGE = "docs/how-to/mask-places.md"
HEAD = "halfmask = 1\n"
COLUMNS = """
[columns.sex]
role = "quasi_identifier"
kind = "categorical"
"""
POINT = """
longitude = { role = "insensitive", kind = "numeric" }
latitude = { role = "insensitive", kind = "numeric" }
"""
GUARANTEE = '[[guarantees]]\nmodel = "k-anonymity"\nk = 10\n'
MAPS = """
[maps.counties]
file = "counties.geojson"
name = "id"
people = "people"
[maps.dwellings]
file = "dwellings.csv"
points = ["x", "y"]
[maps.zips]
file = "zips.csv"
name = "zip"
people = "people"
"""


def test_blocks_of_toml_are_valid(page_at):
    blocks = page_at(PAGE).blocks("toml")
    maps, masks = (next(it for it in blocks if word in it) for word in ("[columns.", "[[masks]]"))

    places = Policy.from_toml(HEAD + maps + COLUMNS + GUARANTEE)
    assert set(places.maps) == {"dwellings", "counties", "population"}
    moved = Policy.from_toml(HEAD + "[columns]" + POINT + masks)
    assert [it.name for it in moved.table_masks] == ["donut"]
    assert len(blocks) == 2


def test_every_rule_of_the_table_is_valid(page_at):
    table = page_at(PAGE).text.split("| hierarchy |")[1].split("\n\n")[0]
    rules = re.findall(r"^\| `(.+?)` \|", table, re.MULTILINE)
    assert len(rules) == 6
    for rule in rules:
        points = "" if "zip3" in rule else 'points = ["longitude", "latitude"]'
        place = f'[columns.home]\nrole = "quasi_identifier"\nkind = "geo"\n{points}\n'
        place += f"hierarchy = {{ {rule} }}\n"
        assert Policy.from_toml(HEAD + MAPS + place + COLUMNS + GUARANTEE).columns["home"].place


@pytest.mark.parametrize("column", [0, 2])
def test_the_table_has_every_mask_of_points_and_its_parameters(page_at, column):
    table = page_at(PAGE).text.split("| mask | what it writes")[1].split("\n\n")[0]
    rows = [row.split("|")[1:-1] for row in table.splitlines()[2:]]
    quoted = [set(re.findall(r"`([\w-]+)`", row[column])) for row in rows]
    known = {name: set(signature(mask).parameters) for name, mask in TABLE_MASKS.items()}
    geomasks = {
        name: words
        for name, words in known.items()
        if {"unit", "columns"} <= words and name != "trimmed-ends"
    }
    if column == 0:
        assert set.union(*quoted) == set(geomasks)
    else:
        for row, names in zip(rows, quoted, strict=True):
            assert names <= geomasks[row[0].strip(" `")]
