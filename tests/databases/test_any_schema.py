"""Schemas that hypothesis makes: nothing of a masked or dropped column anywhere, the rest equal.

Each value of a column is a canary of its own. What is looked at is read by the server's own
functions, or as the bytes of the file, after the source is gone.
"""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.databases.copying import make, rows
from tests.databases.test_postgres_catalog import CATALOG

from halfmask.databases import DatabasePolicy, protect_database

pytestmark = pytest.mark.slow

MASKED = '{ mask = { name = "token" } }'
N_ROWS = 3


def number(place, n, *, first):
    return first + place * 1_000_003 + n * 7919


#: By type of PostgreSQL: the value of a row, whether a token takes it, and whether it is a canary.
KINDS = {
    "text": (lambda p, n: f"cy{p}v{n}z", True, True),
    "varchar(40)": (lambda p, n: f"cy{p}v{n}z", True, True),
    "varchar(9)": (lambda p, n: f"cy{p}v{n}z", True, True),
    "char(10)": (lambda p, n: f"cy{p}v{n}z", True, True),
    "mood": (lambda p, n: f"cy{p}v{n}z", True, True),
    "word": (lambda p, n: f"cy{p}v{n}z", True, True),
    "bigint": (lambda p, n: number(p, n, first=7_000_000_000), True, True),
    "integer": (lambda p, n: number(p, n, first=1_500_000_000), True, True),
    "counted": (lambda p, n: number(p, n, first=1_600_000_000), True, True),
    "numeric(14,2)": (lambda p, n: f"{number(p, n, first=8_000_000_000)}.25", True, True),
    "uuid": (lambda p, n: f"6f0a8f0e-0000-4000-8000-{p:04}cafe{n:04}", True, True),
    "jsonb": (lambda p, n: f'{{"a": "cy{p}v{n}z"}}', False, True),
    "text[]": (lambda p, n: f"{{cy{p}v{n}z,NULL}}", False, True),
    "mood[]": (lambda p, n: f"{{cy{p}v{n}z,NULL}}", False, True),
    "smallint": (lambda p, n: p * 10 + n, True, False),
    "boolean": (lambda _, n: n % 2 == 0, True, False),
    "date": (lambda _, n: ["infinity", "0044-03-15 BC", "2020-02-29"][n], False, False),
    "timestamp": (lambda _, n: ["-infinity", "2020-01-01 10:00", "20000-01-01"][n], False, False),
    "time": (lambda _, n: ["24:00", "00:00", "10:30:00.000001"][n], False, False),
    "float8": (lambda _, n: ["NaN", "-0", "5e-324"][n], False, False),
    "interval": (lambda _, n: ["infinity", "1 mon -3 days", "0"][n], False, False),
}
EXTRAS = ("default", "check", "index", "comment", "lower", "function", "statistics")


@st.composite
def columns(draw, kind):
    rules = ["keep", "drop", MASKED] if KINDS[kind][1] else ["keep", "drop"]
    return {
        "kind": kind,
        "rule": draw(st.sampled_from(rules)),
        "extras": draw(st.sets(st.sampled_from(EXTRAS), max_size=3)),
    }


@st.composite
def tables(draw):
    """Tables with a key and a few columns; each may refer to the one before."""
    n = draw(st.integers(1, 3))
    return [
        {
            "key": draw(st.sampled_from(["smallint", "integer", "bigint", "text"])),
            "key_rule": draw(st.sampled_from(["keep", MASKED])),
            "parent": draw(st.booleans()),
            # Each type once: else most examples have the same few.
            "columns": [
                draw(columns(kind))
                for kind in draw(
                    st.lists(st.sampled_from(sorted(KINDS)), min_size=4, max_size=9, unique=True)
                )
            ],
        }
        for _ in range(n)
    ]


def literal(value):
    return "'" + str(value).replace("'", "''") + "'"


def cells(made, t, c):
    kind = made[t]["columns"][c]["kind"]
    return [KINDS[kind][0](t * 10 + c, n) for n in range(N_ROWS)]


def key_cells(made, t):
    kind = made[t]["key"]
    if kind == "text":
        return [f"cyk{t}v{n}z" for n in range(N_ROWS)]
    first = {"smallint": 100, "integer": 1_700_000_000, "bigint": 9_000_000_000}[kind]
    return [first + t * 1000 + n * 7 for n in range(N_ROWS)]


