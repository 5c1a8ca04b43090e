"""Copies of a real PostgreSQL: all types, keys of all kinds, and connections that end."""

from __future__ import annotations

import pytest
from tests.databases.copying import CANARY, KEY

from halfmask._errors import DataError, HalfmaskError, PolicyError, ReleaseError, SchemaError
from halfmask.data.io.postgres import PostgresConnection
from halfmask.databases import DatabasePolicy, protect_database
from halfmask.databases._postgres_target import PostgresTarget

SHOP = f"""
CREATE SCHEMA src;
CREATE TYPE src.mood AS ENUM ('sad', 'it''s ok');
CREATE DOMAIN src.positive AS int CHECK (VALUE > 0);
CREATE TABLE src.people (
  id bigserial PRIMARY KEY, email text UNIQUE, name varchar(12) NOT NULL, "odd ""x" src.mood,
  size src.positive, born date, code uuid, j jsonb, k json, tags text[], bal numeric(10,2),
  free numeric, b bytea, ip inet, span interval, tm time, at timestamptz, fl float8, padded char(5),
  boss int8 REFERENCES src.people, low text GENERATED ALWAYS AS (lower(name)) STORED,
  CHECK (length(name) > 1), CONSTRAINT sized CHECK (size < 1000));
CREATE TABLE src.orders (
  buyer bigint NOT NULL, n int GENERATED ALWAYS AS IDENTITY (START 7), at date DEFAULT '2020-01-01',
  PRIMARY KEY (buyer, n),
  FOREIGN KEY (buyer) REFERENCES src.people (id) ON DELETE CASCADE DEFERRABLE);
CREATE TABLE src.lines (
  id serial PRIMARY KEY, buyer bigint, n int, what text,
  FOREIGN KEY (buyer, n) REFERENCES src.orders MATCH FULL);
CREATE TABLE src.empty (a int, b text);
CREATE INDEX low_name ON src.people (lower(name)) WHERE size > 0;
CREATE INDEX by_low ON src.people (low DESC);
CREATE INDEX by_size ON src.people (size DESC) WHERE born > '2000-01-01' OR fl > 0;
CREATE INDEX by_email ON src.people (email);
INSERT INTO src.people (email, name, "odd ""x", size, born, code, j, k, tags, bal, free, b, ip,
  span, tm, at, fl, padded, boss)
SELECT g || '@x.org', '{CANARY[:8]}' || g, CASE WHEN g % 2 = 0 THEN 'it''s ok'::src.mood END, g,
  CASE g WHEN 1 THEN 'infinity' WHEN 2 THEN '0044-03-15 BC' ELSE '2000-02-29' END::date,
  '6f0a8f0e-0000-4000-8000-000000000001', '{{"a": [1, null]}}', '{{"b":  1}}', '{{a,"b,c",NULL}}',
  1.50,
  CASE g WHEN 3 THEN 'NaN' ELSE '1.23456789012345678901234567890123456789012' END::numeric,
  '\\x00ff', '10.0.0.1/8', '1 mon 2 days', '10:00:01.5', '2020-01-01 10:00+02',
  CASE g WHEN 2 THEN 'NaN' WHEN 3 THEN '-0' ELSE '0.1' END::float8, 'ab', nullif(g - 1, 0)
FROM generate_series(1, 20) g;
INSERT INTO src.orders (buyer) SELECT g % 20 + 1 FROM generate_series(1, 60) g;
INSERT INTO src.lines (buyer, n, what) SELECT buyer, n, '' FROM src.orders;
INSERT INTO src.lines (what) VALUES (NULL)
"""
PEOPLE = (
    'odd \\"x', "size", "born", "code", "j", "k", "tags", "bal", "free", "b", "ip", "span", "tm",
    "at", "fl", "padded", "low",
)  # fmt: skip
POLICY = f"""
halfmask-database = 1
[tables.people.columns]
id = {{ mask = {{ name = "token" }} }}
email = {{ mask = {{ name = "token" }} }}
name = {{ mask = {{ name = "token", digits = 16 }} }}
boss = "reference"
{"".join(f'"{it}" = "keep"' + chr(10) for it in PEOPLE)}
[tables.orders.columns]
buyer = "reference"
n = "keep"
at = "keep"
[tables.lines.columns]
id = "keep"
buyer = "reference"
n = "reference"
what = "keep"
[tables.empty.columns]
a = "keep"
b = {{ mask = {{ name = "token" }} }}
"""


