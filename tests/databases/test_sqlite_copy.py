"""Copies of SQLite files: what is masked, kept, left out, refused and never left behind."""

from __future__ import annotations

import contextlib
import itertools
import json
import sqlite3
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from tests.databases.copying import CANARY, POLICY, SHOP, copied, make, rows

from halfmask._errors import (
    ColumnNotFoundError,
    DataError,
    ParameterError,
    PolicyError,
    ReleaseError,
    SchemaError,
    VerificationError,
)
from halfmask.databases import DatabasePolicy, _copying, _sqlite_target, protect_database
from halfmask.masks import KeyedTokens
from halfmask.verifier import verify

ID = 'id = { mask = { name = "token" } }'


def test_linked_columns_have_equal_tokens(tmp_path):
    found, path = copied(tmp_path)

    assert {it.name: it.n_rows for it in found.tables} == {
        "lines": 2,
        "orders": 4,
        "people": 4,
        "towns": 0,
    }
    bosses = rows(path, "select b.email, p.email from people p left join people b on b.id = p.boss")
    # (None, a), (a, b), (b, None), (None, d) in the source; the rows lie in the order of tokens.
    ((first, second),) = [pair for pair in bosses if None not in pair]
    others = {mine for boss, mine in bosses if boss is None}
    assert len(others) == 2
    assert first in others
    assert (second, None) in bosses
    assert len({first, second} | others) == 3
    joined = "select o.id, o.price from orders o join people p on p.id = o.buyer order by 1"
    assert rows(path, joined) == rows(tmp_path / "shop.db", joined)


def test_no_raw_value_of_a_masked_or_dropped_column_is_in_the_file(tmp_path):
    _, path = copied(tmp_path)

    assert CANARY.encode() not in path.read_bytes()
    assert b"a@x" not in path.read_bytes()
    assert "name" not in [it[1] for it in rows(path, "pragma table_info(people)")]


def test_keys_indexes_and_references_are_made_again(tmp_path):
    found, path = copied(tmp_path)

    assert rows(path, "pragma foreign_key_check") == []
    assert [it[2:5] for it in rows(path, "pragma foreign_key_list(orders)")] == [
        ("people", "buyer", "id")
    ]
    names = [name for (name,) in rows(path, "select name from sqlite_schema where type = 'index'")]
    assert "price_of" in names
    with pytest.raises(sqlite3.IntegrityError):
        rows(path, "insert into lines select * from lines")
    with pytest.raises(sqlite3.IntegrityError):
        rows(path, "insert into people (id, email) select 'x', email from people where email > ''")
    assert found.left_out == ("check 'CHECK' of the table 'orders'",)
    assert rows(
        path, "select dflt_value from pragma_table_info('orders') where name = 'price'"
    ) == [("5",)]


INDEXED = f"""
create table people (id integer primary key, name text, town text);
insert into people values (1, '{CANARY}', 'Bree'), (2, 'Bob', 'Archet');
create table towns (name text);
create index there on towns (name) where name <> 'Bree';
"""
NAMED = """
halfmask-database = 1
[tables.people.columns]
id = "keep"
name = { mask = { name = "token" } }
town = "keep"
[tables.towns.columns]
name = "keep"
"""


@pytest.mark.parametrize("rule", ['{ mask = { name = "token" } }', '"drop"'])
@pytest.mark.parametrize(
    "index",
    [
        f"index it on people (id) where name = '{CANARY}'",
        f"unique index it on people (id) where name = '{CANARY}'",
        f"index it on people (id, (name = '{CANARY}'))",
        f"index it on people (name || '{CANARY}')",
        f"unique index it on people (id, name = '{CANARY}')",
    ],
)
def test_an_index_with_values_of_a_masked_column_is_left_out(tmp_path, index, rule):
    policy = NAMED.replace('{ mask = { name = "token" } }', rule)
    found, path = copied(tmp_path, policy, f"{INDEXED}create {index};")

    assert found.left_out == ("index 'it' of the table 'people'",)
    assert CANARY.encode() not in path.read_bytes()
    assert rows(path, "select name from sqlite_schema where type = 'index'") == [("there",)]