def script(made):
    """Return the statements of a schema, and the tables' columns."""
    yield "CREATE SCHEMA src"
    yield "CREATE FUNCTION src.f() RETURNS int LANGUAGE sql AS 'SELECT 1'"
    yield "CREATE TYPE src.unused AS ENUM ('cyunused')"
    for t, table in enumerate(made):
        told = [f"id {table['key']} PRIMARY KEY"]
        if table["parent"] and t:
            told.append(f"up {made[t - 1]['key']} REFERENCES src.t{t - 1}")
        for c, column in enumerate(table["columns"]):
            values = cells(made, t, c)
            kind = column["kind"]
            if kind.startswith("mood"):
                labels = [f"cy{t * 10 + c}v{n}z" for n in range(N_ROWS)]
                yield f"CREATE TYPE src.mood{t}{c} AS ENUM ({', '.join(map(literal, labels))})"
                kind = f"src.mood{t}{c}{kind.removeprefix('mood')}"
            elif kind == "word":
                yield (
                    f"CREATE DOMAIN src.word{t}{c} AS text DEFAULT {literal(values[0])}"
                    f" CHECK (VALUE <> {literal(str(values[0]) + '!')})"
                )
                kind = f"src.word{t}{c}"
            elif kind == "counted":
                yield f"CREATE SEQUENCE src.s{t}{c} START {values[0]}"
                kind = f"int DEFAULT nextval('src.s{t}{c}')"
            told.append(f"c{c} {kind}{clause(column, values, f'c{c}')}")
            if "lower" in column["extras"] and column["kind"] == "text":
                told.append(f"low{c} text GENERATED ALWAYS AS (lower(c{c})) STORED")
        yield f"CREATE TABLE src.t{t} ({', '.join(told)})"
        yield from inserts(made, t)
        for c, column in enumerate(table["columns"]):
            yield from after(column, t, c, cells(made, t, c)[0])


def clause(column, values, name):
    """Return a default and a check that name the column's own values."""
    made = ""
    if "default" in column["extras"] and column["kind"] != "counted":
        made += f" DEFAULT {literal(values[1])}"
    elif "function" in column["extras"] and column["kind"] == "integer":
        made += " DEFAULT src.f()"
    if "check" in column["extras"]:
        made += f" CHECK ({name} IS NOT NULL OR {name}::text <> {literal(values[2])})"
        made += f" CHECK (current_user::text <> {literal(values[1])})"
    return made


def inserts(made, t):
    names = ["id", *(f"c{c}" for c in range(len(made[t]["columns"])))]
    keys = key_cells(made, t)
    linked = made[t]["parent"] and t
    for n in range(N_ROWS):
        given = [keys[n], *(cells(made, t, c)[n] for c in range(len(made[t]["columns"])))]
        up = [literal(key_cells(made, t - 1)[n])] if linked else []
        yield (
            f"INSERT INTO src.t{t} ({', '.join(names + ['up'] * len(up))})"
            f" VALUES ({', '.join([*map(literal, given), *up])})"
        )


def after(column, t, c, value):
    if "index" in column["extras"] and "[]" not in column["kind"]:
        yield f"CREATE INDEX i{t}{c} ON src.t{t} (id) WHERE c{c} = {literal(value)}"
        yield f"CREATE INDEX j{t}{c} ON src.t{t} (c{c})"
    if "comment" in column["extras"]:
        yield f"COMMENT ON COLUMN src.t{t}.c{c} IS {literal(value)}"
    if "statistics" in column["extras"] and column["kind"] != "jsonb":
        yield f"CREATE STATISTICS src.x{t}{c} ON id, c{c} FROM src.t{t}"
        yield f"ANALYZE src.t{t}"


def rules_of(made):
    """Return the rule of each column by table; linked keys share one."""
    found = {}
    rule = "keep"
    for t, table in enumerate(made):
        linked = table["parent"] and t
        found[f"t{t}"] = {"id": table["key_rule"]}
        if linked:
            found[f"t{t}"]["up"] = "reference" if rule == MASKED else "keep"
        for c, column in enumerate(table["columns"]):
            found[f"t{t}"][f"c{c}"] = column["rule"]
            if "lower" in column["extras"] and column["kind"] == "text":
                found[f"t{t}"][f"low{c}"] = "drop" if column["rule"] == "drop" else "keep"
        rule = table["key_rule"]
    return found


def policy_of(rules):
    made = "halfmask-database = 1\n"
    for name, table in rules.items():
        made += f"[tables.{name}.columns]\n"
        made += "".join(
            f"{it} = {rule if '{' in rule else repr(rule)}\n" for it, rule in table.items()
        )
    return DatabasePolicy.from_toml(made)