@pytest.fixture
def shop(postgres):
    postgres.run(SHOP)
    return postgres


def copy(shop, folder, policy=POLICY, schema="masked"):
    return protect_database(
        f"{shop.url}&schema=src",
        DatabasePolicy.from_toml(policy),
        f"{shop.url}&schema={schema}",
        report=folder / "report",
        key=KEY,
    )


def schemas(shop):
    return {
        name
        for (name,) in shop.run(
            "SELECT nspname::text FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)'"
        )
    }


def test_all_types_are_copied_exactly(shop, tmp_path):
    found = copy(shop, tmp_path)

    assert {it.name: it.n_rows for it in found.tables} == {
        "empty": 0,
        "lines": 61,
        "orders": 60,
        "people": 20,
    }
    columns = ", ".join(it.replace('\\"', '""').join('""') for it in PEOPLE if it != "low")
    for one, other in (("src", "masked"), ("masked", "src")):
        different = shop.run(
            f"SELECT count(*) FROM (SELECT ({columns})::text FROM {one}.people EXCEPT ALL"
            f" SELECT ({columns})::text FROM {other}.people) d"
        )
        assert different == [(0,)]


@pytest.mark.slow
def test_settings_of_the_user_do_not_change_what_is_copied(shop, tmp_path):
    settings = {
        "bytea_output": "escape",
        "datestyle": "German",
        "extra_float_digits": "-5",
        "intervalstyle": "iso_8601",
        "timezone": "Asia/Tokyo",
    }
    shop.run(";\n".join(f"ALTER ROLE postgres SET {it} = '{to}'" for it, to in settings.items()))
    try:
        copy(shop, tmp_path)
    finally:
        shop.run("ALTER ROLE postgres RESET ALL")

    different = "SELECT b::text, span::text, at::text, fl::text, size FROM {0}.people ORDER BY size"
    assert shop.run(different.format("src")) == shop.run(different.format("masked"))


def test_linked_columns_have_equal_tokens(shop, tmp_path):
    copy(shop, tmp_path)

    query = (
        "SELECT p.size, b.size, o.n, l.id FROM {0}.people p LEFT JOIN {0}.people b ON b.id = p.boss"
        " JOIN {0}.orders o ON o.buyer = p.id JOIN {0}.lines l USING (buyer, n) ORDER BY l.id"
    )
    assert shop.run(query.format("src")) == shop.run(query.format("masked"))
    assert len(shop.run(query.format("masked"))) == 60


def test_no_raw_value_is_in_a_masked_column(shop, tmp_path):
    copy(shop, tmp_path)

    assert shop.run("SELECT count(*) FROM masked.people p WHERE p::text ~ 'canary|@'") == [(0,)]
    assert shop.run("SELECT count(*) FROM masked.people WHERE low <> lower(name)") == [(0,)]
    assert not any(CANARY[:8] in it.read_text() for it in (tmp_path / "report").iterdir())


