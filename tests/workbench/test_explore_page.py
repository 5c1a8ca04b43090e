"""Explore: a grid as a job, points as they come, and a point's policy in the policy file."""

from __future__ import annotations

import json
import os
import re
import tomllib
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import tomlkit

from halfmask.microdata import explore
from halfmask.workbench import _exploring
from halfmask.workbench.pages import _explore

FORM = {
    "k": "2, 5 400",
    "vary-distinct-l-diversity.l": "3",
    "methods": ["mondrian"],
    "recodings": ["ranges", "level"],
    "suppression": "0, 2",
    "rows": "300",
    "max_points": "60",
    "risk": "average",
    "utility": "detail",
}
GRID: dict[str, Any] = {
    "k": [2, 5, 400],
    "vary": None,
    "methods": ["mondrian"],
    "recodings": ["ranges", "level"],
    "max_suppression": [0.0, 0.02],
    "max_points": 60,
    "rows": 300,
    "risk": "average",
    "utility": "detail",
}


@pytest.fixture
def small_bench(adult_bench, adult_table):
    """The bench with 400 rows, which take no time to explore."""
    lines = adult_table.read_text(encoding="utf-8").splitlines(keepends=True)
    adult_table.write_text("".join(lines[:401]), encoding="utf-8")
    return adult_bench


def explored(bench, **fields):
    bench.post("/explore/start", **{**FORM, **fields})
    job = bench.finish("explore")
    assert job.state == "done", job.error
    return job, json.loads((job.folder / "explored.json").read_text(encoding="utf-8"))


def picture_of(bench):
    found = re.search(r"<svg.*?</svg>", bench.html, re.DOTALL)
    assert found is not None
    return ET.fromstring(found[0])  # noqa: S314 # our own


def test_the_form_proposes_a_grid_that_fits_the_policy(adult_bench):
    adult_bench.get("/explore")
    ticked = re.findall(r'name="(\w+)" value="([\w-]+)" checked', adult_bench.html)
    assert ticked == [
        ("methods", "mondrian"),
        ("methods", "guided"),
        ("methods", "full-domain"),
        ("recodings", "ranges"),
        ("recodings", "level"),
    ]
    assert 'name="k" value="2, 5, 10, 20, 50"' in adult_bench.html
    assert 'name="vary-distinct-l-diversity.l" value="3"' in adult_bench.html
    assert 'name="suppression" value="0, 2"' in adult_bench.html


@pytest.mark.slow
def test_the_page_shows_what_explore_finds(small_bench):
    job, found = explored(small_bench)
    assert job.arguments["grid"] == GRID
    shown = small_bench.get("/explore")
    policy = small_bench.project.policy()
    wanted = explore(small_bench.project.table, policy, **GRID)

    assert [it["number"] for it in found["points"] if it["best"]] == [
        each.asked.number for each in wanted.frontier
    ]
    assert {it["number"]: (it["risk"], it["loss"]) for it in found["points"]} == {
        each.asked.number: wanted.place(each) for each in wanted.points
    }
    kept = wanted.n_tried - len(wanted.refused)
    assert f"Policies tried: {wanted.n_tried}. Can be kept: {kept}, " in shown
    assert f"as {len(wanted.points)} different releases." in shown
    assert "Measured on 300 rows drawn of 400 in" in shown
    assert f"{len(wanted.refused)} can't be kept" in shown
    assert next(iter(wanted.reasons)) in shown
    assert wanted.trials[1].sentence in shown
    assert small_bench.html.count("Open this policy</button>") == len(wanted.points)
    marks = picture_of(small_bench)
    assert len(list(marks.iter("circle"))) == len(wanted.points)
    assert len(list(marks.iter("a"))) == len(wanted.frontier)
    assert 'value="2, 5, 400"' in small_bench.html


