"""``halfmask budget`` and ``halfmask query``: a budget, questions under it, and refusals."""

from __future__ import annotations

import json

import pytest

from halfmask.cli import main

SQL = "SELECT sex, COUNT(*), AVG(age) FROM people WHERE sex IN ('f', 'm') GROUP BY sex"


@pytest.fixture
def table(tmp_path):
    rows = [f"CANARY{i % 400},{'fm'[i % 2]},{i % 90}" for i in range(2000)]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["person,sex,age", *rows]))
    return path


def run(capsys, *words):
    status = main([str(word) for word in words])
    said = capsys.readouterr()
    assert "CANARY" not in said.out + said.err
    return status, said.out, said.err


@pytest.fixture
def vault(table, tmp_path, capsys):
    where = tmp_path / "vault"
    budget = ("--epsilon", 2, "--delta", 1e-6, "--vault", where, "--bounds", "age=0:99")
    assert run(capsys, "budget", "set", table, *budget)[0] == 0
    return where


def test_a_plan_is_shown_and_nothing_is_charged(table, vault, capsys):
    options = ("--epsilon", 1, "--vault", vault)
    status, out, _ = run(capsys, "query", table, SQL, *options, "--plan")
    assert status == 0
    assert "Costs epsilon 1" in out
    assert "mean_age: ± " in out

    status, out, _ = run(capsys, "budget", "show", "people", "--vault", vault)
    assert "Spent: epsilon 0 of 2 in 0 charges" in out
    assert "adding or removing" in out


def test_a_question_is_charged_once(table, vault, capsys):
    options = ("--epsilon", 1, "--vault", vault)
    status, out, _ = run(capsys, "query", table, SQL, *options)
    assert status == 0
    assert "It is charged." in out
    assert "differentially private for one row" in out
    again = json.loads(run(capsys, "query", table, SQL, *options, "--json")[1])
    assert again["ok"]
    assert again["from_book"]
    assert [row["sex"] for row in again["rows"]] == ["f", "m"]
    for row in again["rows"]:
        assert row["mean_age_low"] <= row["mean_age"] <= row["mean_age_high"]

    less = run(capsys, "query", table, SQL, "--epsilon", 0.5, "--vault", vault)[1]
    assert "Costs epsilon 1," in less
    assert "nothing was charged" in less

    shown = json.loads(run(capsys, "budget", "show", "people", "--vault", vault, "--json")[1])
    assert len(shown["charges"]) == 1
    assert shown["spent"] == pytest.approx(1, rel=1e-3)


@pytest.mark.slow
def test_what_intervals_leave_out_is_shown(table, tmp_path, capsys):
    """Of 2,000 rows of 400 persons, 800 count: an interval around these says nothing of 2,000."""
    person = ("--person", "person", "--max-rows", 2)
    where = ("--vault", tmp_path / "v", "--dataset", "d")
    run(capsys, "budget", "set", table, "--epsilon", 9, "--delta", 0, *person, *where)
    asked = ("query", table, "SELECT COUNT(*) FROM d", "--epsilon", 4, *where)
    said = "Of each 'person', at most 2 rows count."
    for more in (("--plan",), ()):
        assert said in run(capsys, *asked, *more)[1]
        shown = json.loads(run(capsys, *asked, *more, "--json")[1])
        assert shown["uncovered"][0].startswith(said)
    answer = json.loads(run(capsys, *asked, "--json")[1])
    assert answer["rows"][0]["count_high"] < 900


