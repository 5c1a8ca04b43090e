"""Bad input, one case each: a clear error, the exit code, nothing written, nothing quoted."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

HEADER = "name,age,town,illness"
TREE = 'hierarchy = { groups = { "CANARY-near" = ["CANARY-town0", "CANARY-town1"] } }'


def _row(i: int) -> str:
    return f"CANARY-name{i},{20 + i % 50},CANARY-town{i % 6},CANARY-ill{i % 5}"


def _people(n: int) -> str:
    return "\n".join([HEADER, *map(_row, range(n))]) + "\n"


def _with_age(age: str) -> str:
    return _people(80) + f"CANARY-name,{age},CANARY-town1,CANARY-ill1\n"


@dataclass(frozen=True, kw_only=True)
class Bad:
    """What is wrong: the table as it is, or an edit of the policy; and what has to be said."""

    table: str | bytes = _people(80)
    old: str = ""
    new: str = ""
    code: str
    says: tuple[str, ...]


BAD = {
    "an empty file": Bad(table="", code="data", says=("empty",)),
    "only a line end": Bad(table="\n", code="data", says=("empty",)),
    "a header only": Bad(table=f"{HEADER}\n", code="data", says=("no rows",)),
    "one row": Bad(table=_people(1), code="guarantee-not-met", says=("k=4", "1 rows")),
    "k above n": Bad(old="k = 4", new="k = 81", code="guarantee-not-met", says=("k=81", "80 rows")),
    "k of one": Bad(old="k = 4", new="k = 1", code="policy", says=("at least 2", "Got 1")),
    "k of nothing": Bad(old="k = 4", new="k = 0", code="policy", says=("at least 2", "Got 0")),
    "k in words": Bad(old="k = 4", new='k = "four"', code="policy", says=("[[guarantees]]",)),
    "no k": Bad(old="k = 4\n", new="", code="policy", says=("[[guarantees]]", "k")),
    "all rows alike": Bad(
        table=f"{HEADER}\n" + 40 * f"{_row(0)}\n", code="guarantee-not-met", says=("l=2", "illness")
    ),
    "more diversity than values": Bad(
        old="l = 2", new="l = 6", code="guarantee-not-met", says=("l=6", "illness")
    ),
    "no header": Bad(
        table=_people(80).partition("\n")[2], code="schema", says=("looks like data", "--no-header")
    ),
    "a header in the middle": Bad(
        table=_people(80) + _people(80), code="schema", says=("Row 82", "repeats the header")
    ),
    "an unknown role": Bad(
        old='"quasi_identifier"', new='"quasi_identifer"', code="policy",
        says=("[columns.age]", "Did you mean 'quasi_identifier'"),
    ),
    "an unknown kind": Bad(
        old='"numeric"', new='"numerical"', code="policy", says=("Did you mean 'numeric'",)
    ),
    "an unknown guarantee": Bad(
        old="k-anonymity", new="k-anonimity", code="policy", says=("Did you mean 'k-anonymity'",)
    ),
    "an unknown section": Bad(
        old="halfmask = 1", new="halfmask = 1\n[colums]\n", code="policy", says=("colums",)
    ),
    "a policy of tomorrow": Bad(
        old="halfmask = 1", new="halfmask = 2", code="policy", says=("halfmask",)
    ),
    "a policy that isn't TOML": Bad(
        old="k = 4", new="k = CANARY", code="policy", says=("TOML", "line")
    ),
    "a column misspelt": Bad(
        old="columns.age", new="columns.agee", code="column-not-found", says=("'agee'", "'age'")
    ),
    "a column misspelt in a guarantee": Bad(
        old='column = "illness"', new='column = "ilness"', code="policy",
        says=("'ilness'", "'illness'"),
    ),
    "a column without a role": Bad(
        old='[columns.name]\nrole = "identifier"\n', code="schema", says=("'name'", "role")
    ),
    "a hierarchy that lacks a value": Bad(
        old='kind = "categorical"', new=f'kind = "categorical"\n{TREE}', code="hierarchy",
        says=("'town'", "lacks"),
    ),
    "a hierarchy that isn't there": Bad(
        old='kind = "categorical"',
        new='kind = "categorical"\nhierarchy = { file = "CANARY.csv" }',
        code="hierarchy", says=("'town'",),
    ),
    "mixed types": Bad(table=_with_age("CANARY-old"), code="schema", says=("'age'", "numeric")),
    "inf": Bad(table=_with_age("inf"), code="schema", says=("'age'", "infinite")),
    "too few cells": Bad(table=_people(80) + "CANARY,1\n", code="data", says=("Row 82", "2 cells")),
    "too many cells": Bad(table=_people(80) + 9 * "CANARY," + "\n", code="data", says=("Row 82",)),
    "an open quote": Bad(table=_people(80) + '"CANARY,1,2,3\n', code="data", says=("quote",)),
    "bytes that aren't UTF-8": Bad(
        table=_people(80).encode() + b"CANARY-\xff\xfe,30,a,b\n", code="data",
        says=("utf-8", "encoding"),
    ),
    "a nul byte": Bad(
        table=_people(80).encode() + b"CANARY-\x00,CANARY\x00,a,b\n", code="data", says=("NUL",)
    ),
    "another format than its name": Bad(
        table=b"PAR1CANARYPAR1", code="data", says=("parquet",)
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_bad_input(run, desk, bad):
    """A person reads one line and a hint, a program one object; nothing is written."""
    table = bad.table if isinstance(bad.table, bytes) else bad.table.encode()
    desk.table.write_bytes(table)
    policy = desk.policy.read_text()
    assert bad.old in policy, "the edit must change the policy"
    desk.policy.write_text(policy.replace(bad.old, bad.new, 1) if bad.old else policy)
    before = desk.names()

    answer = run(*desk.protect())
    programs = run(*desk.protect("--json"))

    assert (answer.status, answer.out) == (1, "")
    assert answer.err.startswith("Error: ")
    assert answer.err.count("\n") <= 2
    assert (programs.status, programs.err) == (1, "")
    assert (False, bad.code, 1) == tuple(programs.json[key] for key in ("ok", "code", "status"))
    for words in bad.says:
        assert words in answer.err
    assert "CANARY" not in answer.err + programs.out
    assert before == desk.names()


FINE = {
    "all rows unique": "".join(
        f"CANARY-name{i},{i},CANARY-town{i},CANARY-ill{i}\n" for i in range(80)
    ),
    "NaN is missing": "".join(f"{_row(i)}\n" for i in range(79)) + "a,NaN,CANARY-town1,b\n",
    "all towns missing": "".join(f"a,{20 + i},,CANARY-ill{i % 5}\n" for i in range(80)),
    "one town": "".join(f"a,{20 + i},CANARY-town,CANARY-ill{i % 5}\n" for i in range(80)),
    "commas and line ends in quotes": "".join(
        f'a,{20 + i},"CANARY, ""{i % 3}""\n",CANARY-ill{i % 5}\n' for i in range(80)
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("rows", FINE.values(), ids=FINE)
def test_odd_but_fine(run, desk, rows):
    """Odd tables that can be protected are, and hold on disk."""
    desk.table.write_text(f"{HEADER}\n{rows}")

    answer = run(*desk.protect("--json"))

    assert answer.status == 0, answer.out
    assert answer.json["rows"]["in"] == 80
    assert run("verify", desk.out).status == 0


def test_all_rows_alike_without_diversity(run, desk):
    """One class is k-anonymous: nobody stands out where all are alike."""
    desk.table.write_text(f"{HEADER}\n" + 40 * f"{_row(0)}\n")
    policy = desk.policy.read_text()
    desk.policy.write_text(policy[: policy.rindex("[[guarantees]]")])

    said = run(*desk.protect("--json")).json

    assert [each["counted"] for each in said["verification"]["claims"]] == [40]


def test_numbers_and_words_in_one_json_column(run, desk):
    """In JSON lines a column of two types is an error that names it."""
    lines = [f'{{"name":"a","age":{i},"town":"b","illness":"c"}}' for i in range(40)]
    lines.append('{"name":"a","age":"CANARY","town":"b","illness":"c"}')
    table = desk.folder / "people.jsonl"
    table.write_text("\n".join(lines))

    answer = run("protect", table, desk.policy, desk.out, "--json")

    assert (answer.status, answer.json["code"]) == (1, "schema")
    assert "'age'" in answer.json["error"]
    assert "CANARY" not in answer.out


@pytest.mark.parametrize("command", ["describe", "protect"])
@pytest.mark.parametrize("where", ["absent", "an empty folder", "forbidden names"])
def test_a_table_that_is_none(run, desk, command, where):
    """A table that isn't there is an error without its path."""
    table = desk.folder / "CANARY-table"
    if where != "absent":
        table.mkdir()
    if where == "forbidden names":
        (table / ".CANARY").write_text("CANARY")
    words = [command, table] if command == "describe" else [command, table, desk.policy, desk.out]

    answer = run(*words)

    assert (answer.status, answer.out) == (1, "")
    assert "able to read" in answer.err
    assert "CANARY" not in answer.err
    assert not desk.out.exists()


