"""What each kind of release books, through the public functions."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import polars as pl
import pytest

from halfmask import (
    DataError,
    GuaranteeNotMetError,
    ParameterError,
    PolicyError,
    VaultError,
    protect,
)
from halfmask.book import BookSection
from halfmask.book._release_book import Pen
from halfmask.claims import read_manifest
from halfmask.crosstabs import TablesPolicy
from halfmask.databases import DatabasePolicy
from halfmask.microdata import Policy, mask

PEOPLE = pl.DataFrame(
    {"id": range(12), "age": [20, 21, 22, 40, 41, 42] * 2, "ill": ["a", "b", "c"] * 4}
)
COLUMNS = {
    "id": {"role": "identifier"},
    "age": {"role": "quasi_identifier", "kind": "numeric"},
    "ill": {"role": "sensitive", "kind": "categorical"},
}
BOOK = {"dataset": "people", "receiver": "university"}
CLASSES = {"columns": COLUMNS, "person": "id", "guarantees": [{"model": "k-anonymity", "k": 3}]}
TABLES = """
halfmask-tables = 1
[[tables]]
name = "ill"
dimensions = ["ill"]
[[rules]]
rule = "minimum-frequency"
n = 3
"""
DATABASE = """
halfmask-database = 1
[tables.people.columns]
id = { mask = { name = "token" } }
"""
SECTION = '[book]\ndataset = "people"\nreceiver = "university"\n'


def policy(sections=CLASSES, **book):
    return Policy(halfmask=1, **sections, book=BOOK | book)


def test_classes_are_checked_and_the_page_says_so(book, vault, tmp_path):
    first = protect(PEOPLE, policy(min_k=3), vault=vault).write(tmp_path / "1")
    half = PEOPLE.filter(pl.col("id") % 5 > 0)

    with pytest.raises(GuaranteeNotMetError, match="The book refuses"):
        protect(half, policy(min_k=3), vault=vault).write(tmp_path / "2")
    again = protect(PEOPLE, policy(min_k=3, reuse="last"), vault=vault).write(tmp_path / "3")

    assert [each.people for each in book.releases()] == [12, 12]
    assert "no earlier release" in first.checked[0]
    assert "Checked against 1 earlier release" in again.checked[0]
    page = (tmp_path / "3" / "report.html").read_text()
    assert "Checked against earlier releases" in page
    assert "nothing here counts that" not in page


def test_masks_alone_book_people_and_draws(book, vault, tmp_path):
    """Twice noise is a second draw; with the same key and table it is the same one."""
    noise = {"name": "noise", "law": "uniform", "scale": 5.0, "decimals": 0}
    columns = COLUMNS | {"age": {"role": "insensitive", "kind": "numeric", "mask": noise}}
    wanted = policy({"columns": columns}, person="id")

    said = [
        mask(PEOPLE, wanted, vault=vault, key=bytes([key]) * 32).write(tmp_path / str(n)).checked
        for n, key in enumerate((1, 1, 2))
    ]

    assert "no weaker" in said[1][0]
    assert any("12 people get another draw of 'age'" in each for each in said[2])
    assert [set(each.drawn) for each in book.releases()] == [{"age"}] * 3


DONUT = """
halfmask = 1
[columns]
id = { role = "identifier" }
x = { role = "insensitive", kind = "numeric" }
y = { role = "insensitive", kind = "numeric" }
[[masks]]
columns = ["x", "y"]
unit = "metres"
person = "id"
MASK
[maps.homes]
file = "homes.csv"
points = ["x", "y"]
unit = "metres"
[book]
dataset = "people"
receiver = "university"
person = "id"
"""


@pytest.mark.usefixtures("book")
@pytest.mark.parametrize(
    ("mask_of", "again"),
    [
        ('name = "donut"\nk = [2, 5]\naddresses = "homes"', "map"),
        ('name = "location-swap"\nradius = [1, 5000]', "rows"),
        ('name = "voronoi"', "rows"),
    ],
)
def test_points_have_a_second_draw_if_the_map_or_the_places_to_choose_from_change(
    mask_of, again, vault, tmp_path
):
    """A mask of the same words writes other points if its map, or other rows, are others."""
    homes = pl.DataFrame({"x": [100 * i for i in range(12)], "y": [7 * i * i for i in range(12)]})
    homes.write_csv(tmp_path / "homes.csv")
    (tmp_path / "policy.toml").write_text(DONUT.replace("MASK", mask_of))
    wanted = Policy.load(tmp_path / "policy.toml")
    people, said = homes.with_row_index("id"), []

    for number in range(2):
        made = mask(people, wanted, vault=vault, key=bytes(32))
        said.append(" ".join(made.write(tmp_path / str(number)).checked))
        if number and again == "map":
            homes.tail(9).write_csv(tmp_path / "homes.csv")
        elif number:
            people = people.tail(9)
    made = mask(people, wanted, vault=vault, key=bytes(32)).write(tmp_path / "last")

    assert "another draw" not in said[1]
    assert "get another draw of 'x'" in " ".join(made.checked)
    if again == "map":
        made = mask(people, wanted, vault=vault, key=bytes(32))
        (tmp_path / "homes.csv").unlink()
        with pytest.raises(DataError, match="file of a map can't be read"):
            made.write(tmp_path / "without")


@pytest.mark.usefixtures("book")
def test_spellings_of_a_person_are_unified(vault, tmp_path):
    """Two tables that spell people otherwise are about the same ones: counted as no newcomers."""
    person = {"role": "identifier", "normalize": ["trim", "casefold"]}
    wanted = policy(CLASSES | {"columns": COLUMNS | {"id": person}, "person": None}, person="id")
    names = pl.concat_str(pl.lit("P"), "id")

    protect(PEOPLE.with_columns(id=names), wanted, vault=vault).write(tmp_path / "1")
    again = protect(
        PEOPLE.with_columns(id=names.str.to_lowercase() + " "), wanted, vault=vault
    ).write(tmp_path / "2")

    assert "no weaker" in again.checked[0]
    assert "Together with the earlier releases, k = 6" in again.checked[1]


def test_tables_and_databases_are_booked(book, vault, tmp_path):
    """A copy of a database is pending until the target has its rows."""
    with closing(sqlite3.connect(tmp_path / "a.db")) as base, base:
        base.execute("create table people (id text)")
        base.execute("insert into people values ('Ann')")
    wanted = DatabasePolicy.from_toml(DATABASE + SECTION)
    made = protect(f"sqlite:///{tmp_path}/a.db", wanted, vault=vault)
    made.write(f"sqlite:///{tmp_path}/b.db", report=tmp_path / "report")
    tables = TablesPolicy.from_toml(TABLES + SECTION)
    counted = PEOPLE.with_columns(ill=pl.col("ill").replace("a", "ill"))  # as the column is called
    protect(counted, tables, vault=vault).write(tmp_path / "tables")
    again = protect(counted, tables, vault=vault).write(tmp_path / "again")

    assert [each.kind for each in book.releases()] == ["database", "tables", "tables"]
    assert [each.state for each in book.releases()] == ["left"] * 3
    assert "audited together with those of 1 earlier release" in again.checked[-1]
    assert "Checked against earlier" in (tmp_path / "report" / "report.html").read_text()
    assert "joined-releases" not in "".join(read_manifest(tmp_path / "tables").weaknesses)


def test_a_database_that_cannot_be_booked_is_not_copied(book, vault, tmp_path, monkeypatch):
    """Its rows become visible after it is booked: a copy that the book lacks can't be."""

    def refuse(*_, **__):
        raise VaultError("The book can't be written.")

    monkeypatch.setattr(Pen, "pending", refuse)
    with closing(sqlite3.connect(tmp_path / "a.db")) as base, base:
        base.execute("create table people (id text)")
    made = protect(
        f"sqlite:///{tmp_path}/a.db", DatabasePolicy.from_toml(DATABASE + SECTION), vault=vault
    )

    with pytest.raises(VaultError):
        made.write(f"sqlite:///{tmp_path}/b.db", report=tmp_path / "report")

    assert {each.name for each in tmp_path.iterdir()} == {"a.db", "vault", "key"}
    assert book.releases() == ()