@pytest.mark.slow
def test_keys_indexes_and_sequences_are_made_again(shop, tmp_path):
    found = copy(shop, tmp_path)

    constraints = (
        "SELECT conname::text, contype::text, conkey::text, confkey::text, condeferrable,"
        " confdeltype::text, confmatchtype::text FROM pg_constraint WHERE contype <> 'n'"
        " AND conrelid <> 0 AND connamespace = '{0}'::regnamespace"
    )
    before, after = (set(shop.run(constraints.format(it))) for it in ("src", "masked"))
    assert {it[0] for it in before - after} == {"people_name_check"}
    assert len(after) == len(before) - 1 == 8
    indexes = "SELECT indexname::text FROM pg_indexes WHERE schemaname = '{0}' ORDER BY 1"
    before, after = (set(shop.run(indexes.format(it))) for it in ("src", "masked"))
    assert before - after == {("low_name",)}
    assert set(found.left_out) == {
        "check 'people_name_check' of the table 'people'",
        "index 'low_name' of the table 'people'",
        "default of the column 'id' of the table 'people'",
        "domain positive of the column 'size' of the table 'people'",
        "type character varying(12) (now text) of the column 'name' of the table 'people'",
        "type positive",
    }
    owner = shop.run("SELECT id FROM masked.people LIMIT 1")[0][0]
    new = shop.run(f"INSERT INTO masked.orders (buyer) VALUES ('{owner}') RETURNING n, at::text")
    assert new == [(67, "2020-01-01")]
    assert shop.run("INSERT INTO masked.lines (what) VALUES ('') RETURNING id") == [(62,)]
    assert shop.run("SELECT pg_get_serial_sequence('masked.lines', 'id')") == [
        ("masked.lines_id_seq",)
    ]
    shop.run("DROP SCHEMA src CASCADE")
    assert shop.run("SELECT count(*) FROM masked.people") == [(20,)]


ROW = "(1, 'Secret Ann'::text, ''::text)"


@pytest.mark.mostly_slow
@pytest.mark.parametrize("rule", ['{ mask = { name = "token", digits = 16 } }', '"drop"'])
@pytest.mark.parametrize(
    "made",
    [
        "CREATE INDEX it ON src.people (n) WHERE name = 'Secret Ann'",
        "CREATE UNIQUE INDEX it ON src.people (n) WHERE name = 'Secret Ann'",
        "CREATE INDEX it ON src.people (n, (name = 'Secret Ann'))",
        "CREATE INDEX it ON src.people (n) WHERE low = 'Secret Ann'",
        f"CREATE INDEX it ON src.people (n) WHERE people.* <> {ROW}",
        f"ALTER TABLE src.people ADD CONSTRAINT it CHECK (people.* <> {ROW})",
        "ALTER TABLE src.people ADD CONSTRAINT it CHECK (low <> 'Secret Ann')",
        "ALTER TABLE src.people ADD CONSTRAINT it EXCLUDE (n WITH =) WHERE (name = 'Secret Ann')",
    ],
)
def test_conditions_with_values_of_a_masked_column_are_left_out(postgres, tmp_path, made, rule):
    low = "low = " + ('"drop"' if rule == '"drop"' else '"keep"')
    postgres.run(
        "CREATE SCHEMA src;\nCREATE TABLE src.people (n int, name text, low text GENERATED ALWAYS"
        f" AS (lower(name)) STORED);\nINSERT INTO src.people VALUES (1, 'Bob');\n{made}"
    )
    policy = f'halfmask-database = 1\n[tables.people.columns]\nn = "keep"\nname = {rule}\n{low}'
    found = copy(postgres, tmp_path, policy)

    assert [it.split(" ", 1)[1] for it in found.left_out] == ["'it' of the table 'people'"]
    assert postgres.run("SELECT count(*) FROM pg_indexes WHERE schemaname = 'masked'") == [(0,)]
    assert postgres.run(
        "SELECT count(*) FROM pg_constraint"
        " WHERE contype <> 'n' AND connamespace = 'masked'::regnamespace"
    ) == [(0,)]


@pytest.mark.parametrize(
    ("table", "column", "says"),
    [
        ("people", "j", "of the type jsonb, which no mask supports"),
        ("people", "tags", r"of the type text\[\], which no mask supports"),
        ("people", "b", "of the type bytea, which no mask supports"),
        ("people", "span", "of the type interval, which no mask supports"),
    ],
)
def test_masks_of_arrays_json_and_bytes_are_refused_by_name(shop, tmp_path, table, column, says):
    policy = POLICY.replace(f'"{column}" = "keep"', f'{column} = {{ mask = {{ name = "token" }} }}')

    with pytest.raises(SchemaError, match=f"Column '{column}' of the table '{table}' is {says}"):
        copy(shop, tmp_path, policy)

    assert schemas(shop) == {"public", "src"}


