"""The page Compare: cells before and after, columns, rows at risk; hostile cells stay texts."""

from __future__ import annotations

import re

import pytest

from halfmask.workbench.pages._compare import _cell
from workbench import candidates  # type: ignore[import-not-found] # not in a package
from workbench.conftest import Bench  # type: ignore[import-not-found] # as above

pytestmark = pytest.mark.slow

CLASSES = candidates.NUMBERED + candidates.CLASSES


@pytest.fixture
def compared(tmp_path):
    """Return a function that makes a workbench with a candidate by a policy."""

    def made(policy):
        bench = Bench(tmp_path, str(candidates.lay_out(tmp_path, policy)))
        candidates.make_here(bench)
        return bench

    return made


def test_without_a_candidate_the_page_offers_to_make_one(tmp_path):
    bench = Bench(tmp_path, str(candidates.lay_out(tmp_path, candidates.MASKED)))
    assert "There is no candidate yet" in bench.get("/compare")
    bench.post("/compare/make")
    assert bench.path == "/compare"
    assert "Make it" not in bench.get("/compare") or bench.finish("candidate").state == "done"
    assert bench.desk.jobs.wait(bench.desk.jobs.latest("candidate").id, 300).state == "done"
    assert "Rows 1 to 20 of 300" in bench.get("/compare")


def test_a_candidate_that_fails_says_why_and_can_be_made_again(tmp_path):
    impossible = CLASSES.replace("k = 5", "k = 301")
    bench = Bench(tmp_path, str(candidates.lay_out(tmp_path, impossible)))
    bench.post("/compare/make")
    job = bench.desk.jobs.wait(bench.desk.jobs.latest("candidate").id, 300)
    words = bench.get("/compare")
    assert job.state == "failed"
    assert str(job.error.what) in words
    assert "Make it" in words


def test_changed_cells_are_marked_and_named(compared):
    bench = compared(candidates.MASKED)
    bench.get("/compare")
    first = candidates.matched(r"<tbody>\s*(<tr.*?</tr>\s*<tr.*?</tr>)", bench.html)
    assert first.count("<small>changed</small>") == first.count('<td class="changed">') == 1
    assert "<td>20</td>" in first  # 20 stays 20
    assert "<del>28</del> <ins>30</ins>" in first


def test_rows_are_paged(compared):
    bench = compared(candidates.MASKED)
    words = bench.get("/compare?from=290")
    assert "Rows 281 to 300 of 300" in words
    assert "Later rows" not in words
    assert "1298" in words  # pictures name the first and last of all rows
    assert "1001" not in words
    for asked in ("-1", "x", "99999", "1e9"):
        assert "of 300" in bench.get(f"/compare?from={asked}")


def test_rows_at_risk_are_named_by_number_with_what_singles_them_out(compared):
    bench = compared(CLASSES)
    words = bench.get("/compare")
    assert "Listed are the first 50 of them." in words
    number = int(candidates.matched(r'href="/compare\?row=(\d+)#row-\1"', bench.html))
    bench.get(f"/compare?row={number}")
    (marked,) = re.findall(r'<tr id="row-(\d+)" aria-current="true">', bench.html)
    assert int(marked) == number
    assert "300 of 300 released rows are unique over all 4 released columns" in words
    listed = re.findall(r"(\d+) 1 (\d+) number ", words.partition("singled out by")[2])
    assert len(listed) == 50
    assert [int(of_class) for _, of_class in listed] == sorted(int(it) for _, it in listed)
    assert len({row for row, _ in listed}) == 50


def test_where_no_row_is_unique_the_smallest_groups_are_listed(compared):
    policy = candidates.COLUMNS + candidates.CLASSES.replace("k = 5", "k = 60")
    words = compared(policy).get("/compare").partition("Rows at risk")[2]
    assert "No released row is unique over all 3 released columns." in words
    assert "number" not in words


def test_columns_are_pictured_most_lost_first(compared):
    bench = compared(CLASSES)
    bench.get("/compare")
    kept = [float(it) for it in re.findall(r'<meter[^>]* value="([\d.]+)"', bench.html)]
    assert kept == sorted(kept)
    assert len(kept) == 2
    assert bench.html.count('<svg class="chart"') == 2


def test_all_columns_of_masks_are_named_and_what_a_mask_cuts_off_shows(compared):
    tails = 'mask = { name = "tails", high = 50 }'
    policy = candidates.MASKED.replace('mask = { name = "round", base = 10 }', tails)
    bench = compared(policy)
    bench.get("/compare")
    shown = bench.html.partition('aria-labelledby="columns"')[2]
    assert candidates.matched(r"<h3>(.*?)</h3>", shown) == "age"
    assert len(re.findall(r"<h3>", shown)) == 4
    moved = float(candidates.matched(r"([\d.]+)% of the rows would have to change", shown))
    beyond = (candidates.people()["age"] > 51).mean()
    assert moved >= 100 * beyond - 10


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        (candidates.SYNTHETIC, "no released row is the row of a person"),
        (candidates.PRIVATE, "Private rows are a random sample"),
        (candidates.TABLES, "Tables have cells"),
    ],
)
def test_kinds_without_links_show_no_rows(compared, policy, why):
    bench = compared(policy)
    words = bench.get("/compare")
    assert why in words
    assert "<del>" not in bench.html
    assert "Rows at risk" not in words


def test_a_stale_candidate_is_not_shown(compared):
    bench = compared(candidates.MASKED)
    with bench.project.editing("More rounding") as document:
        document["columns"]["age"]["mask"]["base"] = 20
    words = bench.get("/compare")
    assert "The candidate is out of date" in words
    assert "Make it again" in words
    assert "<del>" not in bench.html


@pytest.mark.parametrize("policy", [CLASSES, candidates.SYNTHETIC])
def test_hostile_cells_stay_texts(compared, policy):
    bench = compared(policy)
    bench.get("/compare")
    assert "&lt;img src=x" in bench.html
    assert "<img" not in bench.html
    assert "\u202e" not in bench.html
    assert "49}" not in bench.html
    assert "{{7*7}}" in bench.html or policy == candidates.SYNTHETIC
    assert "style=" not in bench.html
    assert "<style" not in bench.html
    assert not re.search(r"<title>[^<]*(Lyon|img)", bench.html.partition("</head>")[0])


def test_a_hostile_column_stays_a_text(tmp_path):
    name = '<img src=x onerror=alert("1")>{{7*7}}'
    quoted = "'" + name + "'"
    policy = candidates.MASKED.replace("town =", f"{quoted} =")
    rows = candidates.people().rename({"town": name})
    bench = Bench(tmp_path, str(candidates.lay_out(tmp_path, policy, rows)))
    candidates.make_here(bench)
    for page in ("/compare", "/attack"):
        bench.get(page)
        assert "<img" not in bench.html
        assert "49" not in bench.html.partition("</thead>")[0].partition("<thead>")[2]


def test_a_cell_is_changed_if_it_reads_otherwise():
    assert _cell(39, 39.0)[2] is False
    assert _cell(39, "39")[2] is False
    assert _cell(None, "*") == ("missing", "*", True)
    assert _cell(39, "[35, 40]")[2] is True
