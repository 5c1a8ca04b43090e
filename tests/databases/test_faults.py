"""Errors of a copy: where they are, all of one kind in one run, and never a cell."""

from __future__ import annotations

import pytest
from tests.databases.copying import CANARY, copied

from halfmask._errors import DataError, ParameterError, ReleaseError, SchemaError
from halfmask.databases import DatabasePolicy, protect_database

ROUND = '{ mask = { name = "round", base = 10 } }'
SEALED = '{ mask = { name = "format-preserving" } }'


def copy(postgres, folder, made, tables):
    policy = "halfmask-database = 1\n"
    for table, columns in tables.items():
        policy += f"[tables.{table}.columns]\n"
        policy += "".join(f"{name} = {rule}\n" for name, rule in columns.items())
    postgres.run(f"CREATE SCHEMA src;\n{made}")
    return protect_database(
        f"{postgres.url}&schema=src",
        DatabasePolicy.from_toml(policy),
        f"{postgres.url}&schema=masked",
        report=folder / "report",
        key=bytes(32),
    )


def test_all_keys_that_are_not_unique_are_told_with_their_table(postgres, tmp_path):
    made = (
        "CREATE TABLE src.a (k int PRIMARY KEY, v int UNIQUE);\n"
        "CREATE TABLE src.b (k int);\nCREATE UNIQUE INDEX once ON src.b (k);\n"
        "INSERT INTO src.a VALUES (1, 1), (2, 2);\nINSERT INTO src.b VALUES (1), (2)"
    )
    with pytest.raises(DataError) as caught:
        copy(postgres, tmp_path, made, {"a": {"k": ROUND, "v": ROUND}, "b": {"k": ROUND}})

    for place in (
        "key 'a_pkey' of the table 'a'",
        "key 'a_v_key'",
        "index 'once' of the table 'b'",
    ):
        assert f"at the {place}" in caught.value.what
    assert caught.value.what.count("23505") == 3


def test_the_column_of_a_missing_cell_is_told(postgres, tmp_path):
    made = "CREATE TABLE src.t (k float8 NOT NULL);\nINSERT INTO src.t VALUES ('NaN')"

    with pytest.raises(DataError, match=r"column 'k' of the table 't': A cell is missing .*23502"):
        copy(postgres, tmp_path, made, {"t": {"k": ROUND}})


def test_values_that_masks_refuse_are_told_in_one_run(postgres, tmp_path):
    made = (
        "CREATE TABLE src.a (k text, v text, w smallint, ok text);\n"
        f"INSERT INTO src.a VALUES ('1', '{CANARY}é', 32767, '123-456-789');\n"
        "CREATE TABLE src.b (k text);\nINSERT INTO src.b VALUES ('22')"
    )
    columns = {"k": SEALED, "v": SEALED, "w": ROUND, "ok": SEALED}
    with pytest.raises(DataError) as caught:
        copy(postgres, tmp_path, made, {"a": columns, "b": {"k": SEALED}})

    what = caught.value.what
    assert what.startswith("There are 4 faults:")
    for name, table in (("k", "a"), ("v", "a"), ("w", "a"), ("k", "b")):
        assert any(repr(name) in it and f"'{table}'" in it for it in what.splitlines())
    assert "'ok'" not in what
    assert CANARY not in repr(caught.value)


def test_masks_for_other_types_are_told_in_one_run(tmp_path):
    script = (
        "create table t (a text, b text); create table u (c text);"
        "insert into t values ('x', 'y'); insert into u values ('z');"
    )
    policy = (
        f"halfmask-database = 1\n[tables.t.columns]\na = {ROUND}\nb = {ROUND}\n"
        f"[tables.u.columns]\nc = {ROUND}\n"
    )
    with pytest.raises(SchemaError) as caught:
        copied(tmp_path, policy, script)

    assert [repr(name) in caught.value.what for name in "abc"] == [True] * 3


def test_a_key_of_sqlite_is_told_by_its_column(tmp_path):
    script = "create table t (k integer primary key, v); insert into t values (1, 1), (2, 2);"
    policy = f'halfmask-database = 1\n[tables.t.columns]\nk = {ROUND}\nv = "keep"\n'

    with pytest.raises(DataError, match=r"a key isn't unique.*\(t\.k\)"):
        copied(tmp_path, policy, script)


@pytest.mark.parametrize("tables", ["t", "tu"], ids=["one fault", "two faults"])
def test_the_terminal_reads_its_own_option_in_an_error_of_several(tmp_path, tables):
    script = "".join(f"create table {it} (a text); insert into {it} values ('x');" for it in tables)
    rule = '{ mask = { name = "format-preserving", scope = "vault" } }'
    policy = "halfmask-database = 1\n"
    policy += "".join(f"[tables.{it}.columns]\na = {rule}\n" for it in tables)

    with pytest.raises(ParameterError, match="vault=") as caught:
        copied(tmp_path, policy, script)

    at_terminal = str(caught.value.at_terminal[1])
    assert "--vault" in at_terminal
    assert "vault=" not in at_terminal
    assert "--vault" not in str(caught.value.hint)


@pytest.mark.parametrize(
    ("there", "overwrite", "told"),
    [
        (lambda at: at.mkdir(), False, "The report folder exists."),
        (lambda at: at.mkdir(), True, "The report folder exists, and halfmask didn't make it"),
        (lambda at: at.write_text(""), False, "A file or a link has the name of the report folder"),
    ],
    ids=["exists", "not ours", "file"],
)
def test_an_error_names_what_the_report_folder_is(tmp_path, there, overwrite, told):
    """The copy writes two things: an error says which of them can't be written."""
    there(tmp_path / "masked.db.report")

    with pytest.raises(ReleaseError) as caught:
        copied(tmp_path, overwrite=overwrite)

    assert caught.value.what.startswith(told)


def test_a_report_without_a_parent_folder_says_so(tmp_path):
    with pytest.raises(ReleaseError, match="parent folder of the report folder"):
        copied(tmp_path, name="none/masked.db")
