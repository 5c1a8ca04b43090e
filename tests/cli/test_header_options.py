"""A CSV file without a header, or with a bad one, in every command that reads a table."""

from __future__ import annotations

import tomllib

import numpy as np
import polars as pl
import pytest

from halfmask.vault import KeyFile, Vault

NAMES = "name,age,town,illness"


@pytest.fixture
def headless(desk):
    """The table of the desk without its header: the first person is the first row."""
    text = desk.table.read_text().partition("\n")[2]
    desk.table.write_text(text)
    return desk


@pytest.fixture
def sealed(desk):
    """The words that open a vault."""
    Vault.create(desk.table.parent / "vault", lock=KeyFile.create(desk.table.parent / "key"))
    return ["--vault", desk.table.parent / "vault", "--key-file", desk.table.parent / "key"]


@pytest.mark.slow
def test_every_command_refuses_a_first_row_that_is_a_person(headless, sealed, run):
    """Nothing of the person is said or written, and nothing else is."""
    table, out = headless.table, headless.table.parent / "out"
    commands = [
        ["describe", table, "--out", out],
        ["protect", table, headless.policy, out],
        ["encode", "fit", table, "--learner", "trees", "--codec", "c", *sealed],
        ["hash", table, out, "--fit", "--hasher", "h", *sealed],
        ["assess", "encoding", table, table],
    ]
    for words in commands:
        answer = run(*words)
        assert (answer.status, answer.out) == (1, ""), words
        assert "looks like data" in answer.err, words
        assert "--no-header" in answer.err, words
        assert "CANARY" not in answer.err, words
        assert not out.exists(), words


@pytest.mark.slow
def test_what_describe_was_told_stands_in_the_policy_and_protect_reads_the_same(headless, run):
    table, policy = headless.table, headless.table.parent / "proposed.toml"
    table.write_text("A title\n" + table.read_text().replace("\n", "\n#note, 1\n", 1))
    how = ["--no-header", "--skip-rows", "1", "--comment", "#", "--column-names", NAMES]

    assert run("describe", table, *how, "--out", policy).status == 0
    said = tomllib.loads(policy.read_text())
    assert said["input"] == {
        "header": False, "skip_rows": 1, "comment": "#", "column_names": NAMES.split(","),
    }  # fmt: skip
    assert "CANARY" not in policy.read_text()
    answer = run("protect", table, policy, table.parent / "out", "--json")
    assert answer.status == 0, answer.err
    # All 80 people are there, the first one, too.
    assert answer.json["rows"]["in"] == 80
    assert answer.err == "" or "CANARY" not in answer.err


def test_protect_takes_the_options_over_what_the_policy_says(headless, run):
    out = headless.table.parent / "out"
    how = ["--no-header", "--column-names", NAMES]

    answer = run("protect", headless.table, headless.policy, out, *how, "--json")

    assert answer.status == 0, answer.err
    assert answer.json["rows"]["in"] == 80
    shown = (out / "manifest.json").read_text() + (out / "report.html").read_text()
    assert "CANARY-name" not in shown
    wrong = run("protect", headless.table, headless.policy, out.with_name("y"), *how[1:])
    assert (wrong.status, "--no-header" in wrong.err) == (2, True)


@pytest.mark.slow
def test_codecs_and_hashers_count_the_first_person(headless, sealed, run):
    table = headless.table
    how = ["--no-header", "--column-names", NAMES]
    sent, back = table.with_name("sent.parquet"), table.with_name("back.parquet")
    codec = ["--codec", "c", *sealed]
    fit = ["encode", "fit", table, "--learner", "trees", "--leave-out", "name", *codec, *how]
    assert run(*fit).status == 0
    assert run("encode", "apply", table, sent, "--leave-out", "name", *codec, *how).status == 0
    assert run("decode", sent, back, *codec).status == 0
    read = pl.read_csv(table, has_header=False, new_columns=NAMES.split(",")).drop("name")
    assert pl.read_parquet(back).equals(read)

    hashed = table.with_name("sent.arrows")
    words = ["hash", table, hashed, "--fit", "--hasher", "h", "--leave-out", "name", *sealed, *how]
    answer = run(*words, "--json")
    assert (answer.status, answer.json["rows"]) == (0, 80)


@pytest.mark.slow
def test_predictions_without_a_header_are_decoded(desk, sealed, run):
    """numpy.savetxt writes none: the first row would be lost."""
    codec = ["--codec", "c", *sealed]
    folder = desk.table.parent
    fit = ["encode", "fit", desk.table, "--learner", "trees", "--target", "illness", *codec]
    assert run(*fit).status == 0
    assert run("encode", "apply", desk.table, folder / "sent.parquet", *codec).status == 0
    codes = pl.read_parquet(folder / "sent.parquet").to_series(-1).to_numpy()
    np.savetxt(folder / "answers.csv", codes, fmt="%d")

    words = ["decode", folder / "answers.csv", folder / "back.csv", "--predictions", *codec]
    refused = run(*words)
    assert (refused.status, "--no-header" in refused.err) == (1, True)
    assert run(*words, "--no-header", "--expect-rows", "80").status == 0
    truth = pl.read_csv(desk.table)["illness"]
    assert pl.read_csv(folder / "back.csv").to_series().to_list() == truth.to_list()


@pytest.mark.slow
def test_names_that_were_made_are_said_once_on_standard_error(desk, sealed, run):
    desk.table.write_text(desk.table.read_text().replace("name,", ",", 1))
    commands = [
        ["describe", desk.table],
        ["encode", "fit", desk.table, "--learner", "trees", "--codec", "c", *sealed],
        ["hash", desk.table, desk.table.with_name("out"), "--fit", "--hasher", "h", *sealed],
    ]
    for words in commands:
        answer = run(*words)
        assert answer.status == 0, answer.err
        assert answer.err.count("with a blank or repeated name") == 1, words
    assert "column_1" in run("describe", desk.table).out
    assert "column_1" in run("describe", desk.table, "--json").json["columns"][0]["name"]


@pytest.mark.slow
def test_column_names_are_written_as_in_csv(desk, run):
    names = ["--header", "--column-names", 'who,"age, in years",town,illness']

    answer = run("describe", desk.table, *names, "--json")

    assert [each["name"] for each in answer.json["columns"]][:2] == ["who", "age, in years"]
