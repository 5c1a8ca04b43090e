"""halfmask explore: a frontier for people and programs, a folder of policies, and no cell."""

from __future__ import annotations

import json

import pytest

FEW = ("--methods", "mondrian,mdav", "--k", "4,5")


def test_shows_the_frontier_what_guarantees_cost_and_what_was_refused(run, desk):
    answer = run("explore", desk.table, desk.policy, *FEW, "--k", "4,500")

    assert answer.status == 0
    assert "The frontier by highest risk and loss, on 80 rows" in answer.out
    assert "best" in answer.out
    assert "Without distinct-l-diversity of illness (l = 2): " in answer.out
    assert "Policies refused: " in answer.out
    assert "the whole table as one class of 80 rows" in answer.out
    assert "It is no release" in answer.out
    assert "CANARY" not in answer.out + answer.err


def test_answers_programs(run, desk):
    answer = run("explore", desk.table, desk.policy, desk.out, *FEW, "--json")

    said = answer.json
    assert answer.status == 0
    assert said["ok"]
    assert said["axes"] == {"risk": "highest", "utility": "loss"}
    stated = json.loads((desk.out / "exploration.json").read_text())
    assert stated["points"] == said["points"]
    assert all("CANARY" not in str(each) for each in (said["points"], said["guarantees"]))


@pytest.mark.slow
def test_each_policy_is_one_that_protect_takes(run, desk):
    run("explore", desk.table, desk.policy, desk.out, *FEW)
    files = sorted((desk.out / "policies").iterdir())

    done = run("protect", desk.table, files[-1], desk.folder / "release", "--json")

    assert len(files) >= 5
    assert (done.status, done.json["ok"]) == (0, True)
    assert {it.name for it in desk.out.iterdir()} == {
        "exploration.json",
        "frontier.svg",
        "points.csv",
        "policies",
    }


def test_verbose_shows_all_points(run, desk):
    answer = run("explore", desk.table, desk.policy, *FEW, "--verbose", "--suppression", "0")

    assert "All points" in answer.out
    assert "mdav-k4-ranges-suppress0" in answer.out
    assert "more points" not in answer.out


def test_axes_parameters_and_limits_are_options(run, desk):
    answer = run(
        "explore", desk.table, desk.policy, "--methods", "mondrian", "--vary", "l=2,3",
        "--vary", "k-anonymity.k=4,6", "--k", "4", "--recodings", "ranges,level",
        "--suppression", "0,0.1", "--risk", "average", "--utility", "detail:age",
        "--max-points", "6", "--rows", "70", "--seed", "3", "--json",
    )  # fmt: skip

    said = answer.json
    assert answer.status == 0
    assert (said["rows"], said["table_rows"], said["seed"]) == (70, 80, 3)
    same = [it for each in said["points"] for it in each["also"]]
    assert len(said["points"]) + len(same) + len(said["refused"]) == 6
    assert same
    assert said["axes"] == {"risk": "average", "utility": "detail:age"}


NODES = """\
halfmask = 1
[columns]
name = { role = "identifier" }
age = { role = "quasi_identifier", kind = "numeric", hierarchy = { intervals = [10, 20] } }
town = { role = "quasi_identifier", kind = "categorical" }
illness = { role = "sensitive", kind = "categorical" }
[[guarantees]]
model = "k-anonymity"
k = 4
[method]
name = "full-domain"
[suppression]
max_fraction = 0.3
"""


def test_a_node_is_shown_with_its_levels_and_taken(run, desk):
    desk.policy.write_text(NODES)
    mine = desk.folder / "mine.toml"
    words = ("explore", desk.table, desk.policy, "--nodes", "3")
    said = run(*words, "--json").json
    answer = run(*words, "--take", "2", "--policy-out", mine)

    wanted = said["points"][1]
    assert answer.status == 0
    assert "3 of 8 combinations of levels" in answer.out
    assert wanted["levels"]["age"]["words"] in answer.out
    assert f"{wanted['loss']:.4f}" in answer.out
    done = run("protect", desk.table, mine, desk.out, "--json").json
    assert done["rows"]["suppressed"] == wanted["suppressed"]
    assert run(*words, "--take", "1", "--policy-out", mine).status == 1
    assert run(*words, "--take", "1", "--policy-out", mine, "--overwrite").status == 0
    assert run(*words, "--take", "9", "--policy-out", mine, "--overwrite").status == 1
    assert "CANARY" not in str(said["points"])


def test_the_policy_itself_is_not_replaced_by_a_point_of_it(run, desk):
    desk.policy.write_text(f"# Agreed on 3 November.\n{NODES}")
    words = ("--nodes", "3", "--take", "2", "--policy-out", desk.policy, "--overwrite")
    answer = run("explore", desk.table, desk.policy, *words)

    assert (answer.status, answer.out) == (2, "")
    assert "--policy-out is POLICY" in answer.err
    assert desk.policy.read_text().startswith("# Agreed")


