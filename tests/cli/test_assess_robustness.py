"""`halfmask assess robustness`: estimators by a word or a name, budgets in files, and no cell."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import polars as pl
import pytest

import halfmask.assess.hardening
from halfmask._errors import DataError
from halfmask.assess.robustness import AttackerBudget

CANARY = "CANARY"
MODELS = """\
from sklearn.tree import DecisionTreeClassifier
fixed = DecisionTreeClassifier(max_depth=2)
Kind = DecisionTreeClassifier
number = 3
def make():
    return DecisionTreeClassifier(max_depth=2)
def broken():
    raise KeyError("CANARY-secret")
def nothing():
    return object()
"""


@pytest.fixture
def table(desk: Any) -> Any:
    """A table of which a model learns something; towns and labels are canaries."""
    rng = np.random.default_rng(0)
    age, pay = rng.integers(18, 80, 400), rng.normal(size=400).round(3)
    rows = pl.DataFrame(
        {
            "name": [f"{CANARY}-name{n}" for n in range(400)],
            "age": age,
            "pay": pay,
            "town": rng.choice([f"{CANARY}-x", f"{CANARY}-y", f"{CANARY}-z"], 400),
            "bill": (100 * pay + age).round(1),
            "ill": np.where(age + 20 * pay > 50, f"{CANARY}-yes", f"{CANARY}-no"),
        }
    )
    rows.write_csv(desk.table)
    return desk.table


@pytest.fixture
def models(desk: Any, monkeypatch: Any) -> Any:
    """A file of the user's, named as no other test's is."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    where = desk.folder / f"models_{abs(hash(desk.folder))}.py"
    where.write_text(MODELS)
    return where


def words(estimator: object, table: Any, *more: object) -> list[object]:
    return ["assess", "robustness", estimator, table, "--label", "ill", *more]


@pytest.mark.parametrize("estimator", ["logistic", "tree", "forest", "boosting"])
def test_a_proposed_budget_is_written_and_read(table, desk, run, estimator):
    where = desk.folder / "budget.toml"

    said = run(*words(estimator, table, "--most", "0.2", "--write-budget", where))

    assert said.status == 0, said.err
    assert CANARY not in said.out + said.err
    budget = AttackerBudget.from_toml(where.read_text())
    assert budget.most == 0.2
    assert {name: it.change for name, it in budget.columns.items()} == {
        "age": "up", "pay": "any", "town": "any", "bill": "any",
    }  # fmt: skip
    again = desk.folder / "again.toml"
    given = ("--budget", where, "--most", "0.3", "--write-budget", again)
    assert run(*words(estimator, table, *given)).status == 0
    assert AttackerBudget.from_toml(again.read_text()).most == 0.3


@pytest.mark.parametrize("name", ["fixed", "Kind", "make"])
def test_an_estimator_of_the_users_is_taken(table, desk, run, models, name):
    said = run(*words(f"{models}:{name}", table, "--write-budget", desk.folder / "budget.toml"))

    assert said.status == 0, said.err


@pytest.mark.parametrize(
    ("estimator", "status", "says"),
    [
        ("forrest", 2, "neither a word nor MODULE:NAME"),
        ("models:", 2, "neither a word nor MODULE:NAME"),
        ("{}:broken", 1, "ESTIMATOR couldn't be imported (KeyError)"),
        ("{}:number", 1, "ESTIMATOR couldn't be imported (TypeError)"),
        ("{}:absent", 1, "ESTIMATOR couldn't be imported (AttributeError)"),
        ("{}:nothing", 2, "ESTIMATOR has no fit and predict"),
        ("no_such_module_here:make", 1, "ESTIMATOR couldn't be imported (ModuleNotFoundError)"),
        ("nowhere/models.py:make", 2, "The file of ESTIMATOR isn't there."),
    ],
)
def test_what_is_no_estimator_is_told(table, run, models, estimator, status, says):
    said = run(*words(estimator.format(models), table))

    assert (said.status, said.out) == (status, ""), said.err
    assert says in said.err
    assert CANARY not in said.err


def test_a_file_that_another_module_hides_is_refused(table, desk, run, models):
    hidden = models.rename(desk.folder / "json.py")

    said = run(*words(f"{hidden}:make", table))

    assert said.status in {1, 2}
    assert "ESTIMATOR" in said.err


