"""halfmask protect: a verified release and what is said of it, or nothing."""

from __future__ import annotations

import json
from collections import Counter

import polars as pl
import pytest

from halfmask._errors import VerificationError
from halfmask.cli._claims import percent


def _labelled(desk) -> None:
    """Mark a column as what a model predicts."""
    desk.table.write_text(
        "\n".join(
            f"{row},{'buys' if i % 3 else 'label' if not i else 'leaves'}"
            for i, row in enumerate(desk.table.read_text().split())
        )
    )
    desk.policy.write_text(
        desk.policy.read_text()
        + '[columns.label]\nrole = "insensitive"\nkind = "categorical"\nlabel = true\n'
    )


def test_says_where_it_lies_and_what_holds(run, desk):
    """People read where the release and report lie, the promise, and the risk."""
    answer = run(*desk.protect())

    assert (answer.status, answer.err) == (0, "")
    assert f"Release  {desk.out}, 80 of 80 rows" in answer.out
    assert f"Report   {desk.out / 'report.html'}" in answer.out
    assert (desk.out / "report.html").is_file()
    assert "✓   k-anonymity, k = 4" in answer.out
    assert "✓   distinct-l-diversity of illness, l = 2" in answer.out
    assert "on average" in answer.out
    assert "no model was trained" in answer.out
    said = answer.out.replace(str(desk.folder), "")
    assert "CANARY" not in said


def test_numbers_are_those_that_were_counted(run, desk):
    """What is shown is what the verifier and the risks say, not what was asked for."""
    said = run(*desk.protect("--json")).json
    data = pl.read_parquet(desk.out / "data" / "part-00000.parquet")
    smallest = data.group_by("age", "town").len()["len"].min()

    assert said["ok"] is True
    assert smallest == said["verification"]["claims"][0]["counted"]
    assert {"in": 80, "out": data.height, "suppressed": 80 - data.height} == said["rows"]
    assert json.loads((desk.out / "manifest.json").read_text())["details"]["risk"] == said["risk"]
    assert (str(desk.out), str(desk.out / "report.html")) == (said["release"], said["report"])


def test_compares_models_where_there_is_a_label(run, desk):
    """With a label the accuracy on the release stands beside that on raw rows."""
    _labelled(desk)

    answer = run(*desk.protect())

    assert answer.status == 0, answer.err
    assert "accuracy of a model that predicts label" in answer.out
    assert "trained on the release" in answer.out
    assert "trained on raw rows" in answer.out


@pytest.mark.slow
def test_three_last_lines_say_what_was_lost_and_what_is_at_risk(run, desk):
    """They are the numbers of the tables above, on one line of a terminal each."""
    _labelled(desk)

    answer = run(*desk.protect())

    lost, risk, weak = answer.out.splitlines()[-3:]
    said = run(*desk.protect("--overwrite", "--json")).json
    every = said["risk"]["released_columns"]["every"]
    assert lost.startswith("Lost      ")
    assert "of the detail, 0 of 80 rows, accuracy" in lost
    assert risk.endswith(
        f"unique on all {len(every['columns'])} columns: {percent(every['share_unique'])}"
    )
    assert weak.startswith("See       report.html for ")
    assert max(map(len, (lost, risk, weak))) <= 80


def test_verbose_names_weaknesses_and_stages(run, desk):
    """With -v what no promise protects from is listed, and the stages are timed."""
    quiet = run(*desk.protect())
    loud = run(*desk.protect("--overwrite", "-v"))

    assert "weaknesses that no guarantee covers" in quiet.out
    assert "No guarantee protects from this" in loud.out
    assert quiet.err == ""
    for stage in ("reading", "growing classes", "writing", "verifying"):
        assert stage in loud.err