def test_a_plain_index_is_made_again_without_comments(tmp_path):
    index = f'unique index "i ""x" on people (name collate nocase desc, -- {CANARY}\n id)'
    found, path = copied(tmp_path, NAMED, f"{INDEXED}create {index};")

    assert found.left_out == ()
    assert CANARY.encode() not in path.read_bytes()
    for query in (
        "select * from pragma_index_xinfo('i \"x')",
        "select * from pragma_index_list('people')",
    ):
        assert rows(path, query) == rows(tmp_path / "shop.db", query) != []


def test_a_table_without_masks_keeps_its_definition(tmp_path):
    script = "create table t (a integer check (a > 0), b text collate nocase) strict;"
    policy = 'halfmask-database = 1\n[tables.t.columns]\na = "keep"\nb = "keep"'

    found, path = copied(tmp_path, policy, script)

    assert rows(path, "select sql from sqlite_schema") == [
        (script[:-1].replace("create table", "CREATE TABLE"),)
    ]
    assert found.left_out == ()


def test_one_key_gives_one_token_in_all_tables_and_releases(tmp_path):
    _, first = copied(tmp_path)
    _, again = copied(tmp_path, name="again.db")
    _, other = copied(tmp_path, name="other.db", key=None)

    query = "select id, email from people order by 1"
    assert rows(first, query) == rows(again, query) != rows(other, query)


def test_columns_of_a_domain_have_equal_tokens(tmp_path):
    script = SHOP + "create table letters (sent_to text); insert into letters values ('a@x');"
    mask = '{ mask = { name = "token", digits = 16, domain = "email" } }'
    _, path = copied(tmp_path, f"{POLICY}[tables.letters.columns]\nsent_to = {mask}\n", script)

    assert rows(path, "select count(*) from people join letters on sent_to = email") == [(1,)]


def test_a_mask_that_needs_all_values_is_fitted_to_its_column(tmp_path):
    policy = POLICY.replace(
        'price = "keep"', 'price = { mask = { name = "tails", high_share = 0.25 } }'
    )
    _, path = copied(tmp_path, policy)

    assert rows(path, "select max(price) from orders") == [(2.5,)]


def test_noise_is_drawn_by_row(tmp_path):
    mask = 'price = { mask = { name = "noise", law = "laplace", scale = 1.0, decimals = 6 } }'
    _, path = copied(tmp_path, POLICY.replace('price = "keep"', mask))

    noise = np.array(rows(path, "select price from orders")) - [[2.5], [3], [1.5], [2]]
    assert len(set(noise.ravel())) == 4


def test_the_report_names_masks_and_no_cell(tmp_path):
    copied(tmp_path)

    report = tmp_path / "masked.db.report"
    manifest = json.loads((report / "manifest.json").read_text())
    assert manifest["kind"] == "database"
    assert manifest["details"]["tables"][0] == {"name": "lines", "rows": 2}
    linked = {(it["table"], it["column"]) for it in manifest["details"]["masks"] if it["linked"]}
    assert linked == {
        ("lines", "buyer"), ("orders", "buyer"), ("people", "boss"), ("people", "id"),
    }  # fmt: skip
    text = (report / "report.html").read_text()
    assert CANARY not in text
    assert CANARY not in str(manifest)
    assert "Masks are no privacy model" in text


@pytest.fixture
def release(tmp_path):
    """A copy, its report and its source: what `verify` takes."""
    _, path = copied(tmp_path)
    return {
        "release": tmp_path / "masked.db.report",
        "copy": path,
        "originals": f"sqlite:///{tmp_path / 'shop.db'}",
    }