def test_a_booking_may_be_given_instead_of_a_vault(book, tmp_path):
    """It also takes the place of what the policy says."""
    booking = book.booking(BookSection(dataset="people", receiver="registry"))

    protect(PEOPLE, policy(), book=booking).write(tmp_path / "1")
    plain = Policy(halfmask=1, **CLASSES)
    protect(PEOPLE, plain).write(tmp_path / "2", booking=booking)

    assert [each.receiver for each in book.releases()] == ["registry"] * 2
    assert [each.people for each in book.releases()] == [12] * 2
    with pytest.raises(ParameterError, match=r"has \[book\], and there is no vault"):
        protect(PEOPLE, policy())
    with pytest.raises(ParameterError, match=r"'book' parameter can't be used\. Got a ReleaseBook"):
        protect(PEOPLE, plain, book=book)


def test_a_policy_without_the_section_keeps_its_hash():
    """Hashes of 0.2 are in manifests that users have; counted before there was the section."""
    tables, database = TablesPolicy.from_toml(TABLES), DatabasePolicy.from_toml(DATABASE)
    assert Policy(halfmask=1, **CLASSES).sha256[:8] == HASHES[0]
    assert (tables.sha256[:8], database.sha256[:8]) == HASHES[1:]
    for text, kind in ((TABLES, TablesPolicy), (DATABASE, DatabasePolicy)):
        assert kind.from_toml(text + SECTION).sha256 != kind.from_toml(text).sha256


HASHES = ("0db57141", "4a23f970", "9c3c9093")


@pytest.mark.parametrize(
    ("keys", "sections", "says"),
    [
        ({"person": "age"}, CLASSES, "whose role isn't 'identifier'"),
        ({"person": "ide"}, CLASSES, "'ide'"),
        ({"match": ["agee"]}, CLASSES, "'agee'"),
        ({"min_l": 2}, CLASSES | {"columns": {**COLUMNS, "ill": COLUMNS["age"]}}, "min_l"),
        ({"accepted_by": "Ann"}, CLASSES, "needs both"),
        ({"accepted_by": "", "reason": " "}, CLASSES, "a word in each"),
        ({"receiver": ""}, CLASSES, "receiver"),
        ({"min_k": 1}, CLASSES, "min_k"),
        ({"join": "some"}, CLASSES, "join"),
        ({"min_k": 5}, {"columns": COLUMNS, "synthesis": {"kind": "full"}}, "'min_k'"),
        ({"person": "id"}, {"columns": COLUMNS, "synthesis": {"kind": "full"}}, "'person'"),
    ],
)
def test_a_section_that_does_not_fit_its_policy_is_refused(keys, sections, says):
    with pytest.raises(PolicyError, match=says):
        policy(sections, **keys)


@pytest.mark.parametrize(("kind", "text"), [(TablesPolicy, TABLES), (DatabasePolicy, DATABASE)])
def test_keys_about_people_mean_nothing_without_rows_of_them(kind, text):
    with pytest.raises(PolicyError, match="'reuse', which is about classes"):
        kind.from_toml(f'{text}{SECTION}reuse = "last"\n')