@pytest.mark.slow
def test_an_existing_release_stays(run, desk):
    """OUT isn't touched unless that is asked for, and then only if it is a release."""
    run(*desk.protect())
    before = (desk.out / "manifest.json").read_bytes()

    refused = run(*desk.protect("--json"))
    assert (refused.status, refused.json["code"]) == (1, "release")
    assert before == (desk.out / "manifest.json").read_bytes()

    assert run(*desk.protect("--overwrite")).status == 0
    assert before != (desk.out / "manifest.json").read_bytes()


def test_a_folder_that_is_no_release_is_never_replaced(run, desk):
    """--overwrite doesn't take a folder that halfmask didn't make."""
    desk.out.mkdir()
    (desk.out / "thesis.txt").write_text("years of work")

    answer = run(*desk.protect("--overwrite"))

    assert answer.status == 1
    assert (desk.out / "thesis.txt").read_text() == "years of work"
    assert "CANARY" not in answer.err


def test_the_folder_around_is_there(run, desk):
    """A slip in OUT's path makes no folders, and is said before the table is read."""
    answer = run("protect", "CANARY", "CANARY", desk.folder / "CANARY" / "out", "--json")

    assert (answer.status, answer.json["code"]) == (1, "release")
    assert "CANARY" not in answer.out
    assert desk.names() == ["people.csv", "policy.toml"]


def test_an_unmet_promise_fails(run, desk):
    """A promise that can't be kept is exit code 1, and there is no release."""
    desk.policy.write_text(desk.policy.read_text().replace("k = 4", "k = 81"))

    answer = run(*desk.protect())

    assert (answer.status, answer.out) == (1, "")
    assert "k=81" in answer.err
    assert desk.names() == ["people.csv", "policy.toml"]


def test_a_promise_that_the_verifier_denies_fails(run, desk, monkeypatch):
    """What the verifier doesn't confirm on disk doesn't stay there."""

    def deny(_self):
        raise VerificationError("The release on disk doesn't bear out what it claims.")

    monkeypatch.setattr("halfmask.verifier.CheckedRelease.raise_if_broken", deny)
    answer = run(*desk.protect("--json"))

    assert (answer.status, answer.json["code"]) == (1, "verification")
    assert desk.names() == ["people.csv", "policy.toml"]


@pytest.mark.slow
def test_the_key_fixes_the_order(run, desk):
    """The same key gives the same order of rows; without one it is another each time."""
    key = desk.folder / "key"
    key.write_bytes(bytes(range(32)))
    key.chmod(0o600)

    def rows(*options):
        assert run(*desk.protect("--overwrite", *options)).status == 0
        return pl.read_parquet(desk.out / "data" / "part-00000.parquet")

    assert rows("--key-file", str(key)).equals(rows("--key-file", str(key)))
    assert not rows().equals(rows())


@pytest.mark.parametrize("key", [None, b"", b"CANARY", bytes(33)])
def test_a_key_that_is_none(run, desk, key):
    """A key file that isn't there or has another size is an error, and nothing is written."""
    if key is not None:
        (desk.folder / "key").write_bytes(key)
        (desk.folder / "key").chmod(0o600)
    before = desk.names()

    answer = run(*desk.protect("--key-file", str(desk.folder / "key")))

    assert (answer.status, answer.out) == (1, "")
    assert "CANARY" not in answer.err
    assert before == desk.names()


def test_a_key_that_others_may_read_is_refused(run, desk):
    """As a token, a passphrase and the key of a vault are."""
    key = desk.folder / "key"
    key.write_bytes(bytes(32))
    for mode in (0o644, 0o640, 0o604):
        key.chmod(mode)
        answer = run(*desk.protect("--key-file", str(key)))

        assert answer.status == 1
        assert f"its mode is {mode:04o}" in answer.err
        assert "out" not in desk.names()


def test_a_population_is_judged(run, desk):
    """With --population the risk is judged among those people, too."""
    answer = run(*desk.protect("--population", str(desk.table)))

    assert answer.status == 0, answer.err
    assert "among the population" in answer.out


