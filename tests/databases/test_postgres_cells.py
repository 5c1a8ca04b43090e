"""Cells at the ends of PostgreSQL's types: the same in the copy, or an error with the column."""

from __future__ import annotations

from decimal import Decimal

import pytest

from halfmask._errors import DataError, SchemaError
from halfmask.databases import DatabasePolicy, protect_database

#: By type: values as SQL writes them.
ENDS = {
    "time": ["24:00", "00:00", "23:59:59.999999"],
    "time(0)": ["24:00:00"],
    "timetz": ["24:00+15:59", "00:00-15:59", "12:30:00.000001+02"],
    "date": ["infinity", "-infinity", "0001-01-01 BC", "4713-01-01 BC", "5874897-12-31"],
    "timestamp": ["infinity", "-infinity", "4713-01-01 BC", "294276-12-31 23:59:59.999999"],
    "timestamp(3)": ["9999-12-31 23:59:59.999", "0001-01-01", "10000-01-01"],
    "timestamptz": ["infinity", "-infinity", "4713-01-02 BC", "294276-12-31 23:59:59.999999+00"],
    "interval": ["infinity", "-infinity", "-178000000 years 1 mon -3 days 4:05:06.000001", "0"],
    "numeric": ["NaN", "Infinity", "-Infinity", "0.10", "1e-16383", "1e131071"],
    "numeric(5,2)": ["NaN", "-999.99", "0"],
    "numeric(3,-2)": ["99900", "NaN"],
    "float4": ["NaN", "Infinity", "-0", "1e-45", "3.4028235e38"],
    "float8": ["NaN", "-Infinity", "-0", "5e-324", "1.7976931348623157e308"],
    "smallint": ["-32768", "32767"],
    "bigint": ["-9223372036854775808", "9223372036854775807"],
    "money": ["-92233720368547758.08", "92233720368547758.07"],
    "bpchar": ["x  ", "", "   "],
    "char(4)": ["x", ""],
    "varchar": ["", "\U0001f600", "\u0301 \\x \\N"],
    '"char"': ["x", "", "é"],
    "bytea": ["\\x", "\\x00ff5c"],
    "bit(3)": ["101"],
    "bit varying": ["", "1"],
    "int4range": ["empty", "(,)", "[1,3)"],
    "tstzmultirange": ["{[infinity,infinity],(,2000-01-01)}"],
    "point": ["(NaN,Infinity)"],
    "jsonb": ['{"a": 1e400, "b": "\\u00e9"}', "null"],
    "tsvector": ["'a  b':1A,2"],
    "timestamp[]": ["{infinity,NULL,-infinity}"],
}


def copy(postgres, folder, columns):
    listed = "".join(f"{name} = {rule}\n" for name, rule in columns.items())
    return protect_database(
        f"{postgres.url}&schema=src",
        DatabasePolicy.from_toml(f"halfmask-database = 1\n[tables.t.columns]\n{listed}"),
        f"{postgres.url}&schema=masked",
        report=folder / "report",
        key=bytes(32),
    )


@pytest.mark.slow
def test_kept_cells_are_the_same_at_the_ends_of_all_types(postgres, tmp_path):
    names = {f"c{n}": kind for n, kind in enumerate(ENDS)}
    columns = ", ".join(f"{name} {kind}" for name, kind in names.items())
    postgres.run(f"CREATE SCHEMA src;\nCREATE TABLE src.t ({columns})")
    for row in range(max(map(len, ENDS.values()))):
        cells = [values[row] if row < len(values) else None for values in ENDS.values()]
        quoted = ", ".join("NULL" if it is None else "$s$" + it + "$s$" for it in cells)
        postgres.run(f"INSERT INTO src.t VALUES ({quoted})")

    found = copy(postgres, tmp_path, dict.fromkeys(names, '"keep"'))

    assert found.left_out == ()
    for name, kind in names.items():  # by the server's own binary form
        query = "SELECT encode(record_send(ROW({0})), 'hex') FROM {1}.t ORDER BY 1"
        raw, made = (postgres.run(query.format(name, it)) for it in ("src", "masked"))
        assert raw == made, kind
    types = "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attnum > 0"
    raw, made = (
        postgres.run(f"{types} AND attrelid = '{it}.t'::regclass ORDER BY attnum")
        for it in ("src", "masked")
    )
    assert raw == made


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("kind", "value", "says"),
    [
        ("time", "24:00", "times of 24:00"),
        ("timestamp", "infinity", "times that are infinite"),
        ("timestamptz", "10000-01-01", "times that are infinite, before year 1 or after 9999"),
        ("date", "0001-12-31 BC", "times that are infinite, before year 1"),
        ("numeric(5,2)", "NaN", "decimals that are NaN"),
    ],
)
def test_no_mask_takes_them(postgres, tmp_path, kind, value, says):
    postgres.run(
        f"CREATE SCHEMA src;\nCREATE TABLE src.t (a {kind}, b {kind}, c {kind}, n int);\n"
        f"INSERT INTO src.t VALUES ('{value}', '{value}', '{value}', 1)"
    )
    rule = '{ mask = { name = "token" } }'

    with pytest.raises(SchemaError, match=f"'a' of the table 't' has {says}") as caught:
        copy(postgres, tmp_path, {"a": rule, "b": '"drop"', "c": rule, "n": '"keep"'})

    # Both columns are told at once.
    assert "'c' of the table 't'" in caught.value.what
    assert "'b'" not in caught.value.what