@pytest.mark.parametrize(
    ("column", "mask", "says"),
    [
        ("born", '{ name = "token" }', "'born' of the table 'people' has times that are infinite"),
        ("low", '{ name = "token" }', "is computed by the database"),
    ],
)
def test_values_that_no_mask_takes_are_refused_by_name(shop, tmp_path, column, mask, says):
    policy = POLICY.replace(f'"{column}" = "keep"', f"{column} = {{ mask = {mask} }}")

    with pytest.raises((SchemaError, PolicyError), match=says):
        copy(shop, tmp_path, policy)

    assert list(tmp_path.iterdir()) == []


def test_masks_change_types_and_randomise_by_row(shop, tmp_path):
    noise = '{ name = "noise", law = "laplace", scale = 1.0, decimals = 3 }'
    policy = POLICY.replace('"fl" = "keep"', f"fl = {{ mask = {noise} }}").replace(
        '"bal" = "keep"', 'bal = { mask = { name = "round", base = 1 } }'
    )

    copy(shop, tmp_path, policy)

    found = shop.run("SELECT count(DISTINCT fl), count(fl), min(bal)::text FROM masked.people")
    assert found == [(19, 19, "2.00")]  # one cell of 20 is NaN, which is missing
    assert shop.run(
        "SELECT pg_typeof(id)::text, pg_typeof(fl)::text FROM masked.people LIMIT 1"
    ) == [("bigint", "double precision")]


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("end", "statement"),
    [
        ("source", "SELECT c.oid"),
        ("source", "FROM ONLY"),
        ("target", "CREATE TABLE"),
        ("target", "COPY"),
        ("target", "ADD CONSTRAINT"),
        ("target", "setval"),
        ("target", "SELECT count"),
        ("target", "COMMIT"),
    ],
)
def test_a_server_that_goes_away_in_the_middle_leaves_nothing(
    shop, tmp_path, monkeypatch, end, statement
):
    def watched(name, kept):
        def run(self, *args, **more):
            said = {"append": "COPY", "commit": "COMMIT"}.get(name) or args[0]
            if self._what == f"The {end} database" and statement in said:
                shop.run(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
                )
            return kept(self, *args, **more)

        return run

    for name in ("execute", "append", "frames", "rows", "commit"):
        kept = getattr(PostgresConnection, name)
        monkeypatch.setattr(PostgresConnection, name, watched(name, kept))

    with pytest.raises(DataError, match=r"ended the connection|went away"):
        copy(shop, tmp_path)

    assert schemas(shop) == {"public", "src"}
    assert list(tmp_path.iterdir()) == []


def test_a_schema_that_holds_something_is_not_touched(shop, tmp_path):
    shop.run("CREATE SCHEMA masked;\nCREATE TABLE masked.mine (a int)")

    with pytest.raises(ReleaseError, match="exists in the target database, and isn't empty"):
        copy(shop, tmp_path)

    assert shop.run("SELECT count(*) FROM pg_tables WHERE schemaname = 'masked'") == [(1,)]


def test_an_empty_schema_is_filled(shop, tmp_path):
    shop.run("CREATE SCHEMA masked")

    assert copy(shop, tmp_path).n_rows == 141