def canaries(made):
    """Return the texts of all values of masked and dropped columns."""
    found = ["cyunused"]
    for t, table in enumerate(made):
        if table["key_rule"] == MASKED and table["key"] != "smallint":
            found += [str(it) for it in key_cells(made, t)]
        for c, column in enumerate(table["columns"]):
            if column["rule"] != "keep" and KINDS[column["kind"]][2]:
                texts = [str(it) for it in cells(made, t, c)]
                of_text = any(it.startswith(("cy", "{")) for it in texts)
                found += [f"cy{t * 10 + c}v{n}z" for n in range(N_ROWS)] if of_text else texts
    return found


#: Without the search for a smaller example, which takes minutes: each is small.
PHASES = [it for it in Phase if it not in {Phase.shrink, Phase.explain}]


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    phases=PHASES,
    max_examples=settings().max_examples // 3,
)
@given(tables())
def test_any_schema_of_postgresql(postgres, tmp_path_factory, made):
    rules = rules_of(made)
    fresh = [f"DROP SCHEMA IF EXISTS {name} CASCADE" for name in ("src", "masked")]
    postgres.run(";\n".join([*fresh, *script(made)]))

    found = protect_database(
        f"{postgres.url}&schema=src",
        policy_of(rules),
        f"{postgres.url}&schema=masked",
        report=tmp_path_factory.mktemp("any") / "report",
    )

    with asking(postgres) as ask:
        kept_is_equal(ask, rules)
        types_are_equal_or_listed(ask, rules, found.left_out)
        references_are_equal(ask, made)
        ask("DROP SCHEMA src CASCADE")
        ask("ANALYZE")
        said = everything(ask, rules)
    assert not [it for it in canaries(made) if it in said]


@contextlib.contextmanager
def asking(postgres):
    """Give a function that asks in one connection: an example has many questions."""
    from adbc_driver_postgresql import dbapi  # noqa: PLC0415 - an extra

    with dbapi.connect(postgres.url, autocommit=True) as base, base.cursor() as cursor:

        def ask(query):
            cursor.execute(query)
            return cursor.fetchall() if cursor.description else []

        yield ask


def kept_is_equal(ask, rules):
    for table, columns in rules.items():
        for name, rule in columns.items():
            if rule != "keep" or columns.get(f"c{name[3:]}") == MASKED:
                continue
            # The binary form, but of types of the schema, whose OID is part of it.
            query = (
                f"SELECT CASE WHEN pg_typeof({name})::text ~ '[.]mood' THEN {name}::text"
                f" ELSE encode(record_send(ROW({name})), 'hex') END FROM {{0}}.{table} ORDER BY 1"
            )
            base = query.replace(f"ROW({name})", f"ROW({name}::text)")
            raw, now = (ask(query.format(it)) for it in ("src", "masked"))
            texts = [ask(base.format(it)) for it in ("src", "masked")]
            assert texts[0] == texts[1]
            assert raw == now or is_domain(ask, table, name)
            assert len(now) == N_ROWS


def is_domain(ask, table, column):
    kind = f"SELECT pg_typeof({column})::text ~ '[.]word' FROM src.{table} LIMIT 1"
    return ask(kind)[0][0]


def types_are_equal_or_listed(ask, rules, listed):
    query = (
        "SELECT attname::text, replace(format_type(atttypid, atttypmod), '{0}.', '')"
        " FROM pg_attribute WHERE attrelid = '{0}.{1}'::regclass AND attnum > 0"
    )
    for table, columns in rules.items():
        raw, now = (dict(ask(query.format(it, table))) for it in ("src", "masked"))
        assert set(now) == {name for name, rule in columns.items() if rule != "drop"}
        for name, kind in now.items():
            place = f"of the column '{name}' of the table '{table}'"
            assert kind == raw[name] or any(place in it for it in listed)


def references_are_equal(ask, made):
    for t, table in enumerate(made):
        if table["parent"] and t:
            query = "SELECT count(*) FROM {0}.t{1} c JOIN {0}.t{2} p ON p.id = c.up"
            raw, now = (ask(query.format(it, t, t - 1)) for it in ("src", "masked"))
            assert raw == now == [(N_ROWS,)]


def everything(ask, rules):
    """Return the catalog and all cells of a copy, as the server writes them."""
    said = [str(it) for it in ask(CATALOG)]
    for table in ("pg_enum", "pg_type", "pg_description", "pg_sequence", "pg_statistic_ext_data"):
        said += [text for (text,) in ask(f"SELECT t::text FROM {table} t")]
    for name in rules:
        said += [text for (text,) in ask(f"SELECT t::text FROM masked.{name} t")]
    return "\n".join(said)


