"""Masks of all kinds in a copy of PostgreSQL: pseudonyms, dates of a person, averages of groups."""

from __future__ import annotations

import datetime as dt

import pytest

from halfmask._errors import PolicyError
from halfmask.databases import DatabasePolicy, protect_database

SHOP = """
CREATE SCHEMA src;
CREATE TABLE src.people (
  code char(6) PRIMARY KEY, name varchar(80), born date, income float8, assets float8,
  at timestamptz);
CREATE TABLE src.visits (
  id serial PRIMARY KEY, code char(6) REFERENCES src.people, came date, left_at timestamp);
INSERT INTO src.people SELECT lpad(g::text, 6, '0'), 'Ann Doe', date '1990-01-01' + g, g, g * 2,
  '2020-05-17 10:31:07+00' FROM generate_series(1, 30) g;
INSERT INTO src.visits (code, came, left_at) SELECT lpad((g % 30 + 1)::text, 6, '0'),
  date '2020-01-01' + g, timestamp '2020-01-02' + g * interval '1 day'
  FROM generate_series(1, 90) g
"""
POLICY = """
halfmask-database = 1
[tables.people.columns]
code = { mask = { name = "format-preserving" } }
name = { mask = { name = "substitute", kind = "name" } }
born = "keep"
income = "keep"
assets = "keep"
at = { mask = { name = "coarsened-dates", to = "month" } }
[[tables.people.masks]]
name = "microaggregation"
columns = ["income", "assets"]
k = 3
[[tables.people.masks]]
name = "shifted-dates"
columns = ["born"]
person = "code"
max_days = 300
domain = "person"
[tables.visits.columns]
id = "keep"
code = "reference"
came = "keep"
left_at = "keep"
[[tables.visits.masks]]
name = "shifted-dates"
columns = ["came", "left_at"]
person = "code"
max_days = 300
domain = "person"
"""


@pytest.fixture
def shop(postgres):
    pytest.importorskip("faker")
    postgres.run(SHOP)
    return postgres


def copy(shop, folder, policy=POLICY):
    return protect_database(
        f"{shop.url}&schema=src",
        DatabasePolicy.from_toml(policy),
        f"{shop.url}&schema=masked",
        report=folder / "report",
        key=bytes(32),
    )


def test_dates_of_a_person_move_together_in_all_tables(shop, tmp_path):
    copy(shop, tmp_path)

    query = (
        "SELECT v.id, v.came - p.born, v.left_at - v.came FROM {0}.visits v JOIN {0}.people p"
        " ON p.code = v.code ORDER BY 1"
    )
    before, after = (shop.run(query.format(schema)) for schema in ("src", "masked"))
    assert [row[1:] for row in before] == [row[1:] for row in after]
    born = [it for (it,) in shop.run("SELECT born FROM masked.people")]
    assert all(it.year in {1989, 1990} for it in born)
    assert not {dt.date(1990, 1, 1) + dt.timedelta(n) for n in range(1, 31)} >= set(born)


@pytest.mark.slow
def test_pseudonyms_keep_their_form_and_join(shop, tmp_path):
    found = copy(shop, tmp_path)

    assert {it.name: it.n_masked for it in found.tables} == {"people": 6, "visits": 3}
    rows = shop.run("SELECT code::text, name FROM masked.people")
    assert len({code for code, _ in rows}) == 30
    assert all(len(code) == 6 and code.isdigit() for code, _ in rows)
    assert {name for _, name in rows} != {"Ann Doe"}
    assert shop.run("SELECT count(*) FROM masked.visits JOIN masked.people USING (code)") == [(90,)]


def test_groups_have_averages(shop, tmp_path):
    copy(shop, tmp_path)

    groups = shop.run("SELECT count(*) FROM masked.people GROUP BY income, assets")
    assert min(n for (n,) in groups) >= 3


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('columns = ["born"]', 'columns = ["at"]', "both change the column 'at'"),
        ('["income", "assets"]', '["income", "code"]', "the column 'code': it is a key"),
        ('income = "keep"', 'income = "drop"', "changes the column 'income', which isn't copied"),
        (
            'name = "microaggregation"\ncolumns = ["income", "assets"]\nk = 3',
            'name = "sampling"\nfraction = 0.5',
            "drops rows",
        ),
    ],
)  # fmt: skip
def test_masks_that_do_not_fit_are_refused(shop, tmp_path, old, new, says):
    assert old in POLICY

    with pytest.raises(Exception, match=says) as caught:
        copy(shop, tmp_path, POLICY.replace(old, new))

    assert isinstance(caught.value, PolicyError | ValueError)
    assert list(tmp_path.iterdir()) == []
