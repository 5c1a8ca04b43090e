"""Tables of counts on the page Protect: their policy, what is hidden and why, and the remedy."""

from __future__ import annotations

import re
import tomllib

import polars as pl
import pytest

import halfmask as hm
from halfmask.crosstabs import TablesPolicy
from halfmask.workbench.pages import _counts

PEOPLE = "policy.toml"


def policy_of(bench):
    return tomllib.loads(bench.project.policy_text())


def start(bench, *names, threshold="5"):
    bench.post("/protect/counts")
    change(bench, *names)
    return bench.post("/protect/counts-rules", **{"minimum-frequency-n": threshold})


def change(bench, *names, table="0", value=""):
    return bench.post("/protect/counts-table", dimension=list(names), table=table, value=value)


@pytest.fixture
def counting(adult_bench):
    """A workbench with a small table of counts in which cells are hidden."""
    start(adult_bench, "race", "sex", threshold="10")
    return adult_bench


def test_start_proposes_columns_of_few_values(adult_bench):
    said = adult_bench.post("/protect/counts")
    (table,) = policy_of(adult_bench)["tables"]
    assert len(table["dimensions"]) == 2
    assert adult_bench.project.policy_file.name == "tables.toml"
    assert "The policy of rows is kept" in said


def test_policy_of_people_is_kept_and_one_click_away(adult_bench):
    before = (adult_bench.folder / PEOPLE).read_bytes()
    start(adult_bench, "race", "sex")
    tables = (adult_bench.folder / "tables.toml").read_bytes()
    adult_bench.get("/protect")
    assert f"Go back to {PEOPLE}" in adult_bench.html
    adult_bench.post("/protect/counts-file", file=PEOPLE)
    assert adult_bench.project.policy_file.name == PEOPLE
    assert (adult_bench.folder / PEOPLE).read_bytes() == before
    adult_bench.post("/protect/counts")  # and forward again, to the same tables
    assert adult_bench.project.policy_file.name == "tables.toml"
    assert (adult_bench.folder / "tables.toml").read_bytes() == tables


def test_file_in_force_is_remembered(counting):
    again = type(counting)(counting.folder)
    assert again.project.policy_file.name == "tables.toml"
    assert again.project.table == counting.project.table


@pytest.mark.parametrize("file", ["../policy.toml", "absent.toml", "other.toml", ""])
def test_file_that_is_no_policy_of_the_folder_is_not_used(counting, file):
    (counting.folder / "other.toml").write_text("[tool]\n")
    counting.post("/protect/counts-file", file=file)
    assert counting.project.policy_file.name == "tables.toml"
    assert "Go back to other.toml" not in counting.html


def test_cells_are_those_of_the_release(counting):
    said = counting.get("/protect")
    release = hm.protect(counting.project.table, counting.project.any_policy())
    (table,) = release.facts.tables
    sensitive = int(table.published.sensitivity.is_sensitive[table.cells].sum())
    hidden = int(table.hidden.sum())
    assert 0 < sensitive < hidden
    assert f"{hidden} of {len(table.cells)} cells are hidden: {sensitive} sensitive" in said
    assert f"and {hidden - sensitive} that guard them" in said
    assert f"Too few contributors: {sensitive}." in said
    assert counting.html.count("too few contributors</small>") == sensitive
    assert counting.html.count("guards</small>") == hidden - sensitive
    total = release.data.filter((pl.col("race") == "Total") & (pl.col("sex") == "Total"))
    assert f">{total['value'].item():,}</td>" in counting.html


def test_hidden_values_are_not_on_the_page_of_a_release(counting):
    counting.get("/protect")
    gone = re.findall(r'<td class="num (?:gone|changed)">(.*?)</td>', counting.html)
    assert gone
    assert all(it.startswith("x ") for it in gone)


def test_threshold_is_a_version_of_the_file(counting):
    rule = {"minimum-frequency-n": "2", "owner": ""}
    counting.post("/protect/counts-rules", **rule)
    assert policy_of(counting)["rules"] == [{"rule": "minimum-frequency", "n": 2}]
    counting.post("/protect/undo")
    assert policy_of(counting)["rules"] == [{"rule": "minimum-frequency", "n": 10}]