#: By type of SQLite: the value of a row as SQL writes it, and whether a token takes it.
STORED = {
    "text": (lambda p, n: f"'cy{p}v{n}z'", True),
    "varchar(5) collate nocase": (lambda p, n: f"'cy{p}v{n}z'", True),
    "date": (lambda p, n: f"'19{p:02}-0{n + 1}-11'", True),
    "integer": (lambda p, n: str(number(p, n, first=7_000_000_000)), True),
    "": (lambda p, n: f"'cy{p}v{n}z'", True),
    "real": (lambda _, n: ["-0.0", "1e308", "5e-324"][n], True),
    "blob": (lambda p, n: f"x'00{f'cy{p}v{n}z'.encode().hex()}'", False),
    "any": (lambda p, n: ["1", f"'cy{p}v{n}z'", "null"][n], False),
}
MENTIONS = ("default", "check", "index", "unique", "comment", "view")


@st.composite
def stored_tables(draw):
    """Tables of SQLite: by table its columns, each with type, rule and what names its values."""
    return [
        [
            (
                kind := draw(st.sampled_from(sorted(STORED))),
                draw(st.sampled_from(["drop", *(["keep", MASKED] if STORED[kind][1] else [])]))
                if kind != "blob"
                else draw(st.sampled_from(["drop", "keep"])),
                draw(st.sets(st.sampled_from(MENTIONS), max_size=3)),
            )
            for _ in range(draw(st.integers(1, 4)))
        ]
        for _ in range(draw(st.integers(1, 3)))
    ]


def stored(t, c, kind):
    return [STORED[kind][0](t * 10 + c, n) for n in range(N_ROWS)]


def stored_script(made):
    for t, columns in enumerate(made):
        told = ["id integer primary key"]
        for c, (kind, _, mentions) in enumerate(columns):
            value = stored(t, c, kind)[1]
            clauses = f" default {value}" if "default" in mentions else ""
            clauses += " unique" if "unique" in mentions else ""
            clauses += f" check (c{c} is not {value} or 1)" if "check" in mentions else ""
            clauses += f" /* {value} */" if "comment" in mentions else ""
            told.append(f"c{c} {kind.replace('any', '')}{clauses}")
        yield f"create table t{t} ({', '.join(told)});"
        for n in range(N_ROWS):
            cells = ", ".join(stored(t, c, kind)[n] for c, (kind, *_) in enumerate(columns))
            yield f"insert into t{t} values ({n}, {cells});"
        for c, (kind, _, mentions) in enumerate(columns):
            value = stored(t, c, kind)[1]
            if "index" in mentions:
                yield f"create index i{t}{c} on t{t} (id) where c{c} = {value};"
            if "view" in mentions:
                yield f"create view v{t}{c} as select {value} as a;"


@settings(phases=PHASES)
@given(stored_tables())
def test_any_schema_of_sqlite(tmp_path_factory, made):
    folder = tmp_path_factory.mktemp("any")
    source, target = folder / "a.db", folder / "b.db"
    make(source, "".join(stored_script(made)))
    rules = {
        f"t{t}": {"id": "keep"} | {f"c{c}": rule for c, (_, rule, _) in enumerate(columns)}
        for t, columns in enumerate(made)
    }

    found = protect_database(
        f"sqlite:///{source}", policy_of(rules), f"sqlite:///{target}", report=folder / "report"
    )

    held = target.read_bytes()
    for t, columns in enumerate(made):
        kinds = {it[1]: it[2] for it in rows(target, f"pragma table_info(t{t})")}
        before = {it[1]: it[2] for it in rows(source, f"pragma table_info(t{t})")}
        for c, (kind, rule, _) in enumerate(columns):
            if rule == "keep":
                query = f"select id, quote(c{c}) from t{t} order by id"
                assert rows(source, query) == rows(target, query)
            elif kind != "real":
                texts = re.findall(r"[\w-]{9,}|cy\w+z", " ".join(stored(t, c, kind)))
                raw = [it for it in texts if kind != "blob"] or [f"cy{t * 10 + c}v0z"]
                assert not [it for it in raw if it.encode() in held]
            if rule != "drop":
                listed = any(f"'c{c}' of the table 't{t}'" in it for it in found.left_out)
                assert kinds[f"c{c}"] == before[f"c{c}"] or listed
    if any(kind == "integer" and rule != "keep" for it in made for kind, rule, _ in it):
        cells = {str(cell) for t in range(len(made)) for row in rows(target, f"select * from t{t}")
                 for cell in row}  # fmt: skip
        numbers = {
            it
            for t, columns in enumerate(made)
            for c, (kind, rule, _) in enumerate(columns)
            if kind == "integer" and rule != "keep"
            for it in stored(t, c, kind)
        }
        assert not numbers & cells