@pytest.mark.slow
def test_a_point_opens_its_policy_as_a_version(small_bench):
    job, _ = explored(small_bench)
    before = small_bench.project.policy_text()
    wanted = explore(small_bench.project.table, small_bench.project.policy(), **GRID)
    point = wanted.points[-1]
    number = point.asked.number

    shown = small_bench.get(f"/explore?job={job.id}&point={number}")
    assert f"Policy {number}" in shown
    assert small_bench.project.policy_text() == before
    shown = small_bench.post("/explore/open", job=job.id, point=str(number))

    assert small_bench.path == "/protect"
    assert f"The policy file now has policy {number} of Explore." in shown
    assert "figures may differ" not in shown
    assert small_bench.project.policy() == point.asked.policy
    kept = [line for line in before.splitlines() if line.startswith("#")]
    assert set(kept) <= set(small_bench.project.policy_text().splitlines())
    assert "have changed since these were measured" not in small_bench.get("/explore")
    assert f"Undone: Open policy {number} of Explore." in small_bench.post("/explore/undo")
    assert small_bench.project.policy_text() == before

    with small_bench.project.editing("Change a column") as document:
        document["columns"]["age"]["role"] = "insensitive"
    assert "have changed since these were measured" in small_bench.get("/explore")
    assert "figures may differ" in small_bench.post("/explore/open", job=job.id, point=str(number))
    assert small_bench.project.policy().columns["age"].role == "insensitive"


@pytest.mark.slow
def test_points_are_drawn_as_they_come_and_open_when_it_has_ended(small_bench, monkeypatch):
    job, found = explored(small_bench)
    part = {**found, "points": found["points"][:3], "refused": [], "tried": 3, "trials": []}
    (job.folder / "explored.json").write_text(json.dumps(part), encoding="utf-8")
    running = replace(job, state="running", share=0.5, stage="exploring", remaining=4.0)
    monkeypatch.setattr(_explore, "_job_of", lambda *_: running)

    shown = small_bench.get("/explore")

    assert "Policies tried so far: 3. Can be kept: 3, as 3 different releases." in shown
    assert "exploring, about 4 seconds more" in shown
    assert '<section id="explored" data-poll="700"' in small_bench.html
    assert len(list(picture_of(small_bench).iter("circle"))) == 3
    assert list(picture_of(small_bench).iter("a")) == []
    assert "Open this policy" not in shown
    assert 'action="/explore/start"' not in small_bench.html


@pytest.mark.slow
def test_the_work_keeps_its_points_before_it_has_ended(small_bench, tmp_path):
    project, kept = small_bench.project, []
    file = tmp_path / "explored.json"

    def report(stage, _=None):
        if file.exists():
            kept.append((stage, len(json.loads(file.read_text(encoding="utf-8"))["points"])))

    result = _exploring.explore_policies(
        report,
        tmp_path,
        policy=project.policy_text(),
        table=str(project.table),
        project=str(project.folder),
        grid=GRID,
    )

    counts = [n for stage, n in kept if stage == "exploring"]
    assert counts == sorted(counts)
    assert any(0 < n < result["points"] for n in counts)


@pytest.mark.slow
def test_exploring_is_cancelled_and_the_policy_stays(adult_bench):
    before = adult_bench.project.policy_text()
    adult_bench.post("/explore/start", **{**FORM, "methods": ["mdav", "guided"], "rows": "2000"})
    job = adult_bench.desk.jobs.latest("explore")
    shown = adult_bench.post("/explore/cancel", job=job.id)

    assert adult_bench.desk.jobs.get(job.id).state == "cancelled"
    assert "Cancelled." in shown
    assert "Explore again" in shown
    assert adult_bench.project.policy_text() == before


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"k": "two"}, "The field for k wants numbers."),
        ({"k": ""}, "The field for k wants numbers."),
        ({"k": "2.5"}, "The values of k must be whole numbers."),
        ({"methods": []}, "Tick at least one method and one recoding."),
        ({"recodings": []}, "Tick at least one method and one recoding."),
        ({"suppression": "x"}, "The field for rows left out wants numbers."),
        ({"rows": ""}, "The field 'rows' wants a number."),
        ({"vary-distinct-l-diversity.l": "?"}, "wants numbers."),
    ],
)
def test_a_grid_that_cannot_be_is_refused_in_words(adult_bench, fields, words):
    assert words in adult_bench.post("/explore/start", **{**FORM, **fields})
    assert adult_bench.desk.jobs.all() == []


@pytest.mark.slow
def test_what_explore_refuses_is_shown_in_words(small_bench):
    small_bench.post("/explore/start", **{**FORM, "suppression": "200"})
    job = small_bench.finish("explore")
    assert job.state == "failed"
    assert job.error.what in small_bench.get("/explore")


def test_a_policy_that_isnt_there_opens_nothing(adult_bench):
    before = adult_bench.project.policy_text()
    shown = adult_bench.post("/explore/open", job="0" * 16, point="3")
    assert "This policy isn't there any more." in shown
    assert adult_bench.project.policy_text() == before