def test_wrong_usage_is_told(table, desk, run):
    (desk.folder / "bad.toml").write_text("most = 'much'")
    cases = {
        "logistic predicts classes.": words("logistic", table, "--difference", "1"),
        "--policy and options of reading are given.": words(
            "tree", table, "--policy", desk.policy, "--missing", "?"
        ),
        "The label is no class, but a number.": [
            *("assess", "robustness", "tree", table, "--label", "bill")
        ],
        "more than 50 different numbers": [
            *("assess", "robustness", "tree", table, "--label", "age")
        ],
        "'sick'": ["assess", "robustness", "tree", table, "--label", "sick"],
        "The file of the budget can't be read": words("tree", table, "--budget", "no.toml"),
        "The budget": words("tree", table, "--budget", desk.folder / "bad.toml"),
        "range (0, inf)": words("tree", table, "--most", "0"),
    }
    for says, asked in cases.items():
        said = run(*asked)
        assert said.status in {1, 2}, asked
        assert says in said.err
        assert CANARY not in said.err


def test_a_policy_states_roles_and_how_the_table_is_read(table, desk, run):
    policy, where = desk.folder / "roles.toml", desk.folder / "budget.toml"
    columns = {"age": "numeric", "pay": "numeric", "bill": "numeric"}
    columns |= {"town": "categorical", "ill": "categorical"}
    text = "".join(
        f'[columns.{it}]\nrole = "insensitive"\nkind = "{kind}"\n' for it, kind in columns.items()
    )
    text = text.replace("insensitive", "quasi_identifier", 1)
    name = '[columns.name]\nrole = "identifier"\n'
    policy.write_text(f'halfmask = 1\n{name}{text}[[guarantees]]\nmodel = "k-anonymity"\nk = 4\n')

    said = run(*words("tree", table, "--policy", policy, "--write-budget", where))

    assert said.status == 0, said.err
    assert set(AttackerBudget.from_toml(where.read_text()).columns) == set(columns) - {"ill"}


@pytest.mark.slow
def test_the_assessment_is_told_and_written_without_a_cell(table, desk, run):
    out = desk.folder / "out"
    options = ("--partitions", "5", "--group", "town", "--out", out, "--verbose")

    said = run(*words("tree", table, *options))

    assert said.status == 0, said.err
    assert "Plain: accuracy" in said.out
    assert "5 partitions: accuracy" in said.out
    told = said.out.replace(str(out), "OUT")
    assert "Report   OUT/report.html" in told
    numbers = json.loads((out / "robustness.json").read_text())
    assert [it["name"] for it in numbers["models"]] == ["plain", "5 partitions"]
    page = (out / "report.html").read_text()
    assert CANARY not in told + said.err + json.dumps(numbers) + page
    again = run(*words("tree", table, "--out", out))
    assert (again.status, again.out) == (1, "")
    assert "FOLDER exists already" in again.err


def test_programs_get_the_numbers_and_numbers_can_be_predicted(table, run):
    asked = ["assess", "robustness", "tree", table, "--label", "bill", "--json"]

    said = run(*asked, "--difference", "30", "--leave-out", "ill", "--partitions", "0")

    assert said.status == 0, said.err
    assert said.json["ok"]
    assert said.json["scored_by"] == "R²"


def test_options_reach_the_assessment(table, run, monkeypatch):
    asked: dict[str, Any] = {}

    def stop(*_: object, **given: object) -> None:
        asked.update(given)
        raise DataError("Stopped.")

    monkeypatch.setattr(halfmask.assess.hardening, "assess_robustness", stop)
    options = ("--harden", "-k", "20", "--partitions", "0", "--seed", "7", "--group", "town")

    assert run(*words("logistic", table, *options)).status == 1

    wanted = {"hardened": True, "k": 20, "partitions": None, "random_state": 7, "groups": "town"}
    assert {name: asked[name] for name in wanted} == wanted
    assert set(asked["quasi_identifiers"]) <= {"age", "pay", "town", "bill"}
    assert run(*words("logistic", table)).status == 1
    assert (asked["hardened"], asked["k"], asked["partitions"]) == (False, None, 101)


def test_a_row_without_a_label_is_refused(table, desk, run):
    lacking = desk.folder / "lacking.csv"
    lines = table.read_text().splitlines()
    lacking.write_text("\n".join([*lines, "a,30,0.5,b,1.0,"]) + "\n")

    said = run(*words("tree", lacking))

    assert said.status == 1
    assert "Labels are missing in 1 row" in said.err
    assert CANARY not in said.err
