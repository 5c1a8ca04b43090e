"""The grid: what is varied, what is drawn, and what doesn't go together."""

from __future__ import annotations

from itertools import product

import pytest

from halfmask._errors import ParameterError, PolicyError
from halfmask.anonymize import METHODS
from halfmask.data import Hierarchy
from halfmask.microdata import Policy
from halfmask.microdata.exploring._grid import PolicyGrid

POLICY = Policy.from_toml(
    """
    halfmask = 1
    method = { name = "mdav", block_rows = 1000 }
    suppression = { max_fraction = 0.01 }
    [columns]
    age = { role = "quasi_identifier", kind = "numeric" }
    town = { role = "quasi_identifier", kind = "categorical", hierarchy = { prefix = [1] } }
    ill = { role = "sensitive", kind = "categorical" }
    pay = { role = "sensitive", kind = "numeric" }
    [[guarantees]]
    model = "k-anonymity"
    k = 4
    [[guarantees]]
    model = "t-closeness"
    t = 0.5
    column = "ill"
    [[guarantees]]
    model = "t-closeness"
    t = 0.4
    column = "pay"
    distance = "ordered"
    [[guarantees]]
    model = "alpha-k-anonymity"
    alpha = 0.5
    k = 3
    column = "ill"
    """
)
WHOLE = {
    "search_seconds": 5.0,
    "k": None,
    "vary": None,
    "methods": None,
    "recodings": None,
    "max_suppression": None,
}


def grid_of(**given):
    return PolicyGrid.of(POLICY, **{**WHOLE, **given})


def policies_of(grid, accepts=lambda policy: policy, **given):
    return grid.policies(POLICY, accepts, **{"at_most": 1000, "random_state": 0, **given})


def test_by_default_all_methods_usual_k_and_nodes_of_hierarchies_are_tried():
    grid = grid_of()

    assert grid.methods == tuple(METHODS)
    assert grid.recodings == ("ranges", "level")
    assert grid.suppression == (0.0, 0.01, 0.02)
    assert grid.vary == {"k": (2, 5, 10, 20, 50)}


def test_every_combination_is_a_policy_once_and_the_given_one_comes_first():
    grid = grid_of(
        methods=["mondrian", "mdav"],
        recodings=["ranges"],
        k=[3, 4],
        vary={"t": [0.3, 0.6]},
        max_suppression=[0, 0.01],
    )
    found, n_policies = policies_of(grid)

    assert n_policies == 16
    assert found[0].policy is POLICY
    assert [each.number for each in found] == list(range(17))
    assert len({each.policy for each in found}) == 17
    asked = {
        (each.method, each.parameters["k"], each.parameters["t"], each.max_suppression)
        for each in found[1:]
    }
    assert asked == set(product(["mondrian", "mdav"], [3, 4], [0.3, 0.6], [0, 0.01]))
    assert not any(each.why for each in found)


def test_a_policy_of_the_grid_that_is_the_given_one_is_there_once():
    grid = grid_of(
        methods=["mdav"],
        recodings=["ranges"],
        vary={"k-anonymity.k": [4]},
        k=None,
        max_suppression=[0.01],
    )
    only = PolicyGrid(
        methods=grid.methods,
        recodings=grid.recodings,
        suppression=grid.suppression,
        vary={"k-anonymity.k": (4,)},
        seconds=5.0,
    )

    found, _ = policies_of(only)

    assert [each.number for each in found] == [0]


def test_a_parameter_is_varied_in_each_guarantee_that_has_it_or_in_one_model():
    def of(vary):
        grid = grid_of(methods=["mondrian"], recodings=["ranges"], max_suppression=[0], vary=vary)
        made = policies_of(grid)[0][1].policy
        return [each.parameters for each in made.guarantees()]

    both = of({"k": [7], "t": [0.2]})
    one = of({"k": [7], "alpha-k-anonymity.k": [9]})

    assert [it.get("k") for it in both] == [7, None, None, 7]
    assert [it.get("t") for it in both] == [None, 0.2, 0.2, None]
    assert [it.get("k") for it in one] == [7, None, None, 9]


def test_the_own_method_keeps_its_parameters_and_another_has_its_defaults():
    grid = grid_of(methods=["mdav", "mondrian"], recodings=["ranges"], k=[5])
    found, _ = policies_of(grid)

    kinds = {each.method: each.policy.method.made() for each in found[1:]}
    assert kinds["mdav"].block_rows == 1000
    assert kinds["mondrian"].strict


