"""halfmask protect without a policy: columns and k on the command line."""

from __future__ import annotations

import random

import pytest

from halfmask.microdata import Policy


@pytest.fixture
def table(desk):
    """People with a column of each fate: named, identifying, surely known, and unsure."""
    rng = random.Random(5)
    rows = [
        f"CANARY{i}@x.org,{rng.randint(18, 80)},CANARY-t{rng.randint(0, 3)},"
        f"{rng.choice(['m', 'f'])},CANARY-ill{i % 4},{rng.randint(0, 2)},{rng.choice('ab')}"
        for i in range(200)
    ]
    head = "email,age,town,sex,illness,thing,outcome"
    desk.table.write_text("\n".join([head, *rows]) + "\n")
    return desk.table


def by_columns(desk, *more):
    words = ["--quasi-identifiers", "age, sex", "--sensitive", "illness", "--label", "outcome"]
    return ["protect", desk.table, *words, "-o", desk.out, *more]


@pytest.mark.slow
@pytest.mark.usefixtures("table")
def test_a_release_is_made_and_its_policy_lies_beside(desk, run):
    answer = run(*by_columns(desk, "-k", 5))

    assert answer.status == 0, answer.err
    assert run("verify", desk.out).status == 0
    policy = Policy.load(desk.folder / "out.policy.toml")
    roles = {name: said.role for name, said in policy.columns.items()}
    assert roles == {
        "email": "identifier",  # by its values
        "age": "quasi_identifier",
        "town": "quasi_identifier",  # nobody named it, and its name is clear
        "sex": "quasi_identifier",
        "illness": "sensitive",
        "thing": "identifier",  # nothing is found of it: it is unsure
        "outcome": roles["outcome"],
    }
    assert roles["outcome"] != "identifier"
    assert policy.columns["outcome"].label
    assert policy.guarantee_sections[0].parameters == {"k": 5}
    for decided in ("generalized", "town", "since they identify", "email", "unsure", "thing"):
        assert decided in answer.out
    assert "CANARY-t" not in answer.out
    assert "CANARY-ill" not in answer.out
    assert not list(desk.out.rglob("*policy*"))


@pytest.mark.slow
@pytest.mark.usefixtures("table")
def test_the_policy_makes_the_same_release_again(desk, run):
    answer = run(*by_columns(desk, "-k", 5, "-l", 3, "--json"))
    assert answer.status == 0, answer.out
    made = answer.json

    again = run("protect", desk.table, made["policy"], desk.folder / "again", "--json").json

    assert made["decisions"]["dropped, since they identify"] == ["email"]
    assert again["verification"]["claims"] == made["verification"]["claims"]
    assert {"l": 3} in [each["parameters"] for each in again["verification"]["claims"]]


@pytest.mark.slow
@pytest.mark.usefixtures("table")
def test_hierarchies_of_a_folder_are_named_in_the_policy(desk, run):
    """town isn't named by an option; describe proposes it as a quasi-identifier."""
    trees = desk.folder / "trees"
    trees.mkdir()
    (trees / "sex.csv").write_text("m;person\nf;person\n")
    (trees / "town.csv").write_text("".join(f"CANARY-t{i};t{i // 2};*\n" for i in range(4)))

    answer = run(*by_columns(desk, "-k", 5, "--hierarchies", trees, "--json"))

    assert answer.status == 0, answer.err
    policy = Policy.load(desk.folder / "out.policy.toml")
    files = {name: it.hierarchy.file for name, it in policy.columns.items() if it.hierarchy}
    assert files == {"town": "trees/town.csv", "sex": "trees/sex.csv"}
    again = run("protect", desk.table, answer.json["policy"], desk.folder / "again", "--json")
    assert again.json["verification"]["claims"] == answer.json["verification"]["claims"]


@pytest.mark.slow
@pytest.mark.usefixtures("table")
def test_a_hierarchy_of_no_column_leaves_nothing(desk, run):
    trees = desk.folder / "trees"
    trees.mkdir()
    (trees / "towns.csv").write_text("CANARY;*\n")

    answer = run(*by_columns(desk, "-k", 5, "--hierarchies", trees))

    assert answer.status == 1
    assert "'towns'" in answer.err
    assert "Did you mean 'town'" in answer.err
    assert desk.names() == ["people.csv", "policy.toml", "trees"]


