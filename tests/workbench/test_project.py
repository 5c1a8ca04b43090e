"""A folder with a policy file: what is open, what is read, and nothing outside of it."""

from __future__ import annotations

import json
import shutil
import stat

import pytest

from halfmask import DataError, ParameterError, PolicyError
from halfmask.description import describe
from halfmask.description.reading_section import with_reading
from halfmask.workbench import _project
from halfmask.workbench._project import Project

POLICY = """\
# A comment of the owner.
halfmask = 1

[columns.age]
role = "quasi_identifier"
kind = "numeric"

[[guarantees]]
model = "k-anonymity"
k = 2
"""


@pytest.fixture
def table(tmp_path):
    where = tmp_path / "people.csv"
    where.write_text("age,sex\n30,f\n31,m\n30,m\n31,f\n", encoding="utf-8")
    return where


@pytest.fixture
def project(tmp_path, table):
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    return Project(tmp_path, str(table))


def test_an_edit_is_a_version_and_comments_stay(project):
    with project.editing("Raised k") as document:
        document["guarantees"][0]["k"] = 5
    text = project.policy_file.read_text(encoding="utf-8")
    assert "k = 5" in text
    assert "# A comment of the owner." in text
    assert [each.why for each in project.history.versions] == ["Opened", "Raised k"]


def test_an_edit_that_makes_no_policy_leaves_the_file(project):
    with (
        pytest.raises(PolicyError, match="k must be at least 2"),
        project.editing("Broke it") as document,
    ):
        document["guarantees"][0]["k"] = -1
    assert project.policy_text() == POLICY
    assert len(project.history.versions) == 1


def test_undo_and_redo_bring_back_the_file_byte_for_byte(project):
    with project.editing("Raised k") as document:
        document["guarantees"][0]["k"] = 5
    later = project.policy_file.read_bytes()
    assert project.undo() == "Raised k"
    assert project.policy_text() == POLICY
    assert project.redo() == "Raised k"
    assert project.policy_file.read_bytes() == later
    assert project.redo() is None


def test_a_change_by_others_is_a_version_that_can_be_undone(project):
    assert project.history.versions
    project.policy_file.write_text(POLICY.replace("k = 2", "k = 3"), encoding="utf-8")
    assert project.undo() == "Changed outside of the workbench"
    assert project.policy_text() == POLICY


def test_looking_writes_nothing_into_the_history(project):
    """A page that is opened while an action runs must not take its half for a change by others."""
    with project.editing("Raised k") as document:
        document["guarantees"][0]["k"] = 5
    seen = []

    def write(content, history):
        project.policy_file.write_bytes(content)  # the file is there, its version isn't yet
        seen.append(project.history.undoes)
        history.save()

    project._put = write
    assert project.undo() == "Raised k"
    assert project.redo() == "Raised k"
    assert seen == ["Changed outside of the workbench"] * 2
    assert [each.why for each in project.history.versions] == ["Opened", "Raised k"]


def test_a_policy_that_is_no_text_is_a_version_that_undo_takes_back(project):
    project.policy_file.write_bytes(b"\xff")
    with pytest.raises(PolicyError, match="UTF-8"):
        project.policy_text()
    assert project.undo() == "Changed outside of the workbench"
    assert project.policy_text() == POLICY


def test_an_edit_after_undo_drops_what_was_undone(project):
    for k in (3, 4):
        with project.editing(f"k = {k}") as document:
            document["guarantees"][0]["k"] = k
    project.undo()
    with project.editing("k = 9") as document:
        document["guarantees"][0]["k"] = 9
    assert [each.why for each in project.history.versions] == ["Opened", "k = 3", "k = 9"]
    assert project.history.redoes is None


def test_the_stamp_changes_with_the_policy(project):
    before = project.stamp
    with project.editing("Raised k") as document:
        document["guarantees"][0]["k"] = 5
    assert project.stamp != before