def test_the_ledger_shows_what_it_charged(table, vault, capsys):
    asked = "SELECT COUNT(*) AS lied, AVG(age) FROM people WHERE sex = 'f' GROUP BY sex"
    assert run(capsys, "query", table, asked, "--epsilon", 0.6, "--vault", vault)[0] == 0
    keys = "SELECT MEDIAN(age) FROM people GROUP BY sex"
    options = ("--epsilon", 0.3, "--delta", 4e-7, "--vault", vault)
    assert run(capsys, "query", table, keys, *options)[0] == 0

    shown = json.loads(run(capsys, "budget", "show", "people", "--vault", vault, "--json")[1])
    first, second = shown["charges"]
    where = "WHERE (sex = 'f') GROUP BY sex"
    assert first["purpose"] == f"COUNT(*), AVG(CLAMP(age, 0, 99)) {where}"
    assert (first["epsilon"], first["delta"]) == (pytest.approx(0.6), 0.0)
    assert (second["epsilon"], second["delta"]) == (pytest.approx(0.3), 4e-7)
    assert (shown["delta_spent"], shown["delta_left"]) == (4e-7, pytest.approx(1e-7))
    plain = run(capsys, "budget", "show", "people", "--vault", vault)[1]
    assert "charges spent 4e-07" in plain
    assert "booked (UTC)" in plain
    assert shown["charges"][0]["booked"].removesuffix("+00:00").replace("T", " ") in plain
    assert "may spend 1e-07" in plain
    assert "lied" not in plain
    assert "COUNT(*)" in plain

    more = ("--epsilon", 0.2, "--delta", 4e-7, "--vault", vault)
    other = "SELECT COUNT(*) FROM people GROUP BY sex"
    status, _, err = run(capsys, "query", table, other, *more)
    assert status == 1
    assert "takes delta 4e-07" in err


def test_answers_and_budgets_are_released(table, vault, tmp_path, capsys):
    options = ("--epsilon", 1, "--vault", vault, "--out")
    assert run(capsys, "query", table, SQL, *options, tmp_path / "answer")[0] == 0
    show = ("budget", "show", "people", "--vault", vault, "--out", tmp_path / "statement")
    assert run(capsys, *show)[0] == 0
    for name in ("answer", "statement"):
        status, out, _ = run(capsys, "verify", tmp_path / name)
        assert status == 0
        assert "the random draws themselves were not seen" in out
    status, _, err = run(capsys, "query", table, SQL, *options, tmp_path / "answer")
    assert (status, "exists already" in err) == (2, True)
    status, _, err = run(capsys, "query", table, SQL, *options, tmp_path / "new", "--plan")
    assert (status, "no answer" in err) == (2, True)


def test_a_budget_that_is_spent_refuses(table, vault, capsys):
    asked = "SELECT COUNT(*) FROM people"
    options = ("--vault", vault, "--json")
    assert run(capsys, "query", table, asked, "--epsilon", 1.5, *options)[0] == 0
    other = "SELECT COUNT(*) FROM people WHERE age > 30"
    status, out, _ = run(capsys, "query", table, other, "--epsilon", 1, *options)
    assert status == 1
    assert json.loads(out)["code"] == "budget"


def test_persons_keys_and_public_tables(table, tmp_path, capsys):
    (tmp_path / "sexes.csv").write_text("sex,word\nf,woman\nm,man\n")
    budget = ("--epsilon", 9, "--delta", 1e-6, "--vault", tmp_path / "v", "--dataset", "d")
    person = ("--person", "person", "--max-rows", 5, "--max-groups", 2)
    status, out, _ = run(capsys, "budget", "set", table, *budget, *person)
    assert status == 0
    assert "all rows of one 'person', at most 5 of them" in out

    sql = "SELECT word, COUNT(*), SUM(age) FROM d JOIN sexes USING (sex) GROUP BY word"
    options = ("--vault", tmp_path / "v", "--dataset", "d", "--bounds", "age=0:99")
    public = ("--public", f"sexes={tmp_path / 'sexes.csv'}")
    asked = ("query", table, sql, *options, *public, "--epsilon", 4)
    assert "Keys of a joined public table" in run(capsys, *asked, "--delta", 1e-7)[2]
    status, out, _ = run(capsys, *asked, "--json", "--out", tmp_path / "out")
    assert status == 0
    assert [row["word"] for row in json.loads(out)["rows"]] == ["man", "woman"]
    assert run(capsys, "verify", tmp_path / "out")[0] == 0


@pytest.fixture
def towns(tmp_path, capsys):
    """A table whose keys have commas, quotation marks and equals signs, and its ledger."""
    path = tmp_path / "towns.csv"
    keys = ["A, b", 'C "d"', "e=f", "g", " h"]
    rows = [f'"{key.replace(chr(34), 2 * chr(34))}",r{at % 2}' for at, key in enumerate(keys)]
    path.write_text("\n".join(["town,region", *rows * 300]))
    options = ("--vault", tmp_path / "v", "--epsilon", 90, "--delta", 0)
    assert run(capsys, "budget", "set", path, *options)[0] == 0
    return path