@pytest.mark.slow
def test_reads_table_or_policy_from_standard_input(start, desk):
    """Either may be - ."""
    table = start("protect", "-", desk.policy, desk.out, stdin=desk.table.read_bytes())
    policy = start(
        "protect", desk.table, "-", desk.out, "--overwrite", stdin=desk.policy.read_bytes()
    )

    assert [table.status, policy.status] == [0, 0], table.err + policy.err


def test_a_policy_that_is_absent(run, desk):
    """The policy's path is not in the error."""
    desk.policy.unlink()

    answer = run(*desk.protect())

    assert answer.status == 1
    assert "policy" in answer.err
    assert "CANARY" not in answer.err


def test_warns_of_columns_that_single_people_out(run, desk):
    """The worst stands in one line, and with --strict it is an error that leaves no release."""
    desk.policy.write_text(
        desk.policy.read_text().replace('role = "quasi_identifier"', 'role = "insensitive"', 1)
    )
    rows = [row.split(",") for row in desk.table.read_text().splitlines()[1:]]
    unique = sum(n == 1 for n in Counter((row[1], row[3]) for row in rows).values()) / 80

    answer = run(*desk.protect())
    assert answer.status == 0, answer.err
    assert f"Warning: {100 * unique:.4g} % of the rows are unique on age and illness" in answer.out
    assert "Hint: Round 'age'" in answer.out

    (warning,) = run(*desk.protect("--overwrite", "--json")).json["warnings"]
    before = (desk.out / "manifest.json").read_bytes()
    strict = run(*desk.protect("--overwrite", "--strict", "--json"))
    assert (strict.status, strict.json["code"]) == (1, "guarantee-not-met")
    assert strict.json["error"] == warning
    assert before == (desk.out / "manifest.json").read_bytes()


def test_strict_passes_where_no_unchanged_column_singles_out(run, desk):
    """Each illness is that of 16 people: more than k, so nothing is warned of."""
    answer = run(*desk.protect("--strict"))

    assert answer.status == 0, answer.err
    assert "Warning" not in answer.out
    assert "Risk for an attacker who knows 2 quasi-identifiers and no other column" in answer.out


@pytest.mark.slow
def test_says_what_was_lost(run, desk):
    """A guarantee that one rare value can't carry is named with what it costs, in orange words."""
    header, *rows = desk.table.read_text().splitlines()
    rare = [
        f"{row.rpartition(',')[0]},CANARY-{'rare' if i < 2 else 'ill'}"
        for i, row in enumerate(rows)
    ]
    desk.table.write_text("\n".join([header, *rare]) + "\n")

    answer = run(*desk.protect("--json"))
    shown = run(*desk.protect("--overwrite"))

    assert answer.status == 0, answer.out
    found = answer.json["utility"]["detail"]
    (cost,) = found["costs"]
    assert (cost["column"], cost["parameters"]) == ("illness", {"l": 2})
    assert cost["classes"] <= 2 < cost["classes_without"]
    assert "Detail kept: " in shown.out
    for warning in answer.json["warnings"]:
        assert f"Warning: {warning}" in shown.out
    assert any("costs most of the detail" in warning for warning in answer.json["warnings"])


@pytest.mark.slow
def test_programs_hear_of_columns_that_give_the_label_away(run, desk):
    """What the terminal warns of stands in the JSON object, too."""
    header, *rows = desk.table.read_text().splitlines()
    copied = [f"{row},{row[-1]}" for row in rows]
    desk.table.write_text("\n".join([f"{header},code", *copied]) + "\n")
    labelled = desk.policy.read_text().replace(
        'role = "sensitive"', 'role = "sensitive"\nlabel = true'
    )
    desk.policy.write_text(
        f'{labelled}[columns.code]\nrole = "insensitive"\nkind = "categorical"\n'
    )

    warnings = run(*desk.protect("--json")).json["warnings"]
    assert any("'code' is released unchanged and gives the label away" in it for it in warnings)
