"""Nodes of the lattice: those that lose least, with the numbers of the releases at their levels."""

from __future__ import annotations

from itertools import product

import polars as pl
import pytest

from halfmask._errors import GuaranteeNotMetError, ParameterError, PolicyError
from halfmask.anonymize.coding import code_column
from halfmask.data import Column, Hierarchy
from halfmask.microdata import Policy, explore, protect
from halfmask.microdata.exploring._levels import _words

TEXT = """
halfmask = 1
[columns]
age = { role = "quasi_identifier", kind = "numeric", hierarchy = { intervals = [10, 20] } }
seen = { role = "quasi_identifier", kind = "datetime", hierarchy = { dates = ["quarter"] } }
zip = { role = "quasi_identifier", kind = "text", hierarchy = { prefix = [2, 1] } }
ill = { role = "insensitive", kind = "categorical" }
[[guarantees]]
model = "k-anonymity"
k = 4
[method]
name = "full-domain"
[suppression]
max_fraction = 0.2
"""
POLICY = Policy.from_toml(TEXT)
HEIGHTS = {"age": 3, "seen": 2, "zip": 3}


def people(n=240):
    return pl.DataFrame(
        {
            "age": [18 + row * row % 61 for row in range(n)],
            "seen": [f"2024-{1 + row % 12:02d}-0{1 + row % 3}" for row in range(n)],
            "zip": [f"{10 + row * 7 % 3}{row % 5}" for row in range(n)],
            "ill": ["ab"[row % 2] for row in range(n)],
        }
    ).with_columns(pl.col("seen").str.to_date())


PEOPLE = people()


@pytest.fixture(scope="module")
def found():
    return explore(PEOPLE, POLICY, nodes=6)


def at_levels(levels):
    """The policy with fixed levels, written as a user would."""
    columns = POLICY.model_dump(mode="json", exclude_defaults=True)["columns"]
    for name, level in levels.items():
        columns[name] |= {"least_level": level, "greatest_level": level}
    return POLICY.changed(columns=columns)


def every_loss():
    """The loss that the search counts at each node that keeps the guarantees, one by one."""
    losses = {}
    for levels in product(*(range(height + 1) for height in HEIGHTS.values())):
        try:
            (only,) = explore(
                PEOPLE, at_levels(dict(zip(HEIGHTS, levels, strict=True))), nodes=1
            ).points
        except GuaranteeNotMetError:
            continue
        losses[levels] = only.measures.objective
    return losses


def levels_of(point):
    return tuple(each.level[0] for each in point.measures.levels.values())


@pytest.mark.slow
def test_the_nodes_are_the_best_of_all(found):
    losses = every_loss()
    listed = [levels_of(each) for each in found.points]

    assert found.search is not None
    assert found.search.optimal
    assert found.search.nodes == 48
    assert len(losses) > len(listed) == 6
    assert [losses[it] for it in listed] == sorted(losses.values())[:6]


def test_each_policy_file_makes_the_release_that_is_listed(found, tmp_path):
    found.write(tmp_path / "out")
    for point in found.points:
        release = protect(PEOPLE, Policy.load(tmp_path / "out" / "policies" / point.asked.file))
        measures = point.measures

        assert measures.suppressed == release.rows["suppressed"]
        assert measures.loss == pytest.approx(release.utility.loss.loss, abs=0)
        assert measures.detail == pytest.approx(dict(release.utility.detail.columns), abs=0)
        assert measures.highest == release.risk.after.prosecutor.highest.value
    assert len({each.measures.suppressed for each in found.points}) > 1


def test_the_best_node_is_what_the_policy_takes(found):
    release = protect(PEOPLE, POLICY)

    assert found.points[0].measures.suppressed == release.rows["suppressed"]
    assert found.points[0].measures.loss == pytest.approx(release.utility.loss.loss, abs=0)


def test_a_taken_policy_fixes_the_levels_and_changes_nothing_else(found, tmp_path):
    text = found.taken(3, folder=tmp_path)
    taken = Policy.from_toml(text, folder=tmp_path)

    levels = {name: taken.columns[name].least_level for name in HEIGHTS}
    assert tuple(levels.values()) == levels_of(found.points[2])
    assert taken == at_levels(levels)
    assert found.points[2].levels_in_words in text
    with pytest.raises(ParameterError, match="number 7"):
        found.taken(7, folder=tmp_path)


def test_levels_are_said_in_the_words_of_their_hierarchies(found):
    words = {
        (name, each.level[0]): each.words
        for point in explore(PEOPLE, POLICY, nodes=48).points
        for name, each in point.measures.levels.items()
    }

    assert words["age", 1] == "intervals of 10"
    assert words["seen", 1] == "quarter"
    assert words["seen", 2] == "all values"
    assert words["zip", 0] == "unchanged"
    assert words["zip", 1] == "first 2 characters"
    assert words["zip", 2] == "first character"
    shown = (found.to_svg(), found._repr_html_(), str(found.to_frame().to_dicts()))
    assert all(found.points[0].measures.levels["age"].words in each for each in shown)


def test_a_hierarchy_without_words_says_how_many_groups_a_level_has():
    rows = [["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]]
    tree = Hierarchy.from_rows(rows, column="town")
    column = Column(name="town", role="quasi_identifier", kind="categorical", hierarchy=tree)
    coding = code_column(column, pl.Series(["a", "b", "d"]), missing=True)

    assert _words(coding, 1, 2) == "level 1 of 2 (2 groups)"


def test_a_name_with_lines_writes_no_keys_into_a_policy_that_is_taken():
    name = 'age\nperson = "ill"\x7f'
    columns = POLICY.model_dump(mode="json", exclude_defaults=True)["columns"]
    policy = POLICY.changed(columns={name: columns.pop("age"), **columns})
    explored = explore(PEOPLE.rename({"age": name}), policy, nodes=1)

    taken = Policy.from_toml(explored.taken(1, folder="."))
    assert name in taken.columns
    assert taken.person is None


def test_points_of_a_grid_say_their_levels():
    found = explore(PEOPLE, POLICY, k=[4], methods=["full-domain", "mondrian"], recodings=["level"])

    for point in found.points:
        assert bool(point.measures.levels) == (point.asked.method == "full-domain")
    frame = found.to_frame().filter(method="full-domain")
    assert frame["level:seen"].null_count() == 0


def test_all_rows_are_searched_unless_a_limit_is_given():
    assert explore(PEOPLE, POLICY, nodes=1).rows == 240
    assert explore(PEOPLE, POLICY, nodes=1, rows=100).rows == 100


def test_a_search_that_reached_its_limit_says_so():
    limited = POLICY.changed(method={"name": "full-domain", "steps": 3})
    found = explore(PEOPLE, limited, nodes=3)

    assert found.search is not None
    assert not found.search.optimal
    assert "others may lose less" in found.search_sentence


@pytest.mark.parametrize(
    ("changes", "given", "error"),
    [
        ({"method": {"name": "mondrian"}}, {}, PolicyError),
        ({"method": {"name": "full-domain", "rounds": 2}}, {}, PolicyError),
        ({}, {"k": [2]}, ParameterError),
        ({}, {"methods": ["full-domain"]}, ParameterError),
        ({}, {"nodes": 0}, ParameterError),
        ({"guarantees": [{"model": "k-anonymity", "k": 999}]}, {}, GuaranteeNotMetError),
    ],
    ids=["method", "rounds", "k", "methods", "none", "unmet"],
)
def test_what_has_no_nodes_is_refused(changes, given, error):
    with pytest.raises(error):
        explore(PEOPLE, POLICY.changed(**changes), **{"nodes": 2, **given})