@pytest.mark.parametrize(
    ("written", "keys"),
    [
        ('town="A, b"', ["A, b"]),
        ('town="A, b",g', ["A, b", "g"]),
        ('town=g , "A, b"', ["g", "A, b"]),
        ('town="C ""d""",g', ['C "d"', "g"]),
        ("town=e=f,g", ["e=f", "g"]),
        ('town=" h"', [" h"]),
    ],
)
def test_keys_may_hold_what_parts_keys(towns, tmp_path, capsys, written, keys):
    sql = "SELECT town, COUNT(*) FROM towns GROUP BY town"
    options = ("--vault", tmp_path / "v", "--epsilon", 9, "--json")
    status, out, _ = run(capsys, "query", towns, sql, *options, "--keys", written)
    assert status == 0
    found = {row["town"]: row["count"] for row in json.loads(out)["rows"]}
    assert found == dict.fromkeys(keys, pytest.approx(300, abs=5))


@pytest.mark.parametrize(
    "written", ['town="A, b', "town=A,,b", "town=A,", 'town=5" pipe', 'town="A"b']
)
def test_keys_that_cannot_be_read_cost_nothing(towns, tmp_path, capsys, written):
    sql = "SELECT town, COUNT(*) FROM towns GROUP BY town"
    where = ("--vault", tmp_path / "v")
    status, _, err = run(capsys, "query", towns, sql, *where, "--epsilon", 9, "--keys", written)
    assert (status, "A key of 'town' is empty, or has a double quote" in err) == (2, True)
    assert "0 charges" in run(capsys, "budget", "show", "towns", *where)[1]


def test_keys_may_be_those_of_a_public_table(towns, tmp_path, capsys):
    (tmp_path / "of=2024").mkdir()
    (tmp_path / "of=2024" / "regions.csv").write_text("region,zone\nr0,7\nr1,8\n")
    sql = "SELECT zone, COUNT(*) FROM towns JOIN regions USING (region) GROUP BY zone"
    options = ("--vault", tmp_path / "v", "--epsilon", 9, "--json", "--keys", "zone=7,8,9")
    public = ("--public", f"regions={tmp_path / 'of=2024' / 'regions.csv'}")
    status, out, _ = run(capsys, "query", towns, sql, *options, *public)
    assert status == 0
    found = {row["zone"]: row["count"] for row in json.loads(out)["rows"]}
    assert found == {
        7: pytest.approx(900, abs=5),
        8: pytest.approx(600, abs=5),
        9: pytest.approx(0, abs=5),
    }


def test_an_analyst_needs_a_share(table, vault, capsys):
    asked = ("query", table, "SELECT COUNT(*) FROM people", "--epsilon", 0.5, "--vault", vault)
    status, _, err = run(capsys, *asked, "--analyst", "ann")
    assert status == 1
    assert "no share" in err
    allowed = ("budget", "allow", "people", "ann", "--epsilon", 0.5, "--vault", vault)
    assert run(capsys, *allowed)[0] == 0
    assert run(capsys, *asked, "--analyst", "ann")[0] == 0
    allowed = json.loads(run(capsys, *allowed, "--json")[1])
    assert allowed["spent"] == pytest.approx(0.5, rel=1e-3)