def test_the_copy_is_counted_again(release):
    found = verify(**release)

    assert found.holds, found.sentences()
    assert (found.kind, found.is_broken) == ("database", False)
    counted = [it.found["rows"] for it in found.claims if it.model == "rows-of-table"]
    assert counted == [2, 4, 4, 0]
    assert {it.model for it in found.claims} == {
        "rows-of-table", "references-hold", "unchanged-cells"
    }  # fmt: skip


@pytest.mark.parametrize("lacks", ["copy", "originals"])
def test_what_takes_a_database_is_not_checked_without(release, lacks):
    found = verify(**{name: it for name, it in release.items() if name != lacks})

    assert not found.holds
    assert not found.is_broken
    with pytest.raises(VerificationError, match="could be checked"):
        found.raise_if_broken()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("delete from lines where rowid = 1", "rows-of-table"),
        ("update lines set buyer = 'nobody' where rowid = 1", "references-hold"),
        (
            "update orders set price = 9.25 where id = (select min(id) from orders)",
            "unchanged-cells",
        ),
        (
            "update orders set price = null where id = (select min(id) from orders)",
            "unchanged-cells",
        ),
        ("create table raw as select * from people", "1 other tables"),
        ("create view raw as select * from people", "1 other tables"),
        ("alter table people add column raw text", "1 columns without a mask"),
        ("drop table towns", "can't read the files"),
    ],
)
def test_a_changed_copy_is_noticed(release, change, said):
    with contextlib.closing(sqlite3.connect(release["copy"])) as base, base:
        base.execute(change)

    found = verify(**release)
    assert found.is_broken
    assert any(said in each for each in found.sentences()), found.sentences()


def test_a_claim_of_a_column_that_is_not_there_does_not_hold(release):
    """SQLite takes an unknown name in quotes for a text, so that every row would have it."""
    place = release["release"] / "manifest.json"
    manifest = json.loads(place.read_text())
    for each in manifest["claims"]:
        if each["model"] == "unchanged-cells":
            each["about"]["columns"] = ["nowhere"]
    place.write_text(json.dumps(manifest))

    assert verify(**release).is_broken


def test_a_claim_that_was_taken_out_is_noticed(release):
    place = release["release"] / "manifest.json"
    for model in ("rows-of-table", "references-hold", "unchanged-cells"):
        before = place.read_text()
        manifest = json.loads(before)
        at = next(i for i, it in enumerate(manifest["claims"]) if it["model"] == model)
        del manifest["claims"][at]
        place.write_text(json.dumps(manifest))
        assert verify(**release).is_broken, model
        place.write_text(before)


def test_a_subset_has_rows_of_the_source(tmp_path):
    subset = '[subset]\ntable = "people"\nlimit = 2\n'
    _, path = copied(tmp_path, POLICY.replace("[tables", subset + "[tables", 1))

    assert verify(tmp_path / "masked.db.report", copy=path, originals=tmp_path / "shop.db").holds


def test_rows_without_the_mark_of_a_copy_are_not_taken_for_it(release):
    with contextlib.closing(sqlite3.connect(release["copy"])) as base, base:
        base.execute("PRAGMA application_id = 0")  # as in the source

    assert verify(**release).is_broken


@pytest.mark.parametrize("wrong", ["nowhere.db", "postgresql://host/base", 5])
def test_only_files_of_sqlite_are_counted_again(release, wrong):
    for name in ("copy", "originals"):
        with pytest.raises(VerificationError, match="file of an SQLite database"):
            verify(**release | {name: wrong})


