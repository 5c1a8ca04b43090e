"""halfmask describe: a table of proposals, a policy to edit, and no cell in either."""

from __future__ import annotations

import random
import tomllib

import pytest


@pytest.mark.slow
def test_shows_each_column_with_its_reason(run, desk):
    """People read roles, kinds and reasons; nothing of the table's cells."""
    answer = run("describe", desk.table)

    assert (answer.status, answer.err) == (0, "")
    assert "80 rows, 4 columns" in answer.out
    for column in ("name", "age", "town", "illness"):
        assert f"\n{column} " in answer.out
    assert "quasi-identifier" in answer.out
    assert "Next: halfmask describe TABLE --out policy.toml" in answer.out
    assert "CANARY" not in answer.out


def test_one_row_is_no_rows(run, desk):
    table = desk.folder / "one.csv"
    table.write_text("age\n7\n")

    assert "1 row, 1 column\n" in run("describe", table).out


@pytest.mark.slow
def test_answers_programs(run, desk):
    """With --json one object says the same."""
    answer = run("describe", desk.table, "--json")

    assert (answer.status, answer.err) == (0, "")
    said = answer.json
    assert (said["ok"], said["rows"], said["rows_looked_at"]) == (True, 80, 80)
    assert [each["name"] for each in said["columns"]] == ["name", "age", "town", "illness"]
    assert {"name", "role", "kind", "certain", "reasons", "evidence"} == said["columns"][0].keys()
    assert "CANARY" not in answer.out


@pytest.mark.slow
def test_verbose_counts(run, desk):
    """With -v the evidence stands beside the reasons."""
    assert "missing" not in run("describe", desk.table).out
    assert "missing" in run("describe", desk.table, "-v").out


@pytest.mark.slow
def test_writes_a_policy_that_protect_takes(run, desk):
    """The proposal is a policy as it stands, and says how the table was read."""
    new = desk.folder / "new.toml"
    desk.table.write_text(desk.table.read_text().replace(",", ";"), encoding="latin-1")

    answer = run(
        "describe", desk.table, "--out", new, "--missing", "?", "--delimiter", ";",
        "--encoding", "latin-1",
    )  # fmt: skip

    said = tomllib.loads(new.read_text())
    assert answer.status == 0
    assert said["input"] == {"missing": ["", "?"], "delimiter": ";", "encoding": "latin-1"}
    assert "CANARY" not in new.read_text()
    taken = run("protect", desk.table, new, desk.out, "--json")
    # Whether 80 people can keep what is proposed is another question than whether it is read.
    assert taken.status == 0 or taken.json["code"] == "guarantee-not-met"


@pytest.mark.slow
def test_dates_written_by_day_are_proposed_and_read(run, desk):
    """What describe finds of dates stands beside what was said of reading, and protect takes it."""
    new = desk.folder / "new.toml"
    rows = [f"{i % 28 + 1:02d}.{i % 3 + 1:02d}.1980;{'ab'[i % 2]}" for i in range(80)]
    desk.table.write_text("\n".join(["Geburtsdatum;Diagnose", *rows]), encoding="latin-1")

    run("describe", desk.table, "--out", new, "--encoding", "latin-1")
    taken = run("protect", desk.table, new, desk.out, "--json")

    said = tomllib.loads(new.read_text())
    assert said["input"] == {
        "encoding": "latin-1",
        "date_formats": {"Geburtsdatum": "%d.%m.%Y"},
    }
    assert taken.status == 0


@pytest.mark.slow
def test_policy_without_options_says_nothing_of_input(run, desk):
    """Where nothing was said of reading, the policy says nothing."""
    run("describe", desk.table, "--out", desk.folder / "new.toml")

    assert "input" not in tomllib.loads((desk.folder / "new.toml").read_text())


@pytest.mark.slow
def test_policy_on_standard_output(run, desk):
    """--out - shows the policy and nothing else."""
    answer = run("describe", desk.table, "--out", "-")

    assert tomllib.loads(answer.out)["halfmask"] == 1


@pytest.mark.slow
def test_an_edited_policy_stays(run, desk):
    """A policy that exists is not replaced unless that is asked for."""
    before = desk.policy.read_text()

    refused = run("describe", desk.table, "--out", desk.policy)
    assert (refused.status, refused.out) == (1, "")
    assert before == desk.policy.read_text()
    assert "CANARY" not in refused.err

    assert run("describe", desk.table, "--out", desk.policy, "--overwrite").status == 0
    assert before != desk.policy.read_text()


@pytest.mark.slow
def test_reads_standard_input(start, desk):
    """- is standard input."""
    answer = start("describe", "-", "--json", stdin=desk.table.read_bytes())

    assert (answer.status, answer.json["rows"]) == (0, 80)


@pytest.mark.slow
def test_looks_at_a_sample(run, desk):
    """--sample bounds the rows that are looked at."""
    assert run("describe", desk.table, "--sample", "10", "--json").json["rows_looked_at"] == 10


@pytest.mark.slow
def test_reads_a_format_that_is_said(run, desk):
    """--format says what the name doesn't."""
    plain = desk.folder / "people"
    plain.write_text(desk.table.read_text().replace(",", "\t"))

    assert len(run("describe", plain, "--format", "tsv", "--json").json["columns"]) == 4


@pytest.mark.slow
def test_names_that_a_terminal_would_obey(run, desk):
    """A column's name can't steer the terminal."""
    desk.table.write_text(desk.table.read_text().replace("illness", "ill\x1b[2Jness"))

    answer = run("describe", desk.table)

    assert "\x1b" not in answer.out
    assert r"ill\x1b[2Jness" in answer.out


@pytest.mark.real_data
def test_adult(run, adult_csv):
    """The example is described without any of its values."""
    answer = run("describe", adult_csv, "--missing", "?")

    assert answer.status == 0
    for value in ("Bachelors", "Private", "Husband", "<=50K", "Holand"):
        assert value not in answer.out


def test_alike_columns_are_one_line_of_at_most_80_letters(run, desk, monkeypatch):
    """Twenty guesses for one reason are folded; with -v each column has all its reasons."""
    rng = random.Random(3)
    names = ["qqqqqqqq_wwwwwwww_eeeeeeee_rrrrrrrr", *(f"measure_{i}" for i in range(19)), "age"]
    rows = [",".join(f"{rng.gauss(5, 2):.2f}" for _ in names) for _ in range(200)]
    desk.table.write_text("\n".join([",".join(names), *rows]))
    monkeypatch.setenv("COLUMNS", "80")

    shown = run("describe", desk.table).out.splitlines()

    table = shown[2 : shown.index("", 2)]
    assert len(table) == 2 + 2, "the head, the folded and the age"
    assert table[2].startswith("qqqqqqq... and 19 more ")
    assert max(map(len, shown)) <= 80
    assert any("19 columns are folded" in line for line in shown)
    whole = run("describe", desk.table, "-v").out
    assert all(f"\n{name}: " in whole for name in names)


@pytest.mark.slow
def test_the_brief_reason_holds_no_value(run, desk):
    """What the short column says comes from names and forms, not from cells."""
    answer = run("describe", desk.table)

    assert "name: age" in answer.out
    assert "CANARY" not in answer.out