@pytest.mark.slow
@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("before", [None, b"an older \xff policy"])
def test_the_policy_is_there_before_its_release_and_goes_with_it(desk, run, monkeypatch, before):
    """Whatever ends the process, no release lies without its policy."""
    where, there = desk.folder / "out.policy.toml", []
    if before is not None:
        where.write_bytes(before)

    def protect_to(_table, policy, *_, **__):
        there.append(Policy.load(where) == policy)
        raise OSError(28, "CANARY")

    monkeypatch.setattr("halfmask.microdata.protect_to", protect_to, raising=False)
    answer = run(*by_columns(desk, "-k", 5, "--overwrite"))

    assert (answer.status, there) == (1, [True])
    assert (where.read_bytes() if where.exists() else None) == before


@pytest.mark.mostly_slow
@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["-k", "5", "--sensitive", "age"], "named as a quasi-identifier and as sensitive"),
        (["-k", "5", "--label", "email"], "seems to identify people"),
        (["-k", "5", "--label", "outcom"], "not in the table"),
    ],
)
def test_what_is_not_clear_is_an_error(desk, run, more, said):
    answer = run(*by_columns(desk, *more))

    assert answer.status == 1
    assert said in answer.err
    assert desk.names() == ["people.csv", "policy.toml"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["people.csv", "-o", "out"], "POLICY is missing"),
        (["people.csv", "policy.toml", "-k", "5", "-o", "out"], "POLICY and options"),
        (["people.csv", "policy.toml", "out", "--hierarchies", "."], "POLICY and options"),
        (["people.csv", "policy.toml", "out", "--missing", "?"], "POLICY and options"),
        (["people.csv", "policy.toml", "out", "-o", "out"], "given twice"),
        (["people.csv", "policy.toml"], "OUT is missing"),
        (["people.csv", "policy.toml", "out.csv"], "name of OUT is that of a file"),
        (["people.csv", "policy.toml", "OUT.Parquet"], "name of OUT is that of a file"),
        (["-", "--quasi-identifiers", "age", "-k", "5", "-o", "out"], "standard input"),
        (["people.csv", "--sensitive", "illness", "-k", "5", "-o", "out"], "--quasi-identifiers"),
        (["people.csv", "--quasi-identifiers", "age", "-o", "out"], "-k is missing"),
        (["people.csv", "-k", "1"], "Error: -k can't be what was given."),
        (["people.csv", "-k", "1"], "It is a whole number, 2 or more."),
        (["people.csv", "-k", "5.5"], "It is a whole number, 2 or more."),
    ],
)
def test_words_that_do_not_fit_are_wrong_usage(desk, run, monkeypatch, words, said):
    monkeypatch.chdir(desk.folder)

    answer = run("protect", *words)

    assert answer.status == 2
    assert said in answer.err
    assert desk.names() == ["people.csv", "policy.toml"]


@pytest.mark.usefixtures("table")
def test_a_policy_that_was_made_before_stays(desk, run):
    (desk.folder / "out.policy.toml").write_text("edited")

    answer = run(*by_columns(desk, "-k", 5))

    assert answer.status == 1
    assert "exists already" in answer.err
    assert (desk.folder / "out.policy.toml").read_text() == "edited"
    assert not desk.out.exists()


@pytest.mark.slow
def test_open_shows_the_report(desk, run, monkeypatch):
    """--open gives the browser the page; a release without one is said."""
    opened: list[str] = []

    def browse(page):
        opened.append(page)
        return True

    monkeypatch.setattr("webbrowser.open", browse)

    assert run(*desk.protect("--open")).status == 0
    assert run("verify", desk.out, "--open").status == 0

    assert opened == [(desk.out / "report.html").as_uri()] * 2


@pytest.mark.usefixtures("table")
def test_method_and_suppression_are_those_of_the_policy(desk, run):
    trees = desk.folder / "trees"
    trees.mkdir()
    ages = "\n".join(f"{age};{age // 20 * 20}+" for age in range(18, 81))
    (trees / "age.csv").write_text(ages + "\n")
    more = ("--method", "full-domain", "--suppression", "0.25", "--hierarchies", trees)
    answer = run(*by_columns(desk, "-k", 5, *more, "--json"))

    assert answer.status == 0, answer.err
    policy = Policy.load(desk.folder / "out.policy.toml")
    assert (policy.method.named, policy.recoding.named) == ("full-domain", "level")
    assert policy.suppression.max_fraction == 0.25


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("-k", "5", "--method", "mondrain"), 1),
        (("-k", "5", "--suppression", "1"), 1),
        (("-k", "5", "--suppression", "-0.1"), 1),
    ],
)
def test_a_method_or_share_that_cannot_be_is_refused(desk, run, words, status):
    assert run(*by_columns(desk, *words)).status == status
    assert not desk.out.exists()


def test_a_share_of_0_is_given_too(desk, run):
    answer = run("protect", desk.table, desk.policy, desk.out, "--suppression", "0")

    assert answer.status == 2
    assert "POLICY and options" in answer.err