@pytest.mark.parametrize(
    ("old", "new", "error", "says"),
    [
        ('name = "drop"\n', "", PolicyError, "1 columns of the table 'people': 'name'"),
        ('[tables.towns.columns]\nname = "keep"\n', "", PolicyError, "1 tables: 'towns'"),
        ("tables.towns", "tables.town", PolicyError, "no table 'town'"),
        ("place =", "plce =", ColumnNotFoundError, "not in the table 'lines': 'plce'"),
        ('boss = "reference"', 'boss = "keep"', PolicyError, "are linked and have different rules"),
        ('name = "drop"', 'name = "reference"', PolicyError, "no foreign key"),
        (ID, 'id = "drop"', PolicyError, "'id' of the table 'people' isn't copied"),
        (ID, 'id = { mask = { name = "round", base = 10 } }', DataError, "a key isn't unique"),
        (
            ID,
            'id = { mask = { name = "noise", law = "laplace", scale = 1.0, decimals = 0 } }',
            PolicyError,
            "doesn't follow from the value alone",
        ),
        (
            'boss = "reference"',
            'boss = { mask = { name = "token", digits = 20 } }',
            PolicyError,
            "different rules",
        ),
        ('item = "keep"', 'item = { mask = { name = "round", base = 10 } }', SchemaError, "item"),
    ],
)  # fmt: skip
def test_a_policy_that_does_not_fit_is_refused_and_nothing_is_left(tmp_path, old, new, error, says):
    assert old in POLICY

    with pytest.raises(error, match=says) as caught:
        copied(tmp_path, POLICY.replace(old, new, 1))

    assert CANARY not in repr(caught.value)
    assert [it.name for it in tmp_path.iterdir()] == ["shop.db"]


def test_a_reference_that_leads_nowhere_is_an_error(tmp_path):
    with pytest.raises(DataError, match=r"'orders\.0' of .* leads nowhere in 1 rows"):
        copied(tmp_path, script=SHOP + "insert into orders values (99, 99, 1);")

    assert [it.name for it in tmp_path.iterdir()] == ["shop.db"]


def test_linked_columns_that_are_all_references_are_refused(tmp_path):
    script = "create table a (x integer primary key references a (x)); insert into a values (1);"
    policy = 'halfmask-database = 1\n[tables.a.columns]\nx = "reference"'

    with pytest.raises(PolicyError, match="are all 'reference'"):
        copied(tmp_path, policy, script)


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("create table t (a, b as (a + 1));", "it has generated columns"),
        ("create table t (a primary key, b) without rowid;", "it is WITHOUT ROWID"),
        ("create virtual table t using fts5 (a, b);", "it is a virtual table"),
        ("create table t (a references nowhere, b);", "refers to a table that isn't there"),
    ],
)  # fmt: skip
def test_tables_that_can_not_be_copied_are_refused_by_name(tmp_path, script, says):
    columns = 'a = "keep"\nb = "keep"\n'
    others = "".join(
        f"[tables.t_{it}]\ndrop = true\n" for it in ("config", "content", "data", "docsize", "idx")
    )
    policy = f"halfmask-database = 1\n{others if 'virtual' in script else ''}[tables.t.columns]\n"

    with pytest.raises(SchemaError, match=f"'t' can't be copied.*{says}") as caught:
        copied(tmp_path, policy + columns, script)

    assert CANARY not in repr(caught.value)


@pytest.mark.parametrize("rule", ['"keep"', '{ mask = { name = "token" } }'])
def test_a_column_of_two_types_stops_only_a_copy_that_has_it(tmp_path, rule):
    script = f"create table t (a, b); insert into t (a, b) values ('{CANARY}', 'x'), (1, 'y');"
    policy = f'halfmask-database = 1\n[tables.t.columns]\na = {rule}\nb = "keep"\n'

    with pytest.raises(SchemaError, match=r"'a' of the table 't' .* integer and text") as caught:
        copied(tmp_path, policy, script)
    _, path = copied(tmp_path, policy.replace(rule, '"drop"', 1))

    assert CANARY not in repr(caught.value)
    assert rows(path, "select * from t order by 1") == [("x",), ("y",)]


