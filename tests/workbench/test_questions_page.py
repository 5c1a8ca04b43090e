"""The page Questions: a budget, questions with and without SQL, and what is charged."""

from __future__ import annotations

import re
import shlex

import polars as pl
import pytest

from halfmask.cli import main
from halfmask.dp.ledger import PrivacyLedger
from workbench.candidates import matched  # type: ignore[import-not-found] # not in a package

COUNT = "SELECT COUNT(*) FROM adult"
BY_SEX = "SELECT sex, COUNT(*) FROM adult WHERE sex IN ('Female', 'Male') GROUP BY sex"
BUDGET = {"epsilon": "3", "delta": "1e-6", "vault": "vault", "max_rows": "1", "max_groups": "1"}


def once_of(bench):
    """Return the one-time id of the form that is shown."""
    return matched(r'name="once" value="([0-9a-f]{32})"', bench.html)


def post(bench, action, once=None, **fields):
    """Post a form of the page that is shown."""
    if once is None:
        bench.get("/questions")
        once = once_of(bench)
    common = {"epsilon": "0.5", "delta": "", "noise": "laplace", "once": once}
    common["what"] = "sql" if "sql" in fields else "count"
    return bench.post(f"/questions/{action}", **{**common, **fields})


def ledger_of(bench):
    return PrivacyLedger.open(bench.folder / "vault", dataset="adult")


@pytest.fixture
def asking(adult_bench):
    """A workbench whose table has a budget."""
    adult_bench.post("/questions/set", **BUDGET, **{"low:age": "17", "high:age": "90"})
    return adult_bench


def test_without_a_budget_the_page_says_what_one_is(adult_bench):
    said = adult_bench.get("/questions")
    assert "A budget is a number, epsilon" in said
    assert "Set the budget" in said


def test_budget_is_the_ledger_of_the_terminal(asking):
    terms = ledger_of(asking).terms
    assert (terms.epsilon, terms.delta, terms.bounds) == (3.0, 1e-6, {"age": (17.0, 90.0)})
    assert terms.unit.person is None
    assert main(["budget", "show", "adult", "--vault", str(asking.folder / "vault")]) == 0


def test_person_and_groups_are_settled_with_the_budget(adult_bench):
    more = {"person": "fnlwgt", "max_rows": "2", "max_groups": "3", "keys:sex": 'Female,"Male"'}
    adult_bench.post("/questions/set", **{**BUDGET, **more})
    terms = ledger_of(adult_bench).terms
    assert terms.unit.to_dict() == {"person": "fnlwgt", "max_rows": 2, "max_groups": 3}
    assert terms.keys == {"sex": ("Female", "Male")}


def test_budget_is_set_once(asking):
    said = asking.post("/questions/set", **{**BUDGET, "epsilon": "90"})
    assert "has its budget already" in said
    assert ledger_of(asking).terms.epsilon == 3.0


def test_ledger_stays_in_the_folder(adult_bench):
    for vault in ("../out", "/elsewhere/out", "a/b", ".", ""):
        said = adult_bench.post("/questions/set", **{**BUDGET, "vault": vault})
        assert "Set the budget" in said
    places = (adult_bench.folder, adult_bench.folder.parent / "out", adult_bench.folder / "a")
    assert not [it for place in places for it in place.glob("**/*.ledger")]


def test_cost_is_said_before_and_nothing_is_charged(asking):
    said = post(asking, "plan", sql=BY_SEX)
    assert "What it would cost" in said
    assert "count: ±" in said
    assert "at least 2.5 is left" in said
    assert ledger_of(asking).charges == ()
    assert asking.path == "/questions"


def test_answer_has_an_interval_and_what_is_left(asking):
    said = post(asking, "ask", sql=BY_SEX)
    assert re.search(r"Female [\d,]+ [\d,]+ to [\d,]+", said)
    assert "Epsilon 2.5 of 3 is left" in said
    assert "Why the numbers aren't exact" in said
    assert re.search(r'<details id="noise" open', asking.html)
    assert ledger_of(asking).spent == pytest.approx(0.5)


def test_explanation_of_noise_is_open_at_the_first_answer_only(asking):
    post(asking, "ask", sql=BY_SEX)
    post(asking, "ask", sql=COUNT)
    assert '<details id="noise">' in asking.html