@pytest.mark.slow
def test_two_thousand_columns(run, desk):
    """So many columns are described, protected, and named in errors without end."""
    names = [f"column{i}" for i in range(2_000)]
    rows = "".join(",".join(str((i * j) % 7) for j in range(2_000)) + "\n" for i in range(12))
    desk.table.write_text(",".join(names) + "\n" + rows)
    sections = [
        f'[columns.{name}]\nrole = "{"quasi_identifier" if i < 3 else "insensitive"}"\n'
        'kind = "numeric"\n'
        for i, name in enumerate(names)
    ]
    promise = '[[guarantees]]\nmodel = "k-anonymity"\nk = 3\n'
    desk.policy.write_text("halfmask = 1\n" + "".join(sections) + promise)

    described = run("describe", desk.table, "--json")
    protected = run(*desk.protect("--json"))
    desk.policy.write_text("halfmask = 1\n" + "".join(sections[:3]) + promise)
    unnamed = run(*desk.protect("--overwrite", "--json"))
    said = run(*desk.protect("--overwrite"))

    assert len(described.json["columns"]) == 2_000
    assert protected.status == 0, protected.out
    assert (unnamed.status, unnamed.json["code"]) == (1, "schema")
    assert "'column3'" in unnamed.json["error"]
    assert "'column1999'" in unnamed.json["error"]
    assert len(said.err) < 3_000


