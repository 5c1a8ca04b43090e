"""halfmask crosstab: options become a policy, and a policy of tables a verified release."""

from __future__ import annotations

import dataclasses
import stat
from pathlib import Path

import pytest

from halfmask.crosstabs import TablesPolicy, _protect
from halfmask.crosstabs._suppress import suppress

FIRMS = ["crosstab", "firms.csv", "-o", "out"]
SUMS = [*FIRMS, "--rows", "region", "--columns", "sector", "--sum", "turnover"]
READY = ["crosstab", "cells", "-o", "out", "--dimensions", "NUTS,SIZE", "--value", "TOT"]


@pytest.fixture
def asked(desk, monkeypatch):
    """Collect the policy that a command asks for, and go no further."""
    monkeypatch.chdir(desk.folder)
    found = []

    def protect_to(table, policy, out, **given):
        found.append((table, policy, out, given))
        raise OSError(28, "CANARY")

    monkeypatch.setattr("halfmask.microdata.protect_to", protect_to, raising=False)
    return found


def rules(policy):
    return [each.model_dump(exclude={"tables"}, exclude_none=True) for each in policy.rules]


def test_sums_by_two_columns(run, asked):
    answer = run(*SUMS, "--owner", "company", "--p-percent", "10")

    assert answer.status == 1, "the disk is full"
    ((table, policy, out, _),) = asked
    assert (table, out) == ("firms.csv", "out")
    wanted = TablesPolicy.from_toml("""
        halfmask-tables = 1
        owner = "company"
        [dimensions.region]
        [dimensions.sector]
        [[tables]]
        name = "turnover"
        dimensions = ["region", "sector"]
        value = "turnover"
        [[rules]]
        rule = "p-percent"
        p = 10.0
        """)
    assert policy.sha256 == wanted.sha256


def test_counts_are_the_default(run, asked):
    run(
        *FIRMS,
        "--dimensions",
        'region,"a, b",sex',
        "--min-frequency",
        "3",
        "--total",
        "all",
        "--missing-code",
        "none",
    )

    ((_, policy, _, _),) = asked
    assert {each.missing for each in policy.dimensions.values()} == {"none"}
    (table,) = policy.tables
    assert table.dimensions == ("region", "a, b", "sex")
    assert (table.name, table.value) == ("counts", None)
    assert {each.total for each in policy.dimensions.values()} == {"all"}


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["--min-frequency", "3"], {"rule": "minimum-frequency", "n": 3, "of": "contributors"}),
        (["--dominance", "2,85"], {"rule": "dominance", "n": 2, "k": 85.0}),
        (["--p-percent", "12.5"], {"rule": "p-percent", "p": 12.5}),
        (["--prior-posterior", "10,50"], {"rule": "prior-posterior", "p": 10.0, "q": 50.0}),
    ],
)
def test_each_rule_has_an_option(run, asked, words, wanted):
    more = ["--margin", "5"] if words[0] == "--min-frequency" else []

    run(*SUMS, *words, *more)

    ((_, policy, _, _),) = asked
    assert rules(policy) == [wanted | ({"margin": 5.0} if more else {})]


def test_rules_of_counts(run, asked):
    run(*FIRMS, "--rows", "town", "--columns", "ill", "--class-disclosure", "ill", "--zeros")

    ((_, policy, _, _),) = asked
    assert rules(policy) == [{"rule": "class-disclosure", "dimension": "ill"}, {"rule": "zeros"}]
    assert policy.zeros == "suppressible"


@pytest.mark.parametrize(
    ("words", "method"),
    [
        (["--method", "rounding", "--base", "5", "--way", "random"], "rounding"),
        (["--method", "small-counts", "--base", "3"], "small-counts"),
        (
            ["--method", "cell-key", "--max-deviation", "2", "--variance", "1", "--record", "id"],
            "cell-key",
        ),
        (["--method", "differential-privacy", "--epsilon", "1"], "differential-privacy"),
    ],
)
def test_each_way_to_protect_has_its_options(run, asked, words, method):
    run(*FIRMS, "--rows", "town", "--columns", "ill", *words)

    ((_, policy, _, _),) = asked
    assert policy.made_protection().method == method


def test_suppression_is_the_default_and_takes_a_search(run, asked):
    run(*SUMS, "--p-percent", "10", "--search", "optimal", "--cost", "cells")

    ((_, policy, _, _),) = asked
    protection = policy.made_protection()
    assert (protection.method, protection.search, protection.cost) == (
        "suppression",
        "optimal",
        "cells",
    )