def test_same_form_twice_is_charged_once(asking):
    asking.get("/questions")
    once = once_of(asking)
    first = post(asking, "ask", once, sql=COUNT)
    again = post(asking, "ask", once, sql=COUNT)
    assert "Nothing was charged" in again
    number = matched(r"95 % interval ([\d,]+)", first)
    assert f"95 % interval {number} " in again
    assert len(ledger_of(asking).charges) == 1


def test_form_of_an_answer_asks_another_question_by_another_id(asking):
    asking.get("/questions")
    once = once_of(asking)
    post(asking, "ask", once, sql=COUNT)
    said = post(asking, "ask", once, sql=BY_SEX)
    assert "Female" in said
    assert once_of(asking) != once
    assert len(ledger_of(asking).charges) == 2


def test_same_question_in_a_new_form_costs_nothing(asking):
    post(asking, "ask", sql=COUNT)
    said = post(asking, "ask", sql=COUNT)
    assert "It was asked before" in said
    assert len(ledger_of(asking).charges) == 1


def test_answer_can_be_shown_again_after_a_restart(asking):
    said = post(asking, "ask", sql=COUNT)
    number = matched(r"95 % interval ([\d,]+)", said)
    again = type(asking)(asking.folder, table=str(asking.project.table))
    again.get("/questions")
    link = matched(r'href="(/questions\?asked=[0-9a-f]{32})"', again.html)
    assert f"95 % interval {number} " in again.get(link)
    assert len(ledger_of(asking).charges) == 1


def test_spent_budget_is_refused_in_words(asking):
    post(asking, "ask", sql=COUNT, epsilon="2.9")
    assert "perhaps be refused" in post(asking, "plan", sql=BY_SEX)
    said = post(asking, "ask", sql=BY_SEX)
    assert "costs more than is left of the budget" in said
    assert "2.9 of it is spent" in said
    assert "Ask with a smaller epsilon" in said
    assert BY_SEX in said  # the question isn't lost
    assert len(ledger_of(asking).charges) == 1


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"sql": "SELECT age FROM adult"}, "a column that isn't in GROUP BY"),
        ({"sql": ""}, "There is no question"),
        ({"sql": COUNT, "epsilon": "much"}, "What the answer may cost must be a number"),
        ({"sql": "SELECT sex, COUNT(*) FROM adult GROUP BY sex"}, "give the keys of all groups"),
        ({"sql": 'SELECT AVG("hours-per-week") FROM adult'}, "bounds"),
    ],
)
def test_question_that_cannot_be_asked_is_refused_in_words(asking, fields, words):
    assert words in post(asking, "ask", **fields)
    assert ledger_of(asking).charges == ()


@pytest.mark.parametrize(
    ("chosen", "sql"),
    [
        ({"what": "count"}, COUNT),
        (
            {"what": "mean", "of": "hours-per-week", "low": "0", "high": "99"},
            'SELECT AVG(CLAMP("hours-per-week", 0, 99)) FROM adult',
        ),
        ({"what": "median", "of": "age"}, "SELECT MEDIAN(age) FROM adult"),
        ({"what": "count", "group": "sex", "keys": "Female, Male"}, BY_SEX),
        (
            {"what": "histogram", "of": "age", "bins": "3"},
            (
                "SELECT WIDTH_BUCKET(age, 17.0, 90.0, 3), COUNT(*) FROM adult "
                "GROUP BY WIDTH_BUCKET(age, 17.0, 90.0, 3)"
            ),
        ),
        (
            {"what": "sum", "of": "age", "where": "sex", "compared": "<>", "value": "O'Hara"},
            "SELECT SUM(age) FROM adult WHERE sex <> 'O''Hara'",
        ),
        (
            {"what": "count", "where": "age", "compared": ">=", "value": "65"},
            "SELECT COUNT(*) FROM adult WHERE age >= 65",
        ),
    ],
)
def test_choices_write_the_question_and_plan_it(asking, chosen, sql):
    said = post(asking, "plan", **{"compared": "=", **chosen})
    assert sql in said
    assert "Nothing is charged yet" in said
    assert ledger_of(asking).charges == ()
    said = post(asking, "ask", once_of(asking), **{"compared": "=", **chosen})
    assert said.count("95 % interval") == 1
    assert sql in said
    for name in ("what", "of", "group", "where"):
        if chosen.get(name):  # what was asked stands in the form
            assert re.search(rf'<select id="{name}".*?value="{chosen[name]}" selected', asking.html)