@pytest.mark.parametrize(
    ("kind", "value", "mask"),
    [
        ("smallint", "32767", '{ name = "round", base = 100 }'),
        ("numeric(5,2)", "999.99", '{ name = "round", base = 100 }'),
        ("integer", "1", '{ name = "noise", law = "uniform", scale = 1e15, decimals = 0 }'),
        ("real", "1", '{ name = "tails", low = 1e300 }'),
    ],
)
def test_numbers_that_no_longer_fit_are_an_error(postgres, tmp_path, kind, value, mask):
    postgres.run(
        f"CREATE SCHEMA src;\nCREATE TABLE src.t (a {kind});\nINSERT INTO src.t VALUES ({value})"
    )

    with pytest.raises(DataError, match="'a' of the table 't' writes 1 numbers"):
        copy(postgres, tmp_path, {"a": f"{{ mask = {mask} }}"})


def test_a_mask_that_takes_no_decimals_names_those_that_do(postgres, tmp_path):
    postgres.run("CREATE SCHEMA src;\nCREATE TABLE src.t (a numeric(10,2))")
    noise = '{ mask = { name = "noise", law = "laplace", scale = 5.0, decimals = 2 } }'

    with pytest.raises(SchemaError, match="'a' has the mask 'noise'") as caught:
        copy(postgres, tmp_path, {"a": noise})
    assert "'round' or 'tails'" in str(caught.value.hint)


ROUND = '{ mask = { name = "round", base = 10 } }'


@pytest.mark.parametrize(
    ("mask", "written"),
    [
        ('{ name = "round", base = 10 }', ["0", "12350", None, "1e20"]),
        ('{ name = "tails", high = 5 }', ["1.5", "5", None, "5"]),
        ('{ name = "token" }', None),
    ],
)
def test_decimals_of_any_size_take_masks(postgres, tmp_path, mask, written):
    """Their type says no size, so their cells do; what is written may be larger."""
    postgres.run(
        "CREATE SCHEMA src;\nCREATE TABLE src.t (n int, a numeric);\n"
        "INSERT INTO src.t VALUES (1, 1.5), (2, 12345.678), (3, NULL), (4, 99999999999999999999)"
    )

    copy(postgres, tmp_path, {"n": '"keep"', "a": f"{{ mask = {mask} }}"})

    found = [it for (it,) in postgres.run("SELECT a::text FROM masked.t ORDER BY n")]
    ((kind,),) = postgres.run("SELECT pg_typeof(a)::text FROM masked.t LIMIT 1")
    if written is None:
        assert (kind, len(set(found))) == ("text", 4)
    else:
        assert kind == "numeric"
        assert [Decimal(it) if it else it for it in found] == [
            Decimal(it) if it else it for it in written
        ]


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("NaN", "decimals that are NaN or infinite"),
        ("-Infinity", "decimals that are NaN or infinite"),
        ("1e40", "decimals of more than 38 digits"),
    ],
)
def test_decimals_that_no_mask_takes_are_told(postgres, tmp_path, cell, says):
    postgres.run(
        f"CREATE SCHEMA src;\nCREATE TABLE src.t (a numeric);\nINSERT INTO src.t VALUES ('{cell}')"
    )

    with pytest.raises(SchemaError, match=f"'a' of the table 't' has {says}"):
        copy(postgres, tmp_path, {"a": ROUND})


MOODS = (
    "CREATE SCHEMA src;\nCREATE TYPE src.mood AS ENUM ('sad', 'ok', 'good', 'wild');\n"
    "CREATE TABLE src.t (n int, a src.mood);\n"
    "INSERT INTO src.t VALUES (1, 'wild'), (2, 'sad'), (3, NULL), (4, 'ok')"
)


def test_enumerations_have_an_order(postgres, tmp_path):
    """Masks of ordered categories take theirs; the copy has texts, and no labels of the type."""
    postgres.run(MOODS)
    tails = '{ mask = { name = "ordinal-tails", high = "good" } }'

    copy(postgres, tmp_path, {"n": '"keep"', "a": tails})

    assert postgres.run("SELECT a FROM masked.t ORDER BY n") == [
        ("good",), ("sad",), (None,), ("ok",)
    ]  # fmt: skip
    of_copy = "enumtypid IN (SELECT oid FROM pg_type WHERE typnamespace = 'masked'::regnamespace)"
    assert postgres.run(f"SELECT 1 FROM pg_enum WHERE {of_copy}") == []


def test_ranks_of_enumerations_are_swapped(postgres, tmp_path):
    postgres.run(MOODS)
    swap = '"keep"\n[[tables.t.masks]]\nname = "rank-swapping"\ncolumns = ["a"]\n'

    copy(postgres, tmp_path, {"n": '"keep"', "a": f"{swap}max_rank_distance = 1.0"})

    found = [it for (it,) in postgres.run("SELECT a FROM masked.t ORDER BY n")]
    assert sorted(filter(None, found)) == ["ok", "sad", "wild"]
    assert found[2] is None


def test_a_mask_of_numbers_shows_no_label(postgres, tmp_path):
    postgres.run(MOODS)

    with pytest.raises(SchemaError, match="for numbers") as caught:
        copy(postgres, tmp_path, {"n": '"keep"', "a": ROUND})

    assert "wild" not in str(caught.value)