def test_what_is_left_for_each_analyst_is_shown(table, vault, capsys):
    """The smaller rest of the share and of the budget, whatever the shares sum up to."""
    for name, epsilon in (("bob", 1.5), ("ann", 1.0)):
        run(capsys, "budget", "allow", "people", name, "--epsilon", epsilon, "--vault", vault)
    asked = ("query", table, "SELECT COUNT(*) FROM people", "--vault", vault)
    assert run(capsys, *asked, "--epsilon", 0.6, "--analyst", "ann")[0] == 0
    assert run(capsys, *asked, "--epsilon", 0.8)[0] == 0
    show = ("budget", "show", "people", "--vault", vault)
    facts = json.loads(run(capsys, *show, "--json")[1])
    assert facts["left"] == pytest.approx(0.6, rel=1e-3)
    assert facts["analysts"] == [
        {
            "analyst": name,
            "epsilon": allowed,
            "spent": pytest.approx(spent, rel=1e-3),
            "left": pytest.approx(left, rel=1e-3),
            "last": last,
        }
        for name, allowed, spent, left, last in (
            ("ann", 1.0, 0.6, 0.4, 1),
            ("bob", 1.5, 0.0, 0.6, None),
        )
    ]
    out = run(capsys, *show)[1]
    assert "in 2 charges; 0.6 left" in out
    rows = [line.split() for line in out.splitlines()]
    when = facts["charges"][0]["booked"].removesuffix("+00:00").split("T")
    assert ["ann", "1", "0.6", "0.4", "1,", *when] in rows
    assert ["bob", "1.5", "0", "0.6"] in rows


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("words", "status", "named"),
    [
        (("--epsilon", "0"), 1, "epsilon"),
        (("--epsilon", "inf"), 1, "epsilon"),
        (("--epsilon", "1", "--delta", "0.1"), 1, "no delta"),
        (("--epsilon", "1", "--bounds", "age"), 2, "--bounds"),
        (("--epsilon", "1", "--bounds", "age=x"), 2, "'age'"),
        (("--epsilon", "1", "--bounds", "age=9:1"), 1, "'age'"),
        (("--epsilon", "1", "--keys", "sexx=f"), 1, "sexx"),
        (("--epsilon", "1", "--keys", "age=old"), 2, "'age'"),
        (("--epsilon", "1", "--keys", "sex="), 2, "--keys"),
        (("--epsilon", "1", "--bounds", "agee=0:9"), 1, "agee"),
        (("--epsilon", "1", "--bounds", "age=0:1e300"), 1, "'age'"),
        (("--epsilon", "1", "--bounds", "age=0:9", "--bounds", "age=0:8"), 2, "twice for 'age'"),
        (("--epsilon", "1e-320"), 1, "[1e-06, 100]"),
        (("--epsilon", "1", "--out", "/nowhere/at/all"), 2, "--out"),
        (("--epsilon", "1", "--dataset", "other"), 1, "ledger"),
        (("--epsilon", "1", "--dataset", "../x"), 1, "dataset"),
        (("--epsilon", "abc"), 2, "It is a number."),
    ],
)
def test_options_that_are_wrong_are_named(table, vault, capsys, words, status, named):
    found, _, err = run(capsys, "query", table, SQL, "--vault", vault, *words)
    assert found == status
    assert named in err
    if "--dataset" not in words:
        assert "0 charges" in run(capsys, "budget", "show", "people", "--vault", vault)[1]


def test_a_table_that_changed_is_refused(table, vault, capsys):
    with table.open("a") as file:
        file.write("\nCANARY,f,3")
    status, _, err = run(capsys, "query", table, SQL, "--vault", vault, "--epsilon", 1)
    assert status == 1
    assert "changed" in err


def test_a_table_that_grew_has_the_same_budget(table, vault, capsys):
    options = ("--vault", vault, "--epsilon", 1.5)
    assert run(capsys, "query", table, SQL, *options)[0] == 0
    with table.open("a") as file:
        file.write("\nCANARY,f,3")
    assert "halfmask budget update" in run(capsys, "query", table, SQL, *options)[2]
    status, out, _ = run(capsys, "budget", "update", table, "--vault", vault)
    assert status == 0
    assert "Spent: epsilon 1.5 of 2 in 1 charges" in out
    assert "in all 2 versions of the table" in out
    status, _, err = run(capsys, "query", table, SQL, *options)
    assert (status, "more than is left of the budget" in err) == (1, True)
    again = ("query", table, SQL, "--vault", vault, "--epsilon", 0.4, "--json")
    assert not json.loads(run(capsys, *again)[1])["from_book"]


def test_a_table_with_other_columns_is_no_new_version(table, vault, capsys):
    table.write_text("person,sex\nCANARY,f\n")
    status, _, err = run(capsys, "budget", "update", table, "--vault", vault)
    assert (status, "other columns" in err) == (1, True)


def test_sql_outside_of_the_subset_is_refused(table, vault, capsys):
    sql = "SELECT person FROM people WHERE sex = 'CANARY'"
    status, _, err = run(capsys, "query", table, sql, "--vault", vault, "--epsilon", 1)
    assert status == 1
    assert "GROUP BY" in err