def test_hierarchies_are_files_or_columns(desk, run, asked):
    (desk.folder / "trees").mkdir()
    (desk.folder / "trees" / "sector.hrc").write_text("A\n@A1\n")
    (desk.folder / "trees" / "notes.txt").write_text("")

    run(*SUMS, "--p-percent", "5", "--hierarchies", "trees", "--levels", "region=country,region")

    ((_, policy, _, _),) = asked
    assert policy.dimensions["sector"].hierarchy == "trees/sector.hrc"
    assert policy.dimensions["region"].levels == ("country", "region")


def test_a_folder_of_ready_tables_has_dimensions_of_its_own(run, asked, desk):
    (desk.folder / "tables").mkdir()
    run("crosstab", "tables", *READY[2:], "--p-percent", "10")

    ((_, policy, _, _),) = asked
    assert policy.tables == ()


def test_ready_tables(run, asked):
    run(*READY, "--count", "N_OBS", "--largest", "MAX", "--p-percent", "10")

    ((_, policy, _, _),) = asked
    assert [(it.name, it.dimensions) for it in policy.tables] == [("cells", ("NUTS", "SIZE"))]
    assert policy.ready.model_dump() == {"value": "TOT", "count": "N_OBS", "largest": ("MAX",)}
    assert list(policy.dimensions) == ["NUTS", "SIZE"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (FIRMS, "dimensions are missing"),
        ([*SUMS, "--dimensions", "region", "--p-percent", "1"], "given twice"),
        ([*SUMS, "--margin", "5", "--p-percent", "1"], "--margin goes with"),
        ([*SUMS, "--dominance", "2"], "two numbers"),
        ([*SUMS, "--dominance", "a,b"], "two numbers"),
        ([*SUMS, "--p-percent", "0"], "above 0"),
        ([*SUMS, "--p-percent", "1", "--weight", "w"], "weight"),
        ([*SUMS, "--p-percent", "1", "--count", "n"], "ready table"),
        ([*SUMS, "--p-percent", "1", "--levels", "town=a,b"], "'town' has --levels"),
        ([*SUMS, "--p-percent", "1", "--hierarchies", "nowhere"], "no folder"),
        ([*SUMS, "--p-percent", "1", "--base", "5"], "no key 'base'"),
        ([*READY, "--sum", "TOT", "--min-frequency", "3"], "--value about ready"),
        ([*FIRMS, "--rows", "region", "--mean", "--min-frequency", "3"], "about sums"),
    ],
)
def test_options_that_do_not_go_together(run, asked, words, said):
    answer = run(*words)

    assert answer.status == 2
    assert said in answer.err
    assert asked == []


def test_a_folder_without_a_hierarchy_of_a_dimension_is_refused(desk, run, asked):
    (desk.folder / "trees").mkdir()
    (desk.folder / "trees" / "regoin.csv").write_text("a;*\n")

    answer = run(*SUMS, "--p-percent", "1", "--hierarchies", "trees")

    assert answer.status == 2
    assert "None of the 1 files" in answer.err
    assert asked == []


@pytest.mark.usefixtures("asked")
def test_no_policy_is_left_without_its_release(desk, run):
    run(*SUMS, "--p-percent", "10")

    assert "out.policy.toml" not in desk.names()


def test_protect_takes_a_policy_of_tables(desk, run, asked):
    (desk.folder / "tables.toml").write_text(
        'halfmask-tables = 1\n[[tables]]\nname = "t"\ndimensions = ["a"]\n'
        '[[rules]]\nrule = "minimum-frequency"\nn = 3\n'
    )

    run("protect", "firms.csv", "tables.toml", "out")

    ((table, policy, _, _),) = asked
    assert isinstance(policy, TablesPolicy)
    assert table == "firms.csv"
    assert policy.folder == desk.folder.resolve() or str(policy.folder) == "."


def firms(desk, n=60):
    """Write firms of which some are alone, and return a command that tabulates them."""
    sectors = ["CANARY-farms", "CANARY-mines", "NA", "CANARY-shops"]
    lines = [
        f"CANARY-{i % 40},{'north' if i % 3 else 'south'},{sectors[i % 11 % 4]},{10 + i * i % 97}"
        for i in range(n)
    ]
    lines += ["CANARY-100,south,CANARY-rare,700", "CANARY-101,north,CANARY-rare,20"]
    path = desk.folder / "firms.csv"
    path.write_text("\n".join(["company,region,sector,turnover", *lines]) + "\n")
    shape = ["--rows", "region", "--columns", "sector", "--owner", "company", "-o", desk.out]
    return ["crosstab", path, *shape]


