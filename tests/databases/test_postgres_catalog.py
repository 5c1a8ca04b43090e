"""What the catalog of a copy says: no value of a dropped or masked column, and what is lacking."""

from __future__ import annotations

import pytest

from halfmask._errors import PolicyError, SchemaError
from halfmask.databases import DatabasePolicy, protect_database

MASKED = '{ mask = { name = "token" } }'
#: Each text that the catalog holds of a schema, but names.
CATALOG = """
SELECT enumlabel::text FROM pg_enum e JOIN pg_type t ON t.oid = e.enumtypid
  WHERE typnamespace = 'masked'::regnamespace
UNION ALL SELECT pg_get_constraintdef(oid) FROM pg_constraint
  WHERE connamespace = 'masked'::regnamespace
UNION ALL SELECT pg_get_indexdef(indexrelid) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  WHERE relnamespace = 'masked'::regnamespace
UNION ALL SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef d JOIN pg_class c ON c.oid = d.adrelid
  WHERE relnamespace = 'masked'::regnamespace
UNION ALL SELECT (seqstart, seqmin, seqmax)::text FROM pg_sequence q JOIN pg_class c
  ON c.oid = q.seqrelid WHERE relnamespace = 'masked'::regnamespace
UNION ALL SELECT last_value::text FROM pg_sequences WHERE schemaname = 'masked'
UNION ALL SELECT typdefault FROM pg_type WHERE typnamespace = 'masked'::regnamespace
UNION ALL SELECT description FROM pg_description d JOIN pg_class c ON c.oid = d.objoid
  WHERE relnamespace = 'masked'::regnamespace
UNION ALL SELECT array_to_string(most_common_vals::text::text[], ',') FROM pg_stats
  WHERE schemaname = 'masked'
"""


def copy(postgres, folder, columns, made):
    postgres.run(f"CREATE SCHEMA src;\n{made}")
    listed = "".join(f"{name} = {rule if '{' in rule else repr(rule)}\n" for name, rule in columns)
    return protect_database(
        f"{postgres.url}&schema=src",
        DatabasePolicy.from_toml(f"halfmask-database = 1\n[tables.t.columns]\n{listed}"),
        f"{postgres.url}&schema=masked",
        report=folder / "report",
        key=bytes(32),
    )


@pytest.mark.mostly_slow
@pytest.mark.parametrize("rule", ["drop", MASKED])
@pytest.mark.parametrize(
    "made",
    [
        "CREATE TYPE src.mood AS ENUM ('7654321');\nCREATE TABLE src.t (k int, s src.mood)",
        "CREATE TYPE src.mood AS ENUM ('7654321');\nCREATE TABLE src.t (k int, s text)",
        (
            "CREATE DOMAIN src.d AS int DEFAULT 7654321 CHECK (VALUE = 7654321);\n"
            "CREATE TABLE src.t (k int, s src.d)"
        ),
        "CREATE TABLE src.t (k int, s int DEFAULT 7654321)",
        "CREATE TABLE src.t (k int, s int GENERATED ALWAYS AS IDENTITY (START 7654321))",
        (
            "CREATE SEQUENCE src.q START 7654321;\n"
            "CREATE TABLE src.t (k int, s int DEFAULT nextval('src.q'))"
        ),
        # Both take from it: what it has counted is the last value of the masked column.
        (
            "CREATE SEQUENCE src.q START 7654321;\n"
            "CREATE TABLE src.t (k int DEFAULT nextval('src.q'), s int DEFAULT nextval('src.q'))"
        ),
        "CREATE SEQUENCE src.q START 7654321;\nCREATE TABLE src.t (k int, s int)",
        "CREATE TABLE src.t (k int, s int CHECK (s <> 7654321))",
        "CREATE TABLE src.t (k int, s int, CHECK (current_user <> '7654321'))",
        "CREATE TABLE src.t (k int, s int);\nCREATE INDEX i ON src.t (k) WHERE s = 7654321",
        "CREATE TABLE src.t (k int, s int);\nCOMMENT ON COLUMN src.t.s IS '7654321'",
        "CREATE TABLE src.t (k int, s int);\nCREATE VIEW src.v AS SELECT 1 a WHERE 1 = 7654321",
        (
            "CREATE TABLE src.t (k int, s int);\nINSERT INTO src.t SELECT 1, 7654321 FROM"
            " generate_series(1, 99);\nCREATE STATISTICS src.x ON k, s FROM src.t;\nANALYZE src.t"
        ),
    ],
)
def test_no_value_of_a_dropped_or_masked_column_is_in_the_catalog(postgres, tmp_path, made, rule):
    copy(postgres, tmp_path, [("k", "keep"), ("s", rule)], made)
    postgres.run("ANALYZE masked.t")

    assert not [text for (text,) in postgres.run(CATALOG) if text and "7654321" in text]
    assert postgres.run("SELECT count(*) FROM pg_views WHERE schemaname = 'masked'") == [(0,)]