def test_rules_of_the_file_that_the_form_lacks_stay(counting):
    with counting.project.editing("Zeros, and rows") as document:
        document["zeros"] = "suppressible"
        document["rules"][0]["of"] = "rows"
        document["rules"].append({"rule": "zeros"})
    counting.post("/protect/counts-rules", **{"minimum-frequency-n": "3", "owner": "fnlwgt"})
    assert policy_of(counting)["owner"] == "fnlwgt"
    rules = {it.pop("rule"): it for it in policy_of(counting)["rules"]}
    assert rules == {"minimum-frequency": {"n": 3, "of": "rows"}, "zeros": {}}
    assert "zeros" in counting.html


def test_sums_get_rules_about_contributions(counting):
    said = change(counting, "race", "sex", value="hours-per-week")
    assert "Sums of hours-per-week" in said
    assert policy_of(counting)["rules"][0]["margin"] == 10.0
    more = {"minimum-frequency-n": "10", "minimum-frequency-margin": "20", "p-percent-p": "15"}
    counting.post("/protect/counts-rules", **more, **{"dominance-n": "2", "dominance-k": "85"})
    assert policy_of(counting)["rules"] == [
        {"rule": "minimum-frequency", "n": 10, "margin": 20.0},
        {"rule": "p-percent", "p": 15.0},
        {"rule": "dominance", "n": 2, "k": 85.0},
    ]


def test_numbers_of_a_rule_are_sent_together_and_named_as_on_the_page(counting):
    change(counting, "race", "sex", value="hours-per-week")
    form = counting.html.partition('id="count-rules"')[2].partition(">")[0]
    assert "data-live" not in form
    rule = {"minimum-frequency-n": "10", "dominance-n": "2", "dominance-k": "abc"}
    said = counting.post("/protect/counts-rules", **rule)
    assert "The percent of the largest must be a number" in said
    assert "dominance" not in counting.project.policy_text()


def test_columns_of_many_values_are_named(counting, monkeypatch):
    monkeypatch.setattr(_counts, "_MOST_VALUES", 30)
    assert "more than 30 values aren't offered: age, fnlwgt" in counting.get("/protect")


def test_tables_are_added_and_left_out(counting):
    change(counting, "sex", "income", table="1")
    assert [it["name"] for it in policy_of(counting)["tables"]] == ["counts", "table-1"]
    assert "table-1: Counts" in counting.get("/protect")
    counting.post("/protect/counts-drop", table="0")
    assert [it["name"] for it in policy_of(counting)["tables"]] == ["table-1"]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ((), "crosses 1 to 4 columns"),
        (("age", "race", "sex", "income", "split"), "crosses 1 to 4 columns"),
    ],
)
def test_table_of_no_or_many_columns_is_refused_in_words(counting, names, words):
    before = counting.project.policy_text()
    assert words in change(counting, *names)
    assert counting.project.policy_text() == before


def test_missing_cells_have_a_code(adult_bench):
    start(adult_bench, "sex", "income")
    table = adult_bench.project.table_file
    table.write_text(table.read_text().replace("Male", "", 5))
    assert "(missing)" in adult_bench.get("/protect")


def test_rule_that_hides_all_is_said_in_words(counting):
    said = counting.post("/protect/counts-rules", **{"minimum-frequency-n": "100000"})
    assert "nothing would be published" in said.lower()
    assert "What is sensitive" in said  # the way out is on the same page


def test_large_tables_are_a_job_with_a_remedy(counting, monkeypatch):
    monkeypatch.setattr(_counts, "_LIVE_CELLS", 1)
    assert "Make them" in change(counting, "race", "sex", "split")
    said = counting.post("/protect/counts-make")
    assert "Starting" in said or "cells are hidden" in said or "Cancel" in said
    job = counting.finish("counts")
    assert job.state == "done", job.error
    said = counting.get("/protect")
    assert "What hides fewer cells" in said
    best = job.result["remedies"][0]
    assert f"Leave {best['column']} out {best['hidden']} of {best['cells']} cells" in said
    monkeypatch.undo()
    counting.post("/protect/counts-leave-out", column=best["column"])
    (table,) = policy_of(counting)["tables"]
    assert best["column"] not in table["dimensions"]
    assert f"{best['hidden']} of {best['cells']} cells are hidden" in counting.get("/protect")


