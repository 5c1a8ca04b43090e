"""Jobs: real processes that end, fail, are cancelled, or are killed from outside."""

from __future__ import annotations

import json
import os
import select
import signal
import stat
from pathlib import Path

import pytest

from halfmask._errors import ParameterError
from halfmask.workbench import _jobs
from halfmask.workbench._jobs import Jobs
from workbench.jobs_to_try import (  # type: ignore[import-not-found] # not in a package
    CANARY,
)

pytestmark = pytest.mark.slow
SECONDS = 60


@pytest.fixture
def jobs(tmp_path, monkeypatch):
    here = str(Path(__file__).parents[1])
    paths = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    made = Jobs(tmp_path / "jobs", package="workbench.jobs_to_try")
    yield made
    for job in made.all():
        made.cancel(job.id)


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def held(jobs, work, pipe, **arguments):
    """Start work that says on a pipe that it waits, and return it then."""
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        job = jobs.start("hold", f"workbench.jobs_to_try:{work}", pipe=str(pipe), **arguments)
        assert select.select([reader], [], [], SECONDS)[0], "the work didn't begin"
    finally:
        os.close(reader)
    return jobs.get(job.id)


def ended(jobs, work, **arguments):
    return jobs.wait(jobs.start("try", f"workbench.jobs_to_try:{work}", **arguments).id, SECONDS)


def test_work_returns_its_result_and_leaves_its_files(jobs):
    job = ended(jobs, "add", numbers=[1, 2])

    assert (job.state, job.result, job.error) == ("done", {"sum": 3}, None)
    assert (job.kind, job.arguments, job.stage) == ("try", {"numbers": [1, 2]}, "adding")
    assert job.seconds > 0
    assert job.remaining is None
    assert (job.folder / "part.txt").read_text(encoding="utf-8") == "half"
    assert stat.S_IMODE(job.folder.stat().st_mode) == 0o700


def test_running_work_shows_its_stage_and_share_after_a_restart(jobs, pipe, tmp_path):
    job = held(jobs, "hold", pipe, out=str(tmp_path / "out"))
    again = Jobs(jobs.folder).latest("hold")

    assert again is not None
    assert (again.id, again.state, again.stage, again.share) == (job.id, "running", "holding", 0.25)
    assert again.remaining is not None


def test_what_remains_follows_from_the_share_of_the_stage():
    said = {"share": 0.25, "at": 110.0, "stage_started": 100.0}

    assert _jobs._remaining(said, since=0.0) == 30
    assert _jobs._remaining(said, since=12.0) == 18
    assert _jobs._remaining(said, since=99.0) == 0
    assert _jobs._remaining(said | {"share": 0}, since=0.0) is None
    assert _jobs._remaining(said | {"share": None}, since=0.0) is None


def test_cancelled_work_leaves_no_half_release(jobs, pipe, tmp_path):
    (tmp_path / "releases").mkdir()
    job = held(jobs, "hold", pipe, out=str(tmp_path / "releases" / "out"))
    assert list((tmp_path / "releases").iterdir()), "nothing was half written"

    found = Jobs(jobs.folder).cancel(job.id)

    assert found is not None
    assert (found.state, found.result, found.error) == ("cancelled", None, None)
    assert list((tmp_path / "releases").iterdir()) == []
    assert jobs.cancel(job.id).state == "cancelled"


def test_at_the_end_own_jobs_are_cancelled_and_no_others(jobs, monkeypatch):
    """A second workbench on the folder ends, and one job that can't be ended keeps no other."""
    ended = []

    def cancel(job_id):
        ended.append(job_id)
        raise OSError

    own = [jobs.folder / (it * 16) for it in "ab"]
    monkeypatch.setattr(_jobs, "_CHILDREN", dict.fromkeys(own))
    monkeypatch.setattr(jobs, "cancel", cancel)
    jobs.cancel_own()
    assert ended == ["a" * 16, "b" * 16]


@pytest.mark.parametrize(
    "end", ["", "[]", '{"state": "done"}', '{"state": "x"}', '{"state": null}']
)
def test_a_damaged_end_is_none(jobs, end):
    job = ended(jobs, "add", numbers=[1])
    (job.folder / "end.json").write_text(end, encoding="utf-8")
    assert jobs.get(job.id).state == "lost"


def test_work_that_doesnt_listen_is_killed(jobs, pipe, monkeypatch):
    monkeypatch.setattr(_jobs, "PATIENCE", 0.0)
    job = held(jobs, "hold_deaf", pipe)
    _jobs._send(job.folder, signal.SIGTERM)
    assert jobs.get(job.id).is_running

    assert jobs.cancel(job.id).state == "cancelled"


def test_cancel_ends_what_the_work_has_started(jobs, pipe):
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    job = jobs.start("hold", "workbench.jobs_to_try:hold_children", pipe=str(pipe))
    said = b""
    while len(said) < 2:
        assert select.select([reader], [], [], SECONDS)[0]
        said += os.read(reader, 2)

    assert jobs.cancel(job.id).state == "cancelled"
    # The end of the pipe: no process has it any more.
    assert select.select([reader], [], [], SECONDS)[0]
    assert os.read(reader, 1) == b""
    os.close(reader)