def test_bytes_are_copied_and_not_masked(tmp_path):
    script = "create table t (a blob, b text); insert into t values (x'00ff', 'x'), (null, 'y');"
    policy = 'halfmask-database = 1\n[tables.t.columns]\na = "keep"\nb = "drop"\n'

    _, path = copied(tmp_path, policy, script)

    assert rows(path, "select a from t") == [(b"\x00\xff",), (None,)]
    masked = policy.replace('a = "keep"', 'a = { mask = { name = "token" } }')
    with pytest.raises(SchemaError, match="of the type BLOB, which no mask supports"):
        copied(tmp_path, masked, script, name="other.db")


def test_what_exists_is_not_overwritten(tmp_path):
    copied(tmp_path)
    before = (tmp_path / "masked.db").read_bytes()

    with pytest.raises(ReleaseError, match="exists"):
        copied(tmp_path)
    (tmp_path / "masked.db.report").rename(tmp_path / "elsewhere")
    with pytest.raises(ReleaseError, match="The file to write exists") as refused:
        copied(tmp_path)
    assert "allow an earlier copy" in str(refused.value.hint)
    assert "--overwrite" in str(refused.value.at_terminal[1])

    assert (tmp_path / "masked.db").read_bytes() == before


@pytest.mark.parametrize("at", ["create", "append", "finish", "frames", "commit"])
def test_a_failure_at_any_point_leaves_nothing(tmp_path, monkeypatch, at):
    def fail(*_):
        raise sqlite3.OperationalError(CANARY)

    monkeypatch.setattr(_sqlite_target.SqliteTarget, at, fail)

    with pytest.raises((DataError, sqlite3.OperationalError)):
        copied(tmp_path)

    assert [it.name for it in tmp_path.iterdir()] == ["shop.db"]


@pytest.mark.slow
def test_another_process_does_not_take_the_new_file_for_a_dead_ones(tmp_path, monkeypatch):
    """Whoever writes a file in the same folder removes what processes that died left there."""
    kept = _sqlite_target.SqliteTarget.append

    def append(self, table, frame):
        name = str(tmp_path / table.name)
        code = f"from halfmask.data import atomic_file\nwith atomic_file({name!r}): pass"
        subprocess.run([sys.executable, "-c", code], check=True)
        kept(self, table, frame)

    monkeypatch.setattr(_sqlite_target.SqliteTarget, "append", append)

    found, path = copied(tmp_path)

    assert found.n_rows == 10
    assert rows(path, "select count(*) from orders") == [(4,)]


class _Same:
    """A plan that writes what it reads."""

    def apply(self, column, _):
        return column.cast(str)


def _tokens_alike(self, *given, kept=KeyedTokens.fit):
    return kept(self, *given) if self.integers else _Same()


def _mixed_up(self, table, frame, kept=_sqlite_target.SqliteTarget.append):
    kept(self, table, frame.with_columns(frame[frame.columns[-1]].reverse()))


def _short(self, table, frame, kept=_sqlite_target.SqliteTarget.append):
    kept(self, table, frame.head(1) if table.name == "orders" else frame)


@pytest.mark.parametrize(
    ("where", "name", "broken", "says"),
    [
        (_sqlite_target.SqliteTarget, "append", _mixed_up, "have other cells than the source"),
        (_sqlite_target.SqliteTarget, "append", _short, "has 1 rows in the copy; the source has 4"),
        (KeyedTokens, "fit", _tokens_alike, "has a raw value"),
    ],
)
def test_a_copy_that_is_not_what_was_to_be_written_is_seen(
    tmp_path, monkeypatch, where, name, broken, says
):
    """Cells in other rows, rows that are lost, tokens that are no tokens."""
    monkeypatch.setattr(where, name, broken)

    with pytest.raises(VerificationError, match=says):
        copied(tmp_path)

    assert [it.name for it in tmp_path.iterdir()] == ["shop.db"]