def test_choices_are_asked_and_not_an_older_question(asking):
    post(asking, "plan", what="mean", of="age")
    said = post(
        asking, "ask", once_of(asking), what="median", of="hours-per-week", low="0", high="99"
    )
    assert "MEDIAN(CLAMP(" in said
    (charge,) = ledger_of(asking).charges
    assert "PERCENTILE_CONT" in charge.purpose


def test_choices_and_a_question_in_sql_are_not_both_asked(asking):
    said = post(asking, "ask", what="count", sql=BY_SEX)
    assert "two questions" in said
    assert BY_SEX in said
    assert ledger_of(asking).charges == ()


def test_form_of_a_budget_that_is_refused_stays_as_it_was_filled(adult_bench):
    typed = {**BUDGET, "epsilon": "1,5", "low:age": "17", "high:age": "90"}
    typed["keys:sex"] = "Female, Male"
    said = adult_bench.post("/questions/set", **typed)
    assert "Epsilon of all answers together must be a number" in said
    for value in ("1,5", "17", "Female, Male"):
        assert f'value="{value}"' in adult_bench.html


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"what": "mean"}, "needs a column"),
        ({"what": "count", "group": "nobody"}, "doesn't know"),
        ({"what": "count", "where": "age", "compared": ";", "value": "1"}, "comparison"),
        ({"what": "count", "where": "age", "compared": "=", "value": "x"}, "must be a number"),
        ({"what": "sum", "of": "age", "low": "0); --", "high": "9"}, "A bound must be a number"),
        ({"what": "histogram", "of": "fnlwgt"}, "least and the greatest"),
    ],
)
def test_choices_that_fit_nothing_are_refused(asking, chosen, words):
    assert words in post(asking, "plan", **chosen)


def test_table_that_changed_is_refused(asking, adult_table):
    adult_table.write_text(adult_table.read_text().replace("39,", "38,", 1))
    said = post(asking, "ask", sql=COUNT)
    assert "changed since" in said
    assert ledger_of(asking).charges == ()


def test_policy_that_reads_otherwise_keeps_the_budget(asking):
    policy = asking.project.policy_text().replace('missing = ["?", ""]', 'missing = [""]')
    asking.project.replace(policy, "Question marks are values")
    assert "95 % interval" in post(asking, "ask", sql=COUNT)


def test_spellings_that_the_policy_unifies_are_asked_as_written(adult_bench):
    with adult_bench.project.editing("Spellings") as document:
        document["columns"]["sex"]["normalize"] = ["casefold"]
    adult_bench.post("/questions/set", **BUDGET)
    post(adult_bench, "ask", sql=BY_SEX)
    female = matched(r"Female</th><td class=\"num\">([\d,]+)", adult_bench.html)
    assert int(female.replace(",", "")) > 300


def test_terminal_answers_the_same(asking, monkeypatch, capsys):
    said = post(asking, "ask", sql=BY_SEX)
    command = matched(r"(halfmask query .*?) Copy", said)
    monkeypatch.chdir(asking.folder)
    assert main(shlex.split(command)[1:]) == 0
    assert "It was asked before: nothing was charged" in capsys.readouterr().out
    assert len(ledger_of(asking).charges) == 1


def test_neither_question_nor_answer_is_in_an_address(asking):
    post(asking, "ask", sql=BY_SEX)
    fields = {"version": asking.project.stamp, "sql": BY_SEX, "epsilon": "0.5"}
    answer = asking.ask("POST", "/questions/ask", data=fields, headers=asking.origin)
    (led,) = answer.history
    assert re.fullmatch(r"/questions\?asked=[0-9a-f]{32}(&said=\d+)?", led.headers["location"])


def test_drafts_and_ledger_are_private(asking):
    post(asking, "ask", sql=COUNT)
    (drafts,) = (asking.folder / ".halfmask").glob("questions-*.json")
    for file in (drafts, asking.folder / "vault" / "adult.ledger"):
        assert file.parent.stat().st_mode & 0o077 == 0