def test_work_that_was_killed_from_outside_is_lost(jobs, pipe, tmp_path):
    job = held(jobs, "hold", pipe, out=str(tmp_path / "out"))
    os.kill(json.loads((job.folder / "process.json").read_text())["pid"], signal.SIGKILL)

    found = jobs.wait(job.id, SECONDS)

    assert (found.state, found.error) == ("lost", _jobs.LOST)


def test_errors_of_ours_speak_for_themselves(jobs):
    job = ended(jobs, "refuse")

    assert job.state == "failed"
    assert (job.error.what, job.error.hint) == ("The table has no rows.", "Choose another file.")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("foreign", "KeyError"),
        ("memory", "Memory ran out."),
        ("full", "The disk is full."),
        ("refused", "EACCES"),
        ("absent", "This needs numba, which isn't installed."),
        ("exit", "SystemExit"),
    ],
)
def test_errors_of_others_are_put_into_words_without_theirs(jobs, kind, words):
    job = ended(jobs, "fail", kind=kind)

    assert job.state == "failed"
    assert words in job.error.what
    assert job.error.hint
    assert_no_canary(job.folder)


def test_a_result_that_is_no_json_is_an_error_in_words(jobs):
    job = ended(jobs, "return_what_is_no_json")

    assert job.state == "failed"
    assert "TypeError" in job.error.what
    assert_no_canary(job.folder)


def assert_no_canary(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    for path in files:
        assert CANARY.split(",")[0] not in path.read_text(encoding="utf-8")


def test_one_job_of_a_kind_runs_at_a_time(jobs, pipe, tmp_path):
    job = held(jobs, "hold", pipe, out=str(tmp_path / "out"))

    with pytest.raises(ParameterError, match="still running"):
        jobs.start("hold", "workbench.jobs_to_try:add", numbers=[1])
    other = jobs.start("other", "workbench.jobs_to_try:add", numbers=[1])
    assert jobs.wait(other.id, SECONDS).state == "done"
    jobs.cancel(job.id)
    again = jobs.start("hold", "workbench.jobs_to_try:add", numbers=[1])
    assert jobs.wait(again.id, SECONDS).state == "done"
    assert jobs.latest("hold").id == again.id


@pytest.mark.parametrize(
    ("kind", "work"),
    [
        ("try", "os:system"),
        ("try", "halfmask.workbench_evil:run"),
        ("try", "halfmask.workbench._jobs:__init__"),
        ("try", "halfmask.cli:main"),
        ("../try", "halfmask.workbench._jobs:run"),
    ],
)
def test_only_functions_of_the_workbench_are_run(tmp_path, kind, work):
    with pytest.raises(ParameterError, match="must be a function here"):
        Jobs(tmp_path).start(kind, work)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "address",
    [
        *("me:secret@db/x", "me:se:cret@db/x", "me:s%40cret@db/x", "me:@db/x", "me:a b@db/x"),
        *("db/x?user=me&password=secret", "me@db/x?sslpassword=secret", "db/x?p%61ssword=x"),
    ],
)
def test_no_password_of_a_database_is_written_down(jobs, address):
    with pytest.raises(ParameterError, match="doesn't write"):
        jobs.start("try", "workbench.jobs_to_try:add", table=f"postgresql://{address}")
    assert not jobs.folder.exists()


def test_an_address_without_a_password_is_given_to_the_work(jobs):
    job = jobs.start("try", "workbench.jobs_to_try:refuse", table="postgresql://me@db:5432/x")
    assert jobs.wait(job.id, SECONDS).arguments["table"] == "postgresql://me@db:5432/x"


@pytest.mark.parametrize("job_id", ["", "..", "../x", "A" * 16, "0" * 16, "0" * 15 + "/"])
def test_what_is_no_id_is_no_job(jobs, job_id, tmp_path):
    (tmp_path / "job.json").write_text('{"started": 1}', encoding="utf-8")

    assert jobs.get(job_id) is None
    assert jobs.wait(job_id) is None
    assert jobs.cancel(job_id) is None


def test_only_the_newest_finished_jobs_of_a_kind_are_kept(jobs, monkeypatch):
    monkeypatch.setattr(_jobs, "KEPT", 2)
    other = jobs.wait(jobs.start("other", "workbench.jobs_to_try:add", numbers=[0]).id, SECONDS)
    made = [ended(jobs, "add", numbers=[number]).id for number in range(3)]

    assert [job.id for job in jobs.all()] == [made[2], made[1], other.id]


def test_a_damaged_folder_is_passed_over(jobs):
    job = ended(jobs, "add", numbers=[1])
    (job.folder / "job.json").write_text("{", encoding="utf-8")

    assert jobs.get(job.id) is None
    assert jobs.all() == []
