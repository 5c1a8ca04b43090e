"""Free text in databases: names of the source are found, whatever becomes of their column."""

from __future__ import annotations

import pytest
from tests.databases.copying import copied, rows

from halfmask._errors import PolicyError

SCRIPT = """
create table people (name text primary key, id integer, note text);
create table visits (who text references people (name));
insert into people values ('Ann Lee', 1, 'Bob Ray called.'), ('Bob Ray', 2, 'Met Ann Lee, Bob Ray'),
  ('Cem Oz', 3, null);
insert into visits values ('Ann Lee'), ('Cem Oz');
"""
POLICY = """
halfmask-database = 1
[tables.people.columns]
name = { mask = { name = "token" } }
id = "keep"
note = "keep"
[[tables.people.masks]]
name = "free-text"
columns = ["note"]
types = []
names_from = ["name"]
[tables.visits.columns]
who = "reference"
"""
DROPPED = POLICY.replace('{ mask = { name = "token" } }', '"drop"').replace('"reference"', '"drop"')
DROPPED = DROPPED.replace('[tables.visits.columns]\nwho = "drop"', "[tables.visits]\ndrop = true")
SUBSET = '[subset]\ntable = "people"\nwhere = "id = 1"\n'
NOTES = [("<NAME> called.",), ("Met <NAME>, <NAME>",), (None,)]


@pytest.mark.parametrize("policy", [POLICY, DROPPED])
def test_names_of_linked_and_dropped_columns_are_found(tmp_path, policy):
    _, path = copied(tmp_path, policy, SCRIPT)

    assert rows(path, "select note from people order by id") == NOTES
    assert b"Ann" not in path.read_bytes()


@pytest.mark.parametrize("policy", [POLICY, DROPPED])
def test_names_of_rows_outside_the_subset_are_found(tmp_path, policy):
    _, path = copied(tmp_path, policy + SUBSET, SCRIPT)

    assert rows(path, "select note from people") == NOTES[:1]


def test_a_column_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(PolicyError, match="reads the column 'nam'"):
        copied(tmp_path, POLICY.replace('["name"]', '["nam"]'), SCRIPT)