def test_what_kept_columns_need_is_made_again(postgres, tmp_path):
    made = (
        "CREATE TYPE src.mood AS ENUM ('ok', 'it''s');\n"
        "CREATE SEQUENCE src.q;\n"
        "CREATE TABLE src.t (k int DEFAULT nextval('src.q'), m src.mood DEFAULT 'ok',"
        ' l src.mood[], n serial, c text COLLATE "C");\n'
        "INSERT INTO src.t (l) SELECT ARRAY['it''s', NULL]::src.mood[] FROM generate_series(1, 3)"
    )
    found = copy(postgres, tmp_path, [(it, "keep") for it in "kmlnc"], made)
    postgres.run("DROP SCHEMA src CASCADE;\nINSERT INTO masked.t DEFAULT VALUES")

    assert found.left_out == ()
    assert postgres.run("SELECT k, m::text, l::text, n FROM masked.t ORDER BY k LIMIT 4") == [
        *((n, "ok", "{it's,NULL}", n) for n in (1, 2, 3)),
        (4, "ok", None, 4),
    ]


LACKING = """
CREATE FUNCTION src.f() RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE COLLATION src.co (locale = 'C');
CREATE TYPE public.size AS ENUM ('s', 'm');
CREATE DOMAIN src.d AS int CHECK (VALUE > 0);
CREATE UNLOGGED TABLE src.t (
  a int DEFAULT src.f(), b text COLLATE src.co, c public.size, d src.d, e numeric(5, 2), f smallint,
  g char(5) DEFAULT 'x', h varchar(40), CHECK (a >= src.f()));
CREATE INDEX i ON src.t (b);
CREATE VIEW src.v AS SELECT 1 AS a;
INSERT INTO src.t (e, f, g, h) VALUES (1.5, 3, 'abcde', 'y')
"""


def test_what_the_copy_lacks_is_listed(postgres, tmp_path):
    rounded = '{ mask = { name = "round", base = 10 } }'
    rules = dict.fromkeys("abcd", "keep") | {"e": rounded, "f": rounded, "g": MASKED, "h": MASKED}
    found = copy(postgres, tmp_path, rules.items(), LACKING)
    postgres.run("DROP SCHEMA src CASCADE")

    columns = "default a, collation b, copy of the type public.size c, domain d d, default g"
    columns += ", type character(5) (now text) g"
    assert set(found.left_out) == {
        "check 't_a_check' of the table 't'",
        "index 'i' of the table 't'",
        *(
            f"{what} of the column {name!r} of the table 't'"
            for what, _, name in (it.rpartition(" ") for it in columns.split(", "))
        ),
        "collation co", "function f()", "type d", "view v",
    }  # fmt: skip
    types = "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attnum > 0"
    assert [it for (it,) in postgres.run(f"{types} AND attrelid = 'masked.t'::regclass")] == [
        "integer", "text", "size", "integer", "numeric(5,2)", "smallint", "text",
        "character varying(40)",
    ]  # fmt: skip
    assert postgres.run("SELECT relpersistence = 'u' FROM pg_class WHERE relname = 't'") == [
        (True,)
    ]


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("made", "error", "says"),
    [
        ("CREATE TYPE src.c AS (a int);\nCREATE TABLE src.t (k src.c, s int)", SchemaError, "'k'"),
        (
            "CREATE DOMAIN src.c AS int;\nCREATE TABLE src.t (k src.c[], s int)",
            SchemaError,
            "'k' of the table 't' is of the type c, which isn't copied",
        ),
        (
            "CREATE TABLE src.t (k int GENERATED ALWAYS AS (s * 2) STORED, s int)",
            PolicyError,
            "'k' of the table 't' is computed from 's', which isn't copied",
        ),
        (
            ("CREATE FUNCTION src.f(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 1';\n"
            "CREATE TABLE src.t (k int GENERATED ALWAYS AS (src.f(1)) STORED, s int)"),
            PolicyError,
            r"'k' .* computed from 'function f\(integer\)', which isn't copied",
        ),
    ],
)  # fmt: skip
def test_columns_that_need_what_is_not_copied_are_refused(postgres, tmp_path, made, error, says):
    with pytest.raises(error, match=says):
        copy(postgres, tmp_path, [("k", "keep"), ("s", "drop")], made)