def test_tokens_that_differ_by_table_are_seen(tmp_path, monkeypatch):
    numbers = itertools.count()
    monkeypatch.setattr(_copying, "_key_of", lambda *_: bytes([next(numbers)] * 32))

    with pytest.raises(VerificationError, match="leads nowhere in"):
        copied(tmp_path)


def test_a_rows_digest_has_an_order_of_no_rows_and_sees_each_cell():
    frame = pl.DataFrame({"a": [1, 2, 3], "b": ["x", "y", None]})

    def digest(*frames):
        found = _copying.RowDigest()
        for each in frames:
            found.add(each)
        return found.sums

    assert digest(frame) == digest(frame[1:], frame[:1])
    assert digest(frame) != digest(frame.with_columns(pl.col("b").reverse()))
    assert digest(frame) != digest(frame[:2], frame[:1])


@pytest.mark.parametrize(
    ("source", "target", "says"),
    [
        ("sqlite:///a.db?table=t", "sqlite:///b.db", "names a table"),
        ("sqlite:///a.db", "postgresql://h/d", "The source is of sqlite, the target of postgresql"),
        ("duckdb:///a.db", "duckdb:///b.db", "is a DuckDB file"),
    ],
)
def test_urls_that_do_not_fit_are_refused(tmp_path, source, target, says):
    with pytest.raises(ParameterError, match=says):
        protect_database(
            source, DatabasePolicy.from_toml(POLICY), target, report=tmp_path / "report"
        )


def test_odd_names_are_quoted(tmp_path):
    make(
        tmp_path / "shop.db",
        'create table "t"" ; drop" ("a ""b" integer primary key, "select" text);'
        'create table "from" ("where" references "t"" ; drop");'
        'insert into "t"" ; drop" values (1, \'x\'); insert into "from" values (1);',
    )
    policy = (
        "halfmask-database = 1\n"
        "[tables.'t\" ; drop'.columns]\n'a \"b' = { mask = { name = \"token\" } }\n"
        'select = { mask = { name = "token" } }\n[tables.from.columns]\nwhere = "reference"\n'
    )

    found, _ = copied(tmp_path, policy)

    assert found.n_rows == 2


@pytest.mark.parametrize(
    "key", [", UNIQUE (mail)", ", UNIQUE (mail, n)", "); CREATE unique INDEX u ON p (mail"]
)
def test_a_unique_column_refuses_substitutes_that_can_be_shared(tmp_path, key):
    """Before a row is read: with some keys, the copy would fail at its end."""
    script = f"CREATE TABLE p (id integer PRIMARY KEY, mail text, n integer{key});"
    policy = (
        'halfmask-database = 1\n[tables.p.columns]\nid = "keep"\nn = "keep"\n'
        'mail = { mask = { name = "substitute", kind = "city" } }\n'
    )

    with pytest.raises(PolicyError, match=r"'mail' of the table 'p' must be unique.*for two"):
        copied(tmp_path, policy=policy, script=script)


def test_unique_substitutes_are_copied_into_linked_unique_columns(tmp_path):
    """The reference holds, and so does each of 400 keys."""
    pytest.importorskip("faker")
    script = (
        "CREATE TABLE p (mail text PRIMARY KEY); CREATE TABLE o (who text REFERENCES p (mail));"
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)"
        " INSERT INTO p SELECT i || '@x' FROM n; INSERT INTO o SELECT mail FROM p WHERE mail < '2'"
    )
    policy = (
        "halfmask-database = 1\n[tables.p.columns]\n"
        'mail = { mask = { name = "substitute", kind = "city", unique = true } }\n'
        '[tables.o.columns]\nwho = "reference"\n'
    )

    _, path = copied(tmp_path, policy=policy, script=script)

    assert rows(path, "SELECT count(DISTINCT mail) FROM p") == [(400,)]
    assert rows(path, "SELECT count(*) FROM o JOIN p ON mail = who") == [(111,)]
