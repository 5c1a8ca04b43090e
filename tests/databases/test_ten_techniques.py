"""One policy with eleven techniques on a real PostgreSQL."""

from __future__ import annotations

from halfmask.databases import DatabasePolicy, protect_database

PEOPLE = """
CREATE SCHEMA src;
CREATE TABLE src.people (
  id integer PRIMARY KEY, name varchar(80) NOT NULL, phone varchar(80), age integer,
  income float8, bonus integer, score integer, hours integer, job varchar(40), note varchar(40),
  seen date, assets float8, debt float8, rank integer);
INSERT INTO src.people SELECT g, 'Person ' || g, '555-' || (1000 + g), 18 + g % 60, g * 100.5,
  g * 37, g, g % 50, CASE g % 3 WHEN 0 THEN 'cook' WHEN 1 THEN 'nurse' ELSE 'judge' END,
  'note ' || g, date '2020-01-01' + g, g * 7, g * 11 % 97, g FROM generate_series(1, 200) g
"""
POLICY = """
halfmask-database = 1
[tables.people.columns]
id = "keep"
name = { mask = { name = "token" } }
phone = { mask = { name = "reversible-token" } }
age = { mask = { name = "round", base = 5 } }
income = { mask = { name = "tails", high = 15000 } }
bonus = { mask = { name = "noise", law = "uniform", scale = 50.0, decimals = 0 } }
score = { mask = { name = "random-rounding", base = 10 } }
hours = "keep"
job = { mask = { name = "pram", keep = 0.7 } }
note = { mask = { name = "redact", text = "-" } }
seen = { mask = { name = "coarsened-dates", to = "month" } }
assets = "keep"
debt = "keep"
rank = "keep"
[[tables.people.masks]]
name = "microaggregation"
columns = ["assets", "debt"]
k = 5
[[tables.people.masks]]
name = "rank-swapping"
columns = ["rank"]
max_rank_distance = 0.1
"""


def test_eleven_techniques_in_one_copy(postgres, tmp_path):
    """Each column is as its technique writes it, and the report names all of them."""
    postgres.run(PEOPLE)

    protect_database(
        f"{postgres.url}&schema=src",
        DatabasePolicy.from_toml(POLICY),
        f"{postgres.url}&schema=masked",
        report=tmp_path / "report",
        key=bytes(32),
    )

    rows = postgres.run("SELECT * FROM masked.people ORDER BY id")
    raw = postgres.run("SELECT * FROM src.people ORDER BY id")
    columns = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
    before = dict(zip(COLUMNS, zip(*raw, strict=True), strict=True))
    assert len(rows) == 200
    assert not set(columns["name"]) & set(before["name"])
    assert not set(columns["phone"]) & set(before["phone"])
    assert all(age % 5 == 0 for age in columns["age"])
    assert max(columns["income"]) == 15000
    assert all(score % 10 == 0 for score in columns["score"])
    assert set(columns["note"]) == {"-"}
    assert {day.day for day in columns["seen"]} == {1}
    groups = list(zip(columns["assets"], columns["debt"], strict=True))
    assert min(groups.count(each) for each in set(groups)) >= 5
    assert sorted(columns["rank"]) == sorted(before["rank"])
    assert all(
        abs(now - was) <= 50 for now, was in zip(columns["bonus"], before["bonus"], strict=True)
    )
    for changed in ("bonus", "job", "rank"):
        assert columns[changed] != before[changed]
    assert columns["hours"] == before["hours"]


COLUMNS = (
    *("id", "name", "phone", "age", "income", "bonus", "score", "hours", "job", "note"),
    *("seen", "assets", "debt", "rank"),
)