def test_a_release_is_made_shown_and_verified(desk, run):
    words = [*firms(desk), "--sum", "turnover", "--p-percent", 10]

    answer = run(*words)

    assert answer.status == 0, answer.err
    assert "turnover   region, sector" in answer.out
    assert "CANARY-" not in answer.out.replace(str(desk.folder), "")
    owner = desk.folder / "out.owner.html"
    assert stat.S_IMODE(owner.stat().st_mode) == 0o600
    assert "out.owner.html" in answer.out
    head, *lines = (desk.out / "data" / "turnover.csv").read_text().splitlines()
    assert head == "region,sector,value,state"
    assert "south,CANARY-rare,,hidden" in lines
    assert any(line.endswith("published") and ",NA," in line for line in lines)

    policy = desk.folder / "out.policy.toml"
    table = desk.folder / "firms.csv"
    assert run("verify", desk.out).status == 3, "without the originals not all is counted"
    whole = run("verify", desk.out, "--originals", table, "--policy", policy)
    assert whole.status == 0, whole.out
    again = run("protect", table, policy, desk.folder / "again", "--json")
    assert again.status == 0, again.out
    assert again.json["owners_page"].endswith("again.owner.html")
    for name in ("turnover.csv", "turnover-crossed.csv"):
        same = (desk.folder / "again" / "data" / name).read_bytes()
        assert same == (desk.out / "data" / name).read_bytes()


def test_json_is_one_object_with_counts(desk, run):
    answer = run(*firms(desk), "--min-frequency", 4, "--json")

    made = answer.json
    assert made["ok"], made
    assert made["rows"]["hidden"] >= 2
    assert made["policy"].endswith("out.policy.toml")
    assert made["warnings"] == []
    models = {each["model"] for each in made["verification"]["claims"]}
    assert {"true-values", "hidden-intervals", "protected-cells"} <= models


def test_counts_are_rounded_with_one_option(desk, run):
    answer = run(*firms(desk)[:-2], "-o", desk.out, "--method", "rounding", "--base", 5)

    assert answer.status == 0, answer.err
    lines = (desk.out / "data" / "counts.csv").read_text().splitlines()[1:]
    assert all(int(line.split(",")[2]) % 5 == 0 for line in lines)


def test_private_counts_have_declared_codes_and_no_true_count_for_their_owner(desk, run):
    words = firms(desk)
    private = ["--method", "differential-privacy", "--epsilon", 1]
    assert run(*words, *private).status == 1, "codes of the data would tell who is there"
    codes = ["--codes", "region=north,south"]
    codes += ["--codes", "sector=CANARY-farms,CANARY-mines,NA,CANARY-shops,CANARY-rare"]

    answer = run(*words, *private, *codes, "--json")

    assert answer.status == 0, answer.out
    assert "true value" not in Path(answer.json["owners_page"]).read_text()


def test_suppression_needs_a_rule(desk, run):
    answer = run(*firms(desk), "--sum", "turnover")

    assert answer.status == 1
    assert "[[rules]]" in answer.err
    assert "out.policy.toml" not in desk.names()


def test_an_earlier_release_is_named_and_verified(desk, run):
    words = [*firms(desk), "--sum", "turnover", "--p-percent", 10]
    assert run(*words).status == 0
    later = desk.folder / "later"
    shape = ["--rows", "region", "--owner", "company", "--sum", "turnover", "--p-percent", 10]

    answer = run("crosstab", desk.folder / "firms.csv", *shape, "--earlier", desk.out, "-o", later)

    assert answer.status == 0, answer.err
    policy = TablesPolicy.load(desk.folder / "later.policy.toml")
    assert policy.earlier == ("out",)
    more = ["--originals", desk.folder / "firms.csv", "--policy", desk.folder / "later.policy.toml"]
    assert run("verify", later, "--earlier", desk.out, *more).status == 0
    assert run("verify", later, *more).status == 3


def test_an_output_that_exists_is_kept(desk, run):
    words = [*firms(desk), "--sum", "turnover", "--p-percent", 10]
    desk.out.mkdir()

    assert run(*words).status == 1
    assert "out.policy.toml" not in desk.names()


def test_a_ctrl_c_that_finds_nothing_leaves_nothing(desk, run, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("halfmask.crosstabs._protect.suppress", stopped)

    answer = run(*firms(desk), "--sum", "turnover", "--p-percent", 10)

    assert answer.status == 130
    assert desk.names() == ["firms.csv", *sorted({"people.csv", "policy.toml"} & {*desk.names()})]


def test_a_search_that_was_stopped_is_said(desk, run, monkeypatch):
    whole = suppress

    def stopped(*given, **named):
        return dataclasses.replace(whole(*given, **named), stopped=True)

    monkeypatch.setattr(_protect, "suppress", stopped)

    answer = run(*firms(desk), "--sum", "turnover", "--p-percent", 10)

    assert answer.status == 0, answer.err
    assert "Warning: The search was stopped." in answer.out