def test_references_that_were_never_checked_are_checked(postgres, tmp_path):
    postgres.run(
        "CREATE SCHEMA src;\nCREATE TABLE src.p (a int PRIMARY KEY);\nCREATE TABLE src.c (a int);\n"
        "INSERT INTO src.c VALUES (1), (2), (NULL);\n"
        "ALTER TABLE src.c ADD CONSTRAINT lost FOREIGN KEY (a) REFERENCES src.p NOT VALID"
    )
    policy = 'halfmask-database = 1\n[tables.p.columns]\na = "keep"\n[tables.c.columns]\na = "keep"'

    with pytest.raises(DataError, match="'lost' of the table 'c' leads nowhere in 2 rows"):
        copy(postgres, tmp_path, policy)


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("CREATE TABLE src.t (a int) PARTITION BY RANGE (a)", "it is partitioned"),
        ("CREATE TABLE src.t (a int REFERENCES public.p)", "refers to another schema"),
    ],
)
def test_tables_that_can_not_be_copied_are_refused_by_name(postgres, tmp_path, script, says):
    postgres.run(f"CREATE SCHEMA src;\nCREATE TABLE public.p (a int PRIMARY KEY);\n{script}")
    policy = 'halfmask-database = 1\n[tables.t.columns]\na = "keep"\n'

    with pytest.raises(SchemaError, match=f"'t' can't be copied.*{says}"):
        copy(postgres, tmp_path, policy)


@pytest.mark.slow
def test_cycles_of_references_are_copied(postgres, tmp_path):
    postgres.run(
        "CREATE SCHEMA src;\nCREATE TABLE src.a (id int PRIMARY KEY, b int);\n"
        "CREATE TABLE src.b (id int PRIMARY KEY, a int REFERENCES src.a);\n"
        "ALTER TABLE src.a ADD FOREIGN KEY (b) REFERENCES src.b;\n"
        "INSERT INTO src.a VALUES (1, NULL), (2, NULL);\nINSERT INTO src.b VALUES (1, 2), (5, 1);\n"
        "UPDATE src.a SET b = 5 WHERE id = 1"
    )
    mask = '{ mask = { name = "token" } }'
    policy = (
        f'halfmask-database = 1\n[tables.a.columns]\nid = {mask}\nb = "reference"\n'
        f'[tables.b.columns]\nid = {mask}\na = "reference"\n'
    )

    copy(postgres, tmp_path, policy)
    (tmp_path / "report").rename(tmp_path / "first")
    subset = f'{policy}[subset]\ntable = "a"\nwhere = "id = 2"\n'
    found = copy(postgres, tmp_path, subset, schema="part")

    joined = "SELECT count(*) FROM {0}.a JOIN {0}.b ON b.a = a.id"
    assert postgres.run(joined.format("masked")) == [(2,)]
    # The row 2 of a, the row 1 of b that refers to it.
    assert {it.name: it.n_rows for it in found.tables} == {"a": 1, "b": 1}


def test_a_subset_follows_references_both_ways(shop, tmp_path):
    policy = f'{POLICY}[subset]\ntable = "people"\nwhere = "size = 3"\n'

    found = copy(shop, tmp_path, policy)

    assert {it.name: it.n_rows for it in found.tables} == {
        "empty": 0,
        "lines": 3,
        "orders": 3,
        "people": 3,
    }
    assert shop.run("SELECT size FROM masked.people ORDER BY 1") == [(1,), (2,), (3,)]


def test_a_source_that_is_not_there_is_an_error(shop, tmp_path):
    with pytest.raises(HalfmaskError, match="no schema of the given name"):
        protect_database(
            f"{shop.url}&schema=absent",
            DatabasePolicy.from_toml(POLICY),
            f"{shop.url}&schema=masked",
            report=tmp_path / "report",
        )


def test_a_trigger_that_changes_rows_is_seen(shop, tmp_path, monkeypatch):
    """What lies in the target is compared, not what was sent."""
    kept = PostgresTarget.finish

    def finish(self, tables):
        kept(self, tables)
        self._connection.execute("UPDATE masked.orders SET at = '2021-01-01' WHERE n = 7")

    monkeypatch.setattr(PostgresTarget, "finish", finish)

    with pytest.raises(HalfmaskError, match="'orders' have other cells than the source"):
        copy(shop, tmp_path)

    assert schemas(shop) == {"public", "src"}