def test_a_policy_without_guarantees_has_nothing_to_vary(adult_bench):
    age = '[columns.age]\nrole = "insensitive"\nkind = "numeric"\n'
    text = f'halfmask = 1\n{age}mask = {{ name = "round", base = 5 }}\n'
    adult_bench.project.replace(text, "Only a mask")
    assert "There is no guarantee to vary" in adult_bench.get("/explore")
    assert "/explore/start" not in adult_bench.html


def test_only_what_a_grid_varies_is_written():
    text = """# first
[method] # how
name = "guided" # cut
split_targets = ["income"]
[[guarantees]] # one
model = "k-anonymity"
k = 10 # k
[[guarantees]]
model = "distinct-l-diversity"
l = 3
[columns.age]
role = "sensitive"
"""
    document = tomlkit.parse(text)
    guarantees = [
        {"model": "k-anonymity", "k": 5},
        {"model": "distinct-l-diversity", "l": 3},
    ]
    _exploring.write_sections(
        document, {"suppression": {"max_fraction": 0.02}, "guarantees": guarantees}
    )

    written = tomlkit.dumps(document)
    assert "k = 5 # k" in written
    assert "[[guarantees]] # one" in written
    assert tomllib.loads(written) == {
        "guarantees": guarantees,
        "columns": {"age": {"role": "sensitive"}},
        "suppression": {"max_fraction": 0.02},
    }

    _exploring.write_sections(document, {"method": {"name": "mdav"}, "guarantees": guarantees[:1]})
    assert tomllib.loads(tomlkit.dumps(document))["guarantees"] == guarantees[:1]


@pytest.mark.parametrize(
    "places",
    [
        [(1.0, 0.0)],
        [(0.0, 0.5), (1e-9, 0.5)],
        [(0.5, 40.0), (0.01, 90.0)],
        [(0.02, 3e-7), (0.5, 0.0)],
        [(0.3, 5.0), (0.3, 5.0)],
    ],
)
def test_every_point_lies_within_the_picture(places):
    points = [
        {"number": n, "risk": risk, "loss": loss, "best": True}
        for n, (risk, loss) in enumerate(places)
    ]
    drawn = _explore._picture(points)

    for point in drawn["points"]:
        assert 70 <= point["x"] <= 700
        assert 40 <= point["y"] <= 340
    assert all(70 <= x <= 700 for x, _ in drawn["across"])
    assert all(40 <= y <= 340 for y, _ in drawn["down"])
    assert len(drawn["across"]) > 1


@pytest.mark.slow
def test_an_opened_policy_has_no_limit_of_time_and_edited_files_are_noticed(small_bench):
    fields = {"methods": ["full-domain"], "recodings": ["level"], "k": "2", "suppression": "2"}
    job, found = explored(small_bench, **fields)
    point = next(it for it in found["points"] if it["method"] == "full-domain")
    small_bench.post("/explore/open", job=job.id, point=str(point["number"]))

    assert small_bench.project.policy().method.named == "full-domain"
    assert "seconds" not in small_bench.project.policy_text()
    assert "have changed since these were measured" not in small_bench.get("/explore")

    tree = small_bench.folder / "hierarchies" / "native-country.csv"
    os.utime(tree, ns=(1, 1))
    assert "have changed since these were measured" in small_bench.get("/explore")


def test_a_policy_of_tables_of_counts_has_nothing_to_vary(adult_bench):
    adult_bench.post("/protect/counts")
    assert "There is no guarantee to vary" in adult_bench.get("/explore")


def test_numbers_in_one_place_are_written_once():
    places = [(0.5, 0.4), (0.5, 0.4), (0.01, 0.9)]
    points = [
        {"number": n, "risk": risk, "loss": loss, "best": True}
        for n, (risk, loss) in enumerate(places)
    ]
    drawn = _explore._picture(points)

    assert [words for *_, words in drawn["labels"]] == ["0, 1", "2"]


@pytest.mark.slow
def test_what_was_found_stays_when_another_exploration_is_cancelled(small_bench):
    job, found = explored(small_bench)
    small_bench.post("/explore/start", **FORM)
    second = small_bench.desk.jobs.latest("explore")
    small_bench.desk.jobs.cancel(second.id)
    (second.folder / "explored.json").unlink(missing_ok=True)

    shown = small_bench.get("/explore")

    assert "These were found before." in shown
    assert f"as {len(found['points'])} different releases." in shown
    assert f'name="job" value="{job.id}"' in small_bench.html