def test_the_table_is_remembered_and_a_database_is_not(tmp_path, table):
    Project(tmp_path, str(table))
    again = Project(tmp_path)
    assert again.table_file == table
    Project(tmp_path, "postgresql://me:secret@host/base?table=people")
    assert "secret" not in (tmp_path / ".halfmask" / "project.json").read_text(encoding="utf-8")


def test_rows_are_read_again_when_the_file_changes(project, table):
    assert project.rows().height == 4
    table.write_text("age,sex\n30,f\n31,m\n", encoding="utf-8")
    assert project.rows().height == 2


def test_a_sample_is_the_same_each_time(project):
    assert project.sample(2).equals(project.sample(2))
    assert project.sample(10).height == 4


def test_what_can_not_be_read_leaves_the_open_table(project, table, tmp_path):
    (tmp_path / "empty.csv").write_text("", encoding="utf-8")
    with pytest.raises(DataError):
        project.open(str(tmp_path / "empty.csv"))
    assert project.table_file == table


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../../x", "", "a\0b"])
def test_names_that_lead_out_of_the_folder_are_refused(project, name):
    with pytest.raises(ParameterError, match="in the folder"):
        project.inside(name)


def test_a_link_out_of_the_folder_is_refused(project, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (project.folder / "link").symlink_to(outside)
    with pytest.raises(ParameterError, match="in the folder"):
        project.inside("link/x")


def test_a_policy_of_another_folder_is_refused(tmp_path, tmp_path_factory):
    other = tmp_path_factory.mktemp("other") / "policy.toml"
    other.write_text(POLICY, encoding="utf-8")
    with pytest.raises(ParameterError, match="must lie in the folder"):
        Project(tmp_path, policy=other)


def test_the_hidden_folder_is_for_its_owner_alone(project):
    assert stat.S_IMODE(project.hidden.stat().st_mode) == 0o700
    assert project.history.versions
    folders = [each for each in project.hidden.rglob("*") if each.is_dir()]
    assert folders
    assert all(stat.S_IMODE(each.stat().st_mode) & 0o077 == 0 for each in folders)


def test_a_policy_of_tables_of_counts_is_read_as_one(project):
    with pytest.raises(PolicyError, match="tables"):
        project.replace("halfmask-tables = 1\n", "Counts")
    assert project.policy_text() == POLICY


def test_its_state_holds_no_cell(project):
    stored = json.loads((project.hidden / "project.json").read_text(encoding="utf-8"))
    assert set(stored) <= {"policy", "policies", "tables", "readings"}


@pytest.mark.parametrize("state", ["", "[]", "{", '{"tables": [], "readings": 1, "policy": null}'])
def test_a_damaged_state_is_an_empty_one(tmp_path, table, state):
    Project(tmp_path, str(table))
    (tmp_path / ".halfmask" / "project.json").write_text(state, encoding="utf-8")
    project = Project(tmp_path)
    assert (project.table, project.policy_file.name) == (None, "policy.toml")


def test_a_folder_that_was_sent_opens_nothing_of_its_senders(tmp_path, table, tmp_path_factory):
    """Neither tables outside of it, nor jobs whose files may hold anything."""
    Project(tmp_path, str(table))
    (tmp_path / ".halfmask" / "jobs" / "x").mkdir(parents=True)
    assert Project(tmp_path).table == str(table)
    sent = tmp_path_factory.mktemp("sent") / "work"
    shutil.copytree(tmp_path, sent)
    project = Project(sent)
    assert project.table is None
    assert not (sent / ".halfmask" / "jobs").exists()


def test_the_state_names_no_policy_outside(tmp_path, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "theirs.toml"
    outside.write_text(POLICY, encoding="utf-8")
    state = Project(tmp_path).hidden / "project.json"
    state.write_text(json.dumps({"policy": str(outside)}), encoding="utf-8")
    project = Project(tmp_path)
    assert project.policy_file == tmp_path / "theirs.toml"
    assert not project.has_policy


def test_a_table_comes_back_with_its_policy(project, table, tmp_path):
    other = tmp_path / "people.tsv"
    other.write_text("age\ttown\n30\tUlm\n", encoding="utf-8")
    project.open(str(other))
    assert project.policy_file.name == "policy.toml"
    project.start_over(str(other), {})
    assert project.policy_file.name == "people.policy.toml"
    project.open(str(table))
    assert project.policy_file.name == "policy.toml"
    project.start_over(str(table), {})
    assert project.policy_file.name == "people1.policy.toml"  # the other one's is people
    project.use("policy.toml")
    assert project.policy_text() == POLICY


def test_a_hidden_folder_that_leads_elsewhere_is_refused(tmp_path, tmp_path_factory):
    (tmp_path / ".halfmask").symlink_to(tmp_path_factory.mktemp("outside"))
    with pytest.raises(ParameterError, match="is a link"):
        Project(tmp_path)


def test_a_hidden_folder_that_is_there_is_closed_and_not_committed(tmp_path):
    (tmp_path / ".halfmask").mkdir(mode=0o755)
    hidden = Project(tmp_path).hidden
    assert stat.S_IMODE(hidden.stat().st_mode) == 0o700
    assert (hidden / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_a_reading_is_kept_until_there_is_a_policy_and_goes_into_it(tmp_path):
    semicolons = tmp_path / "people.txt"
    semicolons.write_text("age|town;x\n30|?\n31|b\n", encoding="latin-1")
    project = Project(tmp_path)
    project.open(str(semicolons), {"delimiter": "|", "missing": ["", "?"]})
    assert project.rows().columns == ["age", "town;x"]
    assert project.rows().to_series(1).null_count() == 1
    again = Project(tmp_path)
    assert again.reading == {"delimiter": "|", "missing": ["", "?"]}
    assert again.rows().equals(project.rows())
    proposed = describe(project.source()).policy_toml()
    assert "\n[input]\n" not in proposed
    made = with_reading(proposed, project.read_options())
    assert '\n[input]\nmissing = ["", "?"]\ndelimiter = "|"\n' in made
    project.replace(made, "Proposed")
    assert project.read_options().delimiter == "|"


def test_a_reading_changes_the_policy_and_is_a_version(tmp_path, table):
    project = Project(tmp_path, str(table))
    project.replace(POLICY + '[input]\nencoding = "latin-1"\ncomment = "#"  # why\n', "Made")
    before = project.policy_text()
    project.open(str(table), {"missing": ["", "?"], "comment": "#"})
    assert project.read_options().missing == ("", "?")
    assert project.read_options().encoding == "utf-8"
    assert project.read_options().comment == "#"
    assert project.history.versions[-1].why == "How the table is read"
    project.undo()
    assert project.policy_text() == before


def test_a_reading_that_does_not_fit_changes_nothing(tmp_path, table):
    project = Project(tmp_path, str(table))
    with pytest.raises(DataError):
        project.open(str(table), {"encoding": "utf-16"})
    assert project.reading == {}
    with pytest.raises(ParameterError):
        project.open(str(table), {"delimiter": "ab"})
    assert project.rows().height > 0


def test_what_is_made_of_the_table_is_made_once_until_it_changes(tmp_path, table):
    project = Project(tmp_path, str(table))
    made = []

    def make():
        made.append(1)
        return len(made)

    assert project.kept("x", make) == project.kept("x", make) == 1
    project.open(str(table), {"missing": ["", "a"]})
    assert project.kept("x", make) == 2
    table.write_text(table.read_text() + "\n", encoding="utf-8")
    assert project.kept("x", make) == 3


def test_a_table_of_more_cells_than_memory_is_refused(project, monkeypatch):
    monkeypatch.setattr(_project, "_MOST_CELLS", 3)
    with pytest.raises(DataError, match="more than the workbench opens"):
        project.rows()
