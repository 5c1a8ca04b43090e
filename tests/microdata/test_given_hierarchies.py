"""protect without a policy, with hierarchies by the names of columns."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from halfmask import ColumnNotFoundError, HierarchyError, ParameterError
from halfmask.data import Hierarchy
from halfmask.microdata import Policy, make_policy, protect

TOWNS = [
    ("CANARY-lyon", "south", "france", "any"),
    ("CANARY-rome", "centre", "italy", "any"),
    ("CANARY-lille", "north", "france", "any"),
    ("CANARY-nice", "south", "france", "any"),
]
NAME = "born/at"
PEOPLE = pl.DataFrame(
    {
        NAME: [TOWNS[i % 4][0] for i in range(80)],
        "age": [20 + i % 40 for i in range(80)],
        "illness": [("flu", "cold", "cough")[i % 3] for i in range(80)],
    }
)
ASKED: dict[str, Any] = {"quasi_identifiers": [NAME, "age"], "sensitive": ["illness"], "k": 4}


def csv_of(rows):
    return "".join(";".join(row) + "\n" for row in rows)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of hierarchies where the process is."""
    monkeypatch.chdir(tmp_path)
    made = tmp_path / "trees"
    made.mkdir()
    (made / "born%2Fat.csv").write_text(csv_of(TOWNS))
    return made


def tree_of(policy, name=NAME):
    tree: Any = policy.schema()[name].hierarchy
    return tree if isinstance(tree, Hierarchy) else tree.build(pl.Series([]), column=name)


@pytest.mark.parametrize("form", ["folder", "text", "path", "relative"])
def test_a_file_is_the_hierarchy_of_the_column_of_its_name(folder, form):
    file = folder / "born%2Fat.csv"
    given: Any = {
        "folder": folder,
        "text": str(folder),
        "path": {NAME: file},
        "relative": {NAME: "trees/born%2Fat.csv"},
    }[form]

    made = make_policy(PEOPLE, **ASKED, hierarchies=given)

    assert tree_of(made.policy) == Hierarchy.from_rows(TOWNS, column=NAME)
    assert made.policy.schema()["age"].hierarchy is None
    assert "trees/born%2Fat.csv" in made.text


def test_the_release_is_cut_between_the_branches(folder):
    """Sorted by name, Nice and Rome are neighbours; the hierarchy keeps the countries apart."""
    table = PEOPLE.select(NAME)
    release = protect(table, quasi_identifiers=[NAME], k=30, hierarchies=folder)
    plain = protect(table, quasi_identifiers=[NAME], k=30)

    assert [it.data[NAME].n_unique() for it in (release, plain)] == [1, 2]


def test_the_policy_finds_the_files_from_its_own_folder(folder, tmp_path):
    """A link to the folder of the policy changes what its parent is."""
    (tmp_path / "deep" / "releases").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "deep" / "releases")

    made = make_policy(PEOPLE, **ASKED, hierarchies=folder, folder="link")
    (tmp_path / "link" / "it.toml").write_text(made.text)

    assert "../../trees/" in made.text
    for policy in (made.policy, Policy.load(tmp_path / "link" / "it.toml")):
        assert tree_of(policy) == Hierarchy.from_rows(TOWNS, column=NAME)


@pytest.mark.parametrize(
    "rows",
    [
        TOWNS,
        [row[:3] for row in TOWNS],  # no node of all: a root is added
        [row[:1] for row in TOWNS],
        [(leaf, "*") for leaf, *_ in TOWNS],
        [(leaf, leaf, country, "*") for leaf, _, country, _ in TOWNS],
    ],
)
def test_a_hierarchy_is_written_into_the_policy(rows):
    tree = Hierarchy.from_rows(rows, column=NAME)

    made = make_policy(PEOPLE, **ASKED, hierarchies={NAME: tree})

    again = tree_of(made.policy)
    assert again.leaves == tree.leaves
    assert again.levels[:, : tree.height].equals(tree.levels)
    assert set(again.levels[:, tree.height :].to_numpy().flat) <= {"*"}


def test_a_file_that_is_called_as_no_column_is_an_error(folder):
    (folder / "Age.csv").write_text("20;*\n")

    with pytest.raises(ColumnNotFoundError, match=r"(?s)'Age'.*Did you mean 'age'"):
        make_policy(PEOPLE, **ASKED, hierarchies=folder)


def test_what_is_no_file_of_a_quasi_identifier_is_left_alone(folder):
    for name in ("illness.csv", "notes.txt", "._age.csv", ".hidden.csv"):
        (folder / name).write_text("no hierarchy")

    made = make_policy(PEOPLE, **ASKED, hierarchies=folder)

    assert made.policy.schema()["age"].hierarchy is None
    assert made.policy.schema()["illness"].hierarchy is None


def test_values_that_a_hierarchy_lacks_are_counted_and_not_shown(folder):
    (folder / "born%2Fat.csv").write_text(csv_of(TOWNS[:2]))

    with pytest.raises(HierarchyError, match=r"lacks 2 values") as raised:
        protect(PEOPLE, **ASKED, hierarchies=folder)

    assert "CANARY" not in str(raised.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"illness": "trees/born%2Fat.csv"}, "'illness' has a hierarchy and isn't"),
        ({"age": 5}, "Got a int"),
        (5, "a folder or a mapping"),
        ("nowhere", "isn't there"),
        ("empty", "has no CSV file"),
        ("other", "'illness' has a hierarchy and isn't"),
    ],
)
def test_what_is_no_hierarchy_is_refused(folder, given, said):
    (folder.parent / "empty").mkdir()
    (folder.parent / "other").mkdir()
    (folder.parent / "other" / "illness.csv").write_text("flu;*\n")

    with pytest.raises(ParameterError, match=said):
        make_policy(PEOPLE, **ASKED, hierarchies=given)


def test_hierarchies_beside_a_policy_are_refused(folder):
    policy = make_policy(PEOPLE, **ASKED).policy

    with pytest.raises(ParameterError, match="not both"):
        protect(PEOPLE, policy, hierarchies=folder)


def test_a_file_that_is_not_there_is_an_error_of_its_column(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with pytest.raises(HierarchyError, match=r"column 'born/at' can't be read"):
        protect(PEOPLE, **ASKED, hierarchies={NAME: "absent.csv"})