def test_result_of_an_older_policy_is_not_shown(counting, monkeypatch):
    counting.post("/protect/counts-make")
    counting.finish("counts")
    monkeypatch.setattr(_counts, "_LIVE_CELLS", 1)
    assert "cells are hidden:" in counting.get("/protect")
    with counting.project.editing("Another threshold") as document:
        document["rules"][0]["n"] = 3
    said = counting.get("/protect")
    assert "cells are hidden:" not in said
    assert "Make them" in said


def test_private_counts_are_not_drawn_for_a_preview(counting):
    counting.project.replace(
        'halfmask-tables = 1\n[dimensions.sex]\ncodes = ["Female", "Male"]\n'
        '[[tables]]\nname = "counts"\ndimensions = ["sex"]\n'
        '[protection]\nmethod = "differential-privacy"\nepsilon = 1.0\n',
        "Noise",
    )
    assert "There is nothing to preview" in counting.get("/protect")


def test_other_protections_show_what_would_be_published(counting):
    with counting.project.editing("Rounding") as document:
        document.pop("rules")
        document["protection"] = {"method": "rounding", "base": 5}
    said = counting.get("/protect")
    assert "Cells are protected by rounding" in said
    cells = re.findall(r'<td class="num">([\d,]+)</td>', counting.html)
    assert cells
    assert all(int(it.replace(",", "")) % 5 == 0 for it in cells)


HOSTILE = ["<img src=x onerror=alert(1)>", "a{{7*7}}", "b\u202ec", 'q"uo']


def test_hostile_columns_and_cells_stay_text(bench):
    table = bench.folder / "canary.csv"
    pl.DataFrame({name: [f"{it} too" for it in HOSTILE] * 9 for name in HOSTILE}).write_csv(table)
    bench = type(bench)(bench.folder, table=str(table))
    with pytest.raises(hm.PolicyError):
        bench.project.use(PEOPLE)
    text = 'halfmask-tables = 1\n[[tables]]\nname = "<img src=y>"\ndimensions = []\n'
    bench.project.use("tables.toml", text + '[[rules]]\nrule = "minimum-frequency"\nn = 12\n')
    change(bench, *HOSTILE[:2])
    htmls = [bench.html]
    change(bench, *HOSTILE[2:], table="1")
    htmls.append(bench.html)
    assert "&lt;img" in htmls[0]
    assert "a{{7*7}} too" in bench.html
    for html in htmls:
        assert "<img" not in html
        assert "a49" not in html
        assert "\u202e" not in re.sub(r'"[^"]*"', "", html)
    assert bench.path == "/protect"


def test_policy_is_one_of_the_command_line(counting):
    text = counting.project.policy_text()
    assert TablesPolicy.from_toml(text).tables[0].dimensions == ("race", "sex")


def test_every_control_has_a_name_and_an_id(counting):
    change(counting, "race", "sex", value="hours-per-week")
    for control in re.findall(r"<(?:input|select|textarea|button)\b[^>]*>", counting.html):
        if 'type="hidden"' in control or control in ("<button>", "<button disabled>"):
            continue
        found = re.search(r'id="([^"]+)"', control)
        assert found, control
        named = f'for="{found[1]}"' in counting.html or "aria-label" in control
        assert named or control.startswith("<button"), control
    ids = re.findall(r'\bid="([^"]+)"', counting.html)
    assert len(ids) == len(set(ids))


def test_tables_are_released_and_verified(counting):
    counting.post("/release/make", name="counts-1")
    job = counting.finish("release")
    assert job.state == "done", job.error
    assert hm.verify(counting.folder / "counts-1", originals=counting.project.table).holds
    assert "counts-1" in counting.get("/release")


def test_rules_are_applied_together_and_not_field_by_field(adult_bench):
    adult_bench.post("/protect/counts")
    adult_bench.get("/protect")
    (form,) = re.findall(r'<form[^>]*id="count-rules"[^>]*>', adult_bench.html)
    assert "data-live" not in form
    assert "Apply these rules" in adult_bench.html