MASKS = """\
halfmask = 1
[columns]
name = { role = "identifier" }
age = { role = "insensitive", kind = "numeric", mask = { name = "round", base = 10 } }
town = { role = "insensitive", kind = "categorical" }
illness = { role = "insensitive", kind = "categorical" }
"""


def test_given_policies_are_compared_side_by_side(run, desk):
    masks = desk.folder / "masks.toml"
    masks.write_text(MASKS)
    answer = run("explore", desk.table, desk.policy, masks, "--out", desk.out)

    assert answer.status == 0
    assert "policy.toml" in answer.out
    assert "masks.toml" in answer.out
    assert "distance of two columns" in answer.out
    assert "CANARY" not in answer.out + answer.err
    assert {it.name for it in desk.out.iterdir()} == {"comparison.csv", "comparison.json"}
    said = json.loads((desk.out / "comparison.json").read_text())["policies"]
    assert said["masks.toml"]["kind"] == "masked"
    assert said["policy.toml"]["rows released"] == 80


@pytest.mark.parametrize(
    "words",
    [
        ("MASKS", "--k", "4"),
        ("MASKS", "--take", "1", "--policy-out", "mine.toml"),
        ("MASKS", "one", "two"),
        ("MASKS", "one", "--out", "two"),
        ("MASKS", "MASKS"),
    ],
    ids=["k", "take", "outs", "out", "twice"],
)
def test_options_that_vary_one_policy_are_refused_with_several(run, desk, words):
    masks = desk.folder / "masks.toml"
    masks.write_text(MASKS)
    answer = run(
        "explore", desk.table, desk.policy, *(masks if it == "MASKS" else it for it in words)
    )

    assert (answer.status, answer.out) == (2, "")


@pytest.mark.parametrize(
    "fault",
    ["", "[reed]\nx = 1", "[columns.more]\nrole = 'identifier'"],
    ids=["missing", "key", "column"],
)
def test_an_error_names_the_policy_of_several_that_has_it(run, desk, fault):
    masks = desk.folder / "masks.toml"
    if fault:
        masks.write_text(f"{MASKS}\n{fault}\n")
    answer = run("explore", desk.table, desk.policy, masks)

    assert answer.status == 1
    assert answer.err.startswith("Error: In policy 2: ")
    assert "CANARY" not in answer.err


def test_a_policy_in_the_place_of_the_table_is_named(run, desk):
    answer = run("explore", desk.policy, desk.table)

    assert (answer.status, answer.out) == (2, "")
    assert "Give the table first" in answer.err


def test_the_exit_code_is_1_if_nothing_can_be_kept(run, desk):
    desk.policy.write_text(desk.policy.read_text().replace("k = 4", "k = 4000"))
    answer = run("explore", desk.table, desk.policy, "--methods", "mondrian", "--k", "999")

    assert answer.status == 1
    assert "no policy can be kept" in answer.out
    assert "Without k-anonymity (k = 4000)" in answer.out


def test_an_exploration_is_replaced_only_if_asked(run, desk):
    words = ("explore", desk.table, desk.policy, desk.out, "--methods", "mondrian", "--k", "4")
    assert run(*words).status == 0
    again = run(*words)
    assert (again.status, "exists already" in again.err) == (1, True)
    assert run(*words, "--overwrite").status == 0


@pytest.mark.parametrize(
    "options",
    [
        ("--k", "five"),
        ("--k", ","),
        ("--vary", "l"),
        ("--vary", "=2"),
        ("--vary", "l=two"),
        ("--suppression", "much"),
        ("--max-points", "0"),
        ("--overwrite",),
        ("--take", "1"),
        ("--policy-out", "mine.toml"),
        ("--nodes", "0"),
    ],
)
def test_wrong_usage_is_an_error(run, desk, options):
    answer = run("explore", desk.table, desk.policy, *options)

    assert answer.status == 2
    assert answer.out == ""


@pytest.mark.parametrize(
    "options",
    [
        ("--methods", "mondrain"),
        ("--risk", "journalist-highest"),
        ("--utility", "accuracy"),
        ("--utility", "detail:illness"),
        ("--label-model",),
        ("--vary", "t=0.5"),
    ],
)
def test_what_is_not_there_is_an_error(run, desk, options):
    answer = run("explore", desk.table, desk.policy, *options)

    assert answer.status == 1
    assert answer.err.startswith("Error: ")
    assert "CANARY" not in answer.err


def test_a_policy_of_masks_alone_is_an_error(run, desk):
    desk.policy.write_text(
        "halfmask = 1\n[columns]\n"
        'name = { role = "identifier" }\n'
        'age = { role = "insensitive", kind = "numeric", mask = { name = "round", base = 5 } }\n'
        'town = { role = "insensitive", kind = "categorical" }\n'
        'illness = { role = "sensitive", kind = "categorical" }\n'
    )

    answer = run("explore", desk.table, desk.policy)

    assert answer.status == 1
    assert "nothing to vary" in answer.err