@pytest.mark.slow
def test_a_larger_grid_is_drawn_from_and_a_seed_fixes_the_draw():
    grid = grid_of()

    first, n_policies = policies_of(grid, at_most=20)
    again, _ = policies_of(grid, at_most=20)
    other, _ = policies_of(grid, at_most=20, random_state=1)

    kept = [each for each in first if not each.why]
    assert n_policies > 20 == len(kept)
    assert [each.name for each in first] == [each.name for each in again]
    assert [each.name for each in first] != [each.name for each in other]


def test_a_pair_that_does_not_go_together_is_listed_once_with_the_reason():
    def accepts(policy):
        if policy.method.named == "mondrian":
            raise ParameterError("Mondrian can't.")

    found, _ = policies_of(grid_of(methods=["mondrian", "mdav"], k=[5, 6]), accepts)

    refused = [each for each in found if each.why]
    assert {(each.name, each.why) for each in refused} == {
        ("mondrian-ranges", "Mondrian can't."),
        ("mondrian-level", "Mondrian can't."),
    }


def test_a_method_that_needs_a_label_is_refused_where_there_is_none():
    found, _ = policies_of(grid_of(methods=["guided"], recodings=["ranges"]))

    assert [each.policy for each in found[1:]] == [None]
    assert "no split targets" in found[1].why


def test_a_value_that_a_policy_refuses_is_listed_with_the_reason():
    found, _ = policies_of(grid_of(methods=["mondrian"], recodings=["ranges"], k=[1, 5]))

    refused = {each.parameters["k"] for each in found if each.why}
    assert refused == {1}


def test_a_search_that_the_policy_does_not_limit_gets_its_seconds():
    grid = grid_of(methods=["full-domain", "mondrian"], recodings=["level"], k=[5])
    unlimited, _ = policies_of(grid)
    own = POLICY.changed(method={"name": "full-domain", "steps": 9})
    limited, _ = grid.policies(own, lambda policy: policy, at_most=9, random_state=0)

    made = {each.method: each.policy.method.made() for each in unlimited[1:]}
    assert made["full-domain"].seconds == 5.0
    kinds = {each.policy.method.made().seconds for each in limited if each.method == "full-domain"}
    assert kinds == {None}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"methods": ["mondrain"]}, "Did you mean 'mondrian'"),
        ({"methods": ["zzz"]}, "There are 'mondrian'"),
        ({"methods": []}, "not empty"),
        ({"methods": "mondrian"}, "must be a list"),
        ({"recodings": ["levels"]}, "Did you mean 'level'"),
        ({"vary": {"l": [2]}}, "no.*parameter 'l'|No guarantee"),
        ({"vary": {"k-anonymity.t": [2]}}, "No guarantee"),
        ({"vary": {"t": []}}, "not empty"),
        ({"max_suppression": [1.0]}, "max_suppression"),
        ({"max_suppression": [-0.1]}, "max_suppression"),
        ({"search_seconds": 0}, "search_seconds"),
    ],
)
def test_what_is_not_there_is_an_error_with_what_was_probably_meant(given, words):
    with pytest.raises(ParameterError, match=words):
        grid_of(**given)


def test_a_grid_beyond_all_bounds_is_refused():
    grid = grid_of(k=range(2, 10_002), vary={"t": [i / 1e6 for i in range(1, 100_001)]})

    with pytest.raises(ParameterError, match="at most 1,000,000,000"):
        policies_of(grid)


def test_changed_policies_are_checked_like_files():
    assert POLICY.changed(method={"name": "mdav"}).method.named == "mdav"
    with pytest.raises(PolicyError):
        POLICY.changed(method={"name": "mdva"})


def test_a_moved_policy_finds_the_same_files(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "towns.csv").write_text("a;A\nb;B\n", encoding="utf-8")
    text = """
        halfmask = 1
        guarantees = [{ model = "k-anonymity", k = 2 }]
        columns.town = { role = "quasi_identifier", kind = "text", hierarchy.file = "towns.csv" }
    """
    policy = Policy.from_toml(text, folder=tmp_path / "in")

    moved = policy.moved(tmp_path / "out" / "policies")

    section = moved.columns["town"].hierarchy
    assert section is not None
    assert section.file == "../../in/towns.csv"
    (tmp_path / "out" / "policies").mkdir(parents=True)
    file = tmp_path / "out" / "policies" / "it.toml"
    file.write_text(moved.to_toml(), encoding="utf-8")
    tree = Policy.load(file).schema()["town"].hierarchy
    assert isinstance(tree, Hierarchy)
    assert list(tree.leaves) == ["a", "b"]