def test_budget_of_each_analyst_is_shown_as_in_the_terminal(asking, adult_table, capsys):
    vault = str(asking.folder / "vault")
    for name, epsilon in (("bob", "1.5"), ("ann", "1")):
        main(["budget", "allow", "adult", name, "--epsilon", epsilon, "--vault", vault])
    query = ["query", str(adult_table), "--vault", vault, "--missing", "?"]
    older = f"{COUNT} WHERE age > 40"
    assert main([*query, older, "--epsilon", "0.2", "--analyst", "ann"]) == 0
    assert main([*query, COUNT, "--epsilon", "0.4", "--analyst", "ann"]) == 0
    assert main([*query, COUNT, "--epsilon", "1.75"]) == 0
    charges = ledger_of(asking).charges
    at = charges[1].booked[:16].replace("T", " ")
    said = asking.get("/questions")
    assert f"ann 1 0.6 0.4 COUNT(*) {at} bob 1.5 0 0.65 none" in said
    assert f"2 COUNT(*) 0.4 ann {at}" in said
    capsys.readouterr()
    main(["budget", "show", "adult", "--vault", vault])
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["ann", "1", "0.6", "0.4", "2,", *charges[1].booked[:19].split("T")] in rows
    assert ["bob", "1.5", "0", "0.65"] in rows


def test_budgets_can_be_read_without_a_table(asking, adult_table, bench_in, tmp_path_factory):
    towns = pl.DataFrame({"town": ["a", "b"]})
    ledger = PrivacyLedger.create(
        asking.folder / "more", towns, dataset="towns", epsilon=2.0, delta=0.0
    )
    ledger.allow("ann", epsilon=0.25)
    post(asking, "ask", sql=BY_SEX)
    adult_table.unlink()
    said = asking.get("/questions")
    assert "Budget of adult" in said
    assert "Epsilon 2.5 of 3 is left" in said
    assert "COUNT(*) WHERE (sex IN ('Female', 'Male')) GROUP BY sex 0.5" in said
    assert "Budget of towns" in said
    assert "ann 0.25 0 0.25 none" in said
    other = bench_in(tmp_path_factory.mktemp("other"))
    assert "Choose one on the page Data" in other.get("/questions")


def test_nothing_is_asked_without_a_table(asking, adult_table):
    adult_table.unlink()
    asking.get("/questions")
    assert '<form method="post"' not in asking.html
    said = asking.post("/questions/ask", sql=COUNT, what="sql", epsilon="0.5", once="")
    assert "No table is open" in said
    assert ledger_of(asking).charges == ()


HOSTILE = ["<img src=x onerror=alert(1)>", "a{{7*7}}", "a\u202eb", 'q"uo', "it's"]


def test_hostile_columns_and_cells_stay_text(bench):
    table = bench.folder / "canary.csv"
    cells = [f"{name} too" for name in HOSTILE] * 3
    pl.DataFrame(dict.fromkeys(HOSTILE, cells)).write_csv(table)
    bench = type(bench)(bench.folder, table=str(table))
    bench.get("/questions")
    htmls = [bench.html]
    bench.post("/questions/set", **BUDGET)
    htmls.append(bench.html)
    keys = '"<img src=x onerror=alert(1)> too","a{{7*7}} too","it\'s too"'
    post(bench, "plan", what="count", group=HOSTILE[0], keys=keys)
    htmls.append(bench.html)
    sql = matched(r"<code>(.*?)</code>", bench.html)
    assert "<" not in sql
    post(bench, "plan", what="count", where=HOSTILE[3], compared="=", value=HOSTILE[4])
    htmls.append(bench.html)
    post(
        bench,
        "ask",
        sql='SELECT "<img src=x onerror=alert(1)>", COUNT(*) FROM canary WHERE '
        "\"<img src=x onerror=alert(1)>\" IN ('<img src=x onerror=alert(1)> too', 'a{{7*7}} too') "
        'GROUP BY "<img src=x onerror=alert(1)>"',
    )
    htmls.append(bench.html)
    assert "95 % interval" in htmls[-1]
    for html in htmls:
        assert "<img" not in html
        assert "a49" not in html
    assert not any("\u202e" in re.sub(r'"[^"]*"', "", html) for html in htmls)


def test_every_control_has_a_name_and_an_id(asking):
    asking.get("/questions")
    controls = re.findall(r"<(?:input|select|textarea|button)\b[^>]*>", asking.html)
    for control in controls:
        if 'type="hidden"' in control or control.startswith("<button>"):
            continue
        found = re.search(r'id="([^"]+)"', control)
        assert found or "disabled" in control, control
        if found and not control.startswith("<button"):
            assert f'for="{found[1]}"' in asking.html or "aria-label" in control
    ids = re.findall(r'\bid="([^"]+)"', asking.html)
    assert len(ids) == len(set(ids))
