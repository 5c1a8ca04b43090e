"""Commands that read a sheet of a workbook, a statistical file, or a table of a database."""

from __future__ import annotations

import contextlib
import sqlite3
import tomllib

import polars as pl
import pytest

from halfmask.cli import main
from halfmask.hashing import FileHasher, HasherSettings
from halfmask.vault import Secret

N = 60
PEOPLE = pl.DataFrame(
    {
        "age": [20 + n % 30 for n in range(N)],
        "sex": ["f" if n % 2 else "m" for n in range(N)],
        "illness": [("flu", "cold", "none")[n % 3] for n in range(N)],
    }
)
POLICY = """
halfmask = 1
[columns]
age = { role = "quasi_identifier", kind = "numeric" }
sex = { role = "quasi_identifier", kind = "categorical" }
illness = { role = "sensitive", kind = "categorical" }
[[guarantees]]
model = "k-anonymity"
k = 5
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def test_a_sheet_is_described_and_protected(folder):
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("fastexcel")
    with xlsxwriter.Workbook("people.xlsx") as book:
        book.add_worksheet("notes").write(0, 0, "nothing")
        PEOPLE.write_excel(book, "people", table_name="t")

    assert main(["describe", "people.xlsx", "--sheet", "people", "--out", "proposed.toml"]) == 0
    proposed = tomllib.loads((folder / "proposed.toml").read_text())
    assert proposed["input"]["sheet"] == "people"
    assert set(proposed["columns"]) == set(PEOPLE.columns)
    policy = POLICY + '[input]\nsheet = "people"\n'
    (folder / "policy.toml").write_text(policy)
    assert main(["protect", "people.xlsx", "policy.toml", "out"]) == 0
    assert main(["verify", "out"]) == 0


def test_a_statistical_file_is_protected(folder):
    pyreadstat = pytest.importorskip("pyreadstat")
    codes = PEOPLE.with_columns(pl.col("sex").replace_strict({"m": 1, "f": 2}))
    pyreadstat.write_sav(
        codes, str(folder / "people.sav"), variable_value_labels={"sex": {1: "male", 2: "female"}}
    )

    assert main(["protect", "people.sav", "policy.toml", "out"]) == 0
    assert main(["verify", "out"]) == 0
    released = pl.read_parquet(next((folder / "out" / "data").glob("*.parquet")))
    assert set(released["sex"]) <= {"male", "female", "*", None}
    assert "male" in set(released["sex"])


def test_a_table_of_postgresql_is_protected_and_hashed(folder, postgres, capsys):
    postgres.run(
        "CREATE TABLE people AS SELECT 20 + n % 30 AS age, CASE n % 2 WHEN 1 THEN 'f' ELSE 'm' END"
        " AS sex, (ARRAY['flu', 'cold', 'none'])[1 + n % 3] AS illness"
        f" FROM generate_series(0, {N - 1}) n"
    )
    url = postgres.table("people").replace("postgres:@", "postgres:canary-Zx81@")

    assert main(["protect", url, "policy.toml", "out"]) == 0
    assert main(["verify", "out"]) == 0
    released = pl.read_parquet(next((folder / "out" / "data").glob("*.parquet")))
    assert released.height == N
    said = "".join(capsys.readouterr())
    assert "canary-Zx81" not in said
    files = [it.read_bytes() for it in (folder / "out").rglob("*") if it.is_file()]
    assert not any(b"canary-Zx81" in it for it in files)


def test_a_database_url_is_a_table_to_the_hasher(folder):
    with contextlib.closing(sqlite3.connect(folder / "a.db")) as base, base:
        base.execute("create table t (a text)")
        base.execute("insert into t values ('x')")

    hasher = FileHasher.fit(
        "sqlite:///a.db", settings=HasherSettings(), secret=Secret.from_bytes(bytes(32))
    )

    assert hasher is not None