@pytest.mark.slow
def test_two_hundred_thousand_categories(run, desk):
    """A category with so many values is generalized like another."""
    desk.table.write_text(
        f"{HEADER}\n"
        + "".join(f"a,{20 + i % 50},CANARY-town{i},CANARY-ill{i % 5}\n" for i in range(200_000))
    )

    answer = run(*desk.protect("--json"))

    assert answer.status == 0, answer.out
    assert answer.json["rows"]["in"] == 200_000


MYSQL = "mysql://CANARY:CANARY@host/shop"


@pytest.mark.parametrize(
    "words",
    [
        ["describe", MYSQL],
        ["describe", "t.csv", "--out", MYSQL],
        ["describe", "t.csv", f"--out={MYSQL}"],
        ["explore", MYSQL, "p.toml"],
        ["protect", MYSQL, "p.toml", "out"],
        ["protect", "t.csv", "p.toml", MYSQL],
        ["protect", "sqlite:///a.db", "p.toml", MYSQL],
        ["protect", "jdbc:sqlserver://host;databaseName=shop", "p.toml", "out"],
        ["protect", "t.csv", "p.toml", "out", "--population", MYSQL],
        ["crosstab", MYSQL],
        ["synthesize", MYSQL, "p.toml", "out"],
        ["query", MYSQL, "SELECT COUNT(*) FROM t"],
        ["verify", MYSQL],
        ["verify", "out", "--originals", MYSQL],
        ["reverse", "p.toml", MYSQL, "o.csv"],
        ["decode", MYSQL, "o.csv"],
        ["push", MYSQL],
        ["predict", MYSQL, "o.csv"],
        ["workbench", MYSQL],
        ["hash", MYSQL, "o.csv"],
        ["assess", "risk", MYSQL],
        ["assess", "release", "out", MYSQL],
        ["assess", "robustness", MYSQL],
        ["assess", "encoding", MYSQL, "t.csv"],
        ["encode", "fit", MYSQL],
        ["encode", "apply", "t.csv", MYSQL],
        ["encode", "series", "fit", MYSQL],
        ["events", "describe", MYSQL],
        ["events", "run", "p.toml", MYSQL],
        ["budget", "set", MYSQL],
    ],
    ids=lambda words: "-".join(it.split(":")[0] for it in words),
)
def test_databases_of_other_engines_are_refused_in_every_command(run, words):
    """Before a passphrase is asked for, and before a missing option is told."""
    answer = run(*words)

    assert (answer.status, answer.out) == (1, "")
    assert "This database isn't supported: PostgreSQL, SQLite and DuckDB are." in answer.err
    assert "Export its tables to Parquet or CSV" in answer.err
    assert "CANARY" not in answer.err
