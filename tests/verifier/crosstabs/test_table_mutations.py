"""Every change of a release that is protected: what still verifies is true, or says less."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import suppress

import polars as pl
import pytest

import halfmask
from verifier.crosstabs.table_releases import (  # type: ignore[import-not-found] # beside
    Table,
    cells_of,
    change,
    claim,
    flat,
    intervals,
    protected,
    release,
)

ROW, COLUMN = flat("row", "r1", "r2", "r3"), flat("column", "c1", "c2", "c3")
INNER = {(row, column): 4 for row in ROW.codes[1:] for column in COLUMN.codes[1:]}
INNER |= {("r1", "c1"): 2, ("r2", "c3"): 9}
SQUARE = {("r1", "c1"), ("r1", "c2"), ("r2", "c1"), ("r2", "c2")}
PEOPLE = pl.DataFrame(
    [place for place, n in INNER.items() for _ in range(n)], schema=["row", "column"], orient="row"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A release that needs all four of its hidden cells."""
    table = Table("t", (ROW, COLUMN), cells_of(INNER, (ROW, COLUMN)), SQUARE)
    claims = [
        claim("true-values", cells=12),
        claim("additive", equations=4),
        intervals(6, 4),
        protected([{"rule": "minimum-frequency", "n": 3}], sensitive=1),
    ]
    folder = release(tmp_path_factory.mktemp("made") / "r", [table], claims)
    assert halfmask.verify(folder, originals=PEOPLE).holds
    return folder


@pytest.fixture
def folder(made, tmp_path):
    return shutil.copytree(made, tmp_path / "r")


def holds(folder):
    try:
        return halfmask.verify(folder, originals=PEOPLE).holds
    except halfmask.VerificationError:
        return False


@pytest.mark.slow
def test_each_cell_published_hidden_or_changed(folder):
    path, crossed = folder / "data" / "t.csv", folder / "data" / "t-crossed.csv"
    table = Table("t", (ROW, COLUMN), cells_of(INNER, (ROW, COLUMN)), SQUARE)
    for cell, value in dict(table.cells).items():
        for new, hidden in (
            (value, table.hidden ^ {cell}),
            (value + 1, SQUARE),
            (value + 1, SQUARE - {cell}),
            (0, SQUARE - {cell}),
        ):
            if cell in hidden and cell in SQUARE:
                continue  # it is as it was
            other = Table("t", table.dimensions, table.cells | {cell: new}, hidden)
            other.frame().write_csv(path)
            crossed.write_text("".join(",".join(line) + "\n" for line in other.lines()))
            change(folder)
            assert not holds(folder), (new, len(hidden))


#: What may be changed: it is no number that is checked, or the claim then says less.
FREE = re.compile(
    r"created|software|policy|weaknesses|details/method|details/zeros|details/tables/0/name"
    r"|files/\d+/(sha256|bytes)"
)
LESS = re.compile(
    r"details/dimensions/\d/sums$|claims(/\d+)?$|claims/3/about/rules$|claims/0/evidence/cells|claims/1/evidence/equations"
    r"|claims/2/(parameters/least_width|evidence/narrowest)"
    r"|claims/3/(about/rules/0/n|evidence(/sensitive)?$|parameters/.*)"
)


def leaves(said, place=()):
    """Yield the place of every value, list and object of a manifest."""
    if place:
        yield place
    if isinstance(said, dict | list):
        for key, each in said.items() if isinstance(said, dict) else enumerate(said):
            yield from leaves(each, (*place, key))


def changes(value):
    """Yield other values than one."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value + 1, -value - 1, value * 10 + 1, 1e300, str(value))
    elif isinstance(value, str):
        yield from (f"{value}x", "", "Total", "r2", None)
    elif isinstance(value, list):
        yield from ([*value, *value], [], value[1:])
    elif isinstance(value, dict):
        yield {}
    else:
        yield from ("x", 0, True, [])


@pytest.mark.slow
def test_each_field_of_the_manifest(folder):
    path = folder / "manifest.json"
    original = path.read_text()
    kept = 0
    for place in leaves(json.loads(original)):
        *outer, last = place
        name = "/".join(map(str, place))
        for number in range(8):
            said = json.loads(original)
            at = said
            for key in outer:
                at = at[key]
            new = [it for it in changes(at[last]) if it != at[last]]
            if number > len(new):
                break
            if number == len(new):
                del at[last]
            else:
                at[last] = new[number]
            path.write_text(json.dumps(said))
            if holds(folder):
                kept += 1
                assert FREE.match(name) or LESS.match(name), (name, number)
    assert kept > 20


def test_parts_of_the_claim_that_say_less_still_hold(folder):
    def weaker(said):
        said["claims"][2]["parameters"]["least_width"] = 1
        said["claims"][3]["parameters"]["singletons"] = "off"

    change(folder, weaker)
    with suppress(halfmask.VerificationError):
        assert holds(folder)
