"""The page Protect: the policy as controls, kinds of release, and remedies by one click."""

from __future__ import annotations

import re
import tomllib

import polars as pl
import pytest

import halfmask as hm
from halfmask.guarantees import GUARANTEES
from halfmask.microdata import Policy
from halfmask.workbench._release_kinds import KINDS

TINY = """
halfmask = 1
[columns]
name = { role = "identifier" }
age = { role = "quasi_identifier", kind = "numeric" }
pay = { role = "sensitive", kind = "numeric", mask = { name = "round", base = 100 } }
"""


def _attributes(bench, pattern):
    found = re.search(pattern, bench.html)
    assert found is not None
    return found.groups()


@pytest.fixture
def small(bench):
    """A workbench with a table of 3,000 people and a policy of masks."""
    table = bench.folder / "people.csv"
    rows = [f"p{n},{20 + n % 4},{1_000 + 50 * (n % 4)}" for n in range(3_000)]
    table.write_text("\n".join(["name,age,pay", *rows]), encoding="utf-8")
    bench.project.open(str(table))
    bench.project.policy_file.write_text(TINY, encoding="utf-8")
    return bench


def test_a_slider_writes_the_policy_and_says_what_it_means(adult_bench):
    assert "at least 9 others" in adult_bench.get("/protect")

    words = adult_bench.post("/protect/guarantee", number="0", k=["25", "10"])

    assert adult_bench.project.policy().guarantees()[0].k == 25
    assert "at least 24 others" in words
    assert 'aria-live="polite">Every row shares' in adult_bench.html
    assert "Undone: k-anonymity: k = 25." in adult_bench.post("/protect/undo")
    assert adult_bench.project.policy().guarantees()[0].k == 10


@pytest.mark.parametrize(("posted", "k"), [(["10", "500"], 500), (["30", "10"], 30)])
def test_of_slider_and_number_the_one_that_was_changed_counts(adult_bench, posted, k):
    adult_bench.post("/protect/guarantee", number="0", k=posted)

    assert adult_bench.project.policy().guarantees()[0].k == k


def test_a_slider_that_stands_on_a_step_changes_no_exact_number(adult_bench):
    adult_bench.post("/protect/add", model="t-closeness", column="occupation")
    adult_bench.post("/protect/guarantee", number="2", t=["0.3", "0.1234"])
    stands, exact = _attributes(
        adult_bench, r'id="g2-t".*?value="([^"]+)"[\s\S]*?id="g2-t-exact".*?value="([^"]+)"'
    )
    assert (stands, exact) == ("0.12", "0.1234")

    adult_bench.post("/protect/guarantee", number="2", t=[stands, exact], distance="ordered")

    assert adult_bench.project.policy().guarantee_sections[2].t == pytest.approx(0.1234)


def test_a_number_that_cannot_be_is_refused_in_words_and_nothing_is_written(adult_bench):
    before = adult_bench.project.policy_text()

    words = adult_bench.post("/protect/guarantee", number="0", k=["10", "1"])
    assert "k must be at least 2" in words
    assert "wants a number" in adult_bench.post("/protect/guarantee", number="0", k=["10", "many"])
    assert "no such guarantee" in adult_bench.post("/protect/guarantee", number="7", k=["10", "9"])

    assert adult_bench.project.policy_text() == before


def test_a_form_of_another_version_is_refused(adult_bench):
    old = adult_bench.project.stamp
    adult_bench.post("/protect/remove", number="0")

    words = adult_bench.post("/protect/guarantee", version=old, number="0", l=["5", "3"])

    assert "has changed since the page was opened" in words
    assert adult_bench.project.policy().guarantee_sections[0].l == 3


@pytest.mark.parametrize("model", GUARANTEES)
def test_every_model_can_be_added_changed_and_removed(adult_bench, model):
    before = adult_bench.project.policy()

    words = adult_bench.post("/protect/add", model=model, column="occupation")

    added = adult_bench.project.policy().guarantee_sections[-1]
    assert added.named == model
    assert f'id="g2-title">{model}' in adult_bench.html
    assert "{" not in words
    adult_bench.post("/protect/remove", number="2")
    assert adult_bench.project.policy() == before


def test_a_guarantee_of_a_sensitive_column_says_where_to_make_one(small):
    small.post("/protect/kind", kind="classes")
    small.project.replace(small.project.policy_text().replace('"sensitive"', '"insensitive"'), "x")

    words = small.post("/protect/add", model="distinct-l-diversity")

    assert "Give a column the role 'sensitive' on the page Columns." in words
    assert "choose that role on the page Columns" in words


def test_methods_and_limits_are_written_as_the_file_has_them(adult_bench):
    adult_bench.post("/protect/section", section="method", name="mondrian", whole="1")
    adult_bench.post("/protect/section", section="method", name="mondrian", whole="1")
    assert adult_bench.project.policy().method.strict is False
    adult_bench.post("/protect/section", section="suppression", max_fraction=["0.02", "0.0"])
    adult_bench.post("/protect/section", section="method", name="full-domain", whole="1")

    policy = adult_bench.project.policy()
    assert policy.suppression.max_fraction == pytest.approx(0.02)
    assert (policy.method.name, policy.recoding.name) == ("full-domain", "level")
    assert "Policy" in repr(Policy.from_toml(adult_bench.project.policy_text(), folder="."))


def test_targets_are_boxes_and_an_empty_parameter_goes(adult_bench):
    adult_bench.post("/protect/section", section="method", name="guided", whole="1")
    stated = tomllib.loads(adult_bench.project.policy_text())["method"]
    assert stated["split_targets"] == []  # the label is predicted

    adult_bench.post("/protect/section", section="recoding", name="ranges", step="5", whole="1")
    assert adult_bench.project.policy().recoding.step == 5
    adult_bench.post("/protect/section", section="recoding", name="ranges", step="", whole="1")
    assert adult_bench.project.policy().recoding.step is None


@pytest.mark.parametrize("kind", [it.name for it in KINDS])
def test_each_kind_becomes_a_policy_of_it_and_undo_brings_back_all(small, kind):
    before = small.project.policy_text()
    wanted = next(it for it in KINDS if it.name == kind)

    words = small.post("/protect/kind", kind=kind)

    assert small.project.policy().kind == wanted.kind
    assert f"The release has {wanted.title.lower()} now." in words
    assert f'value="{kind}" checked' in small.html
    assert list(small.project.policy().columns) == ["name", "age", "pay"]
    small.project.undo()
    assert small.project.policy_text() == before


@pytest.mark.parametrize("kind", [it.name for it in KINDS])
@pytest.mark.parametrize("second", ["classes", "synthetic", "private"])
def test_a_kind_can_be_chosen_after_any_other(adult_bench, kind, second):
    if kind == "masks":
        words = adult_bench.post("/protect/kind", kind=kind)
        assert "No column has a mask" in words
        assert "Choose masks on the page Columns" in words
        return
    adult_bench.post("/protect/kind", kind=kind)
    adult_bench.post("/protect/kind", kind=second)

    wanted = next(it for it in KINDS if it.name == second)
    assert adult_bench.project.policy().kind == wanted.kind


def test_what_a_kind_leaves_out_is_said(adult_bench):
    words = adult_bench.post("/protect/kind", kind="synthetic")

    assert "hierarchy (3)" in words
    assert "Undo brings it back." in words


@pytest.mark.slow
def test_what_is_shown_is_what_a_release_of_the_same_rows_has(adult_bench):
    project = adult_bench.project
    project.replace(project.policy_text().replace("label = true", ""), "No model is trained")
    words = adult_bench.get("/protect")
    release = hm.protect(project.rows(), project.policy(), key=bytes(32))

    risk, kept = release.risk, release.utility.detail
    every = risk.columns.every
    assert "Measured on all 2,000 rows" in words
    assert f"Largest prosecutor risk {risk.after.prosecutor.highest.value:.1%}" in words
    assert f"Average prosecutor risk {risk.after.prosecutor.average.value:.1%}" in words
    assert f"over all released columns {every.unique / every.rows:.1%}" in words
    assert f"All quasi-identifiers {kept.average:.1%}" in words
    for name, share in kept.columns.items():
        assert f"{name} {share:.1%}" in words


def test_what_costs_most_is_mended_by_one_click(adult_bench):
    assert "Drop " not in adult_bench.get("/protect")
    words = adult_bench.post("/protect/costs")
    (gained,) = re.findall(r"Lower k of k-anonymity to 5 detail [\d.]+% -> ([\d.]+%)", words)
    name = re.findall(r"Drop ([\w-]+) the other columns keep", words)[0]

    words = adult_bench.post("/protect/guarantee", number="0", k="5")
    assert f"All quasi-identifiers {gained}" in words
    words = adult_bench.post("/protect/role", column=name, role="identifier")
    assert adult_bench.project.policy().columns[name].role == "identifier"
    assert f"Detail kept of {name}" not in adult_bench.html


def test_a_guarantee_that_cannot_be_met_offers_the_nearest(adult_bench):
    values = adult_bench.project.rows()["occupation"].n_unique()
    words = adult_bench.post("/protect/guarantee", number="1", l=["3", "50"])
    assert "No release can be made by this policy" in words
    assert f"reaches {values}" in words
    assert "The guarantee distinct-l-diversity of occupation can't be met" in words
    assert "DistinctLDiversity" not in words
    assert f"Ask for l = {values}" in words

    words = adult_bench.post("/protect/guarantee", number="1", l=str(values))

    assert "What the release keeps" in words
    assert "No release" not in words


def test_masks_show_the_cells_that_they_change(small):
    words = small.get("/protect")
    table = pl.read_csv(small.project.table)
    changed = table.filter(pl.col("pay") % 100 != 0).height / table.height

    assert f"pay {changed:.1%}" in words
    assert 0 < changed < 1
    assert "3,000 of 3,000 rows; 3,000 of them are released" in words


def test_a_policy_that_others_broke_says_where_and_can_be_undone(adult_bench):
    adult_bench.get("/protect")
    good = adult_bench.project.policy_text()
    adult_bench.project.policy_file.write_text(good + "\n[method\n", encoding="utf-8")

    words = adult_bench.get("/protect", status=422)

    assert f"isn't valid TOML at line {good.count(chr(10)) + 2}" in words
    assert "Undo" in words
    adult_bench.post("/protect/undo")
    assert adult_bench.project.policy_text() == good


def test_a_table_that_the_policy_does_not_fit_is_said_on_the_page(adult_bench):
    text = adult_bench.project.policy_text()
    adult_bench.project.replace(text.replace("[columns.race]", "[columns.rase]"), "x")

    words = adult_bench.get("/protect")

    assert "No release can be made by this policy" in words
    assert "race" in words


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["synthetic", "private"])
def test_a_trial_runs_as_a_job(small, kind):
    small.post("/protect/kind", kind=kind)
    small.post("/protect/trial")
    job = small.finish("trial")
    assert job.state == "done", job.error

    words = small.get("/protect")

    assert "rows were made of 3,000" in words
    assert "of an earlier version" not in words
    small.post("/protect/kind", kind="classes")
    small.post("/protect/kind", kind=kind if kind == "private" else "private")
    words = small.get("/protect")
    assert "of an earlier version" not in words  # a trial of another kind says nothing
    assert ("rows were made of 3,000" in words) is (kind == "private")


def test_names_of_columns_are_text_and_ids_are_single(bench):
    name = '<img onerror="x">{{7*7}}'
    table = pl.DataFrame({name: range(40), "b": ["x", "y"] * 20})
    table.write_parquet(bench.folder / "t.parquet")
    policy = f"""halfmask = 1
[columns.'{name}']
role = "quasi_identifier"
kind = "numeric"
[columns.b]
role = "sensitive"
kind = "categorical"
[[guarantees]]
model = "k-anonymity"
k = 3
"""
    bench.project.policy_file.write_text(policy, encoding="utf-8")
    bench.project.open(str(bench.folder / "t.parquet"))

    words = bench.get("/protect")

    assert name in words
    assert "<img" not in bench.html
    ids = re.findall(r'\sid="([^"]+)"', bench.html)
    assert len(ids) == len(set(ids))
    for each in re.findall(r'<label for="([^"]+)"', bench.html):
        assert each in ids
    for each in re.findall(r'aria-(?:describedby|labelledby)="([^"]+)"', bench.html):
        assert each in ids
    for control in re.findall(r"<(?:button|select|textarea|input)[^>]*>", bench.html):
        assert 'type="hidden"' in control or " id=" in control or "noscript" in bench.html


def test_columns_that_no_guarantee_covers_are_named_and_mended(adult_bench):
    with adult_bench.project.editing("x") as document:
        document["columns"]["fnlwgt"] = {"role": "sensitive", "kind": "numeric"}

    words = adult_bench.get("/protect")

    assert "What no guarantee covers" in words
    assert "fnlwgt : no guarantee is about this sensitive column." in words
    assert "an attacker who has learnt it finds the person" in words
    words = adult_bench.post("/protect/add", model="distinct-l-diversity", column="fnlwgt")
    assert "fnlwgt : no guarantee" not in words
    assert "fnlwgt . " in words  # it is still nearly a name
    words = adult_bench.post("/protect/role", column="fnlwgt", role="quasi_identifier")
    assert adult_bench.path == "/protect"
    assert "Removed with it: the guarantee distinct-l-diversity" in words
    assert adult_bench.project.policy().columns["fnlwgt"].role == "quasi_identifier"
    assert "What no guarantee covers" not in words


def test_levels_are_shown_where_all_rows_have_the_same(adult_bench):
    assert not re.search(r" level \d", adult_bench.get("/protect"))

    words = adult_bench.post("/protect/section", section="method", name="full-domain", whole="1")

    assert re.search(r"native-country [\d.]+% [\d.]+% level \d of \d", words)


def test_rows_of_the_same_people_are_noticed_and_counted_once(bench):
    table = bench.folder / "visits.csv"
    rows = [f"p{n % 1_000},{20 + n % 40},{'ab'[n % 2]}" for n in range(3_000)]
    table.write_text("\n".join(["patient_id,age,ill", *rows]), encoding="utf-8")
    bench.project.open(str(table))
    bench.project.policy_file.write_text(
        """halfmask = 1
[columns]
patient_id = { role = "identifier" }
age = { role = "quasi_identifier", kind = "numeric" }
ill = { role = "sensitive", kind = "categorical" }
[[guarantees]]
model = "k-anonymity"
k = 3
""",
        encoding="utf-8",
    )

    words = bench.get("/protect")
    assert "patient_id has 1,000 values on 3,000 rows, and guarantees count rows." in words

    words = bench.post("/protect/person", column="patient_id")
    assert bench.project.policy().person == "patient_id"
    assert "guarantees count rows" not in words


def test_a_look_at_other_kinds_loses_nothing(adult_bench):
    adult_bench.post("/protect/guarantee", number="0", k=["10", "50"])
    before = adult_bench.project.policy_text()
    for kind in ("synthetic", "private"):
        adult_bench.post("/protect/kind", kind=kind)

    words = adult_bench.post("/protect/kind", kind="classes")

    assert "as it was before other kinds were looked at" in words
    assert adult_bench.project.policy_text() == before
    adult_bench.post("/protect/undo")
    assert adult_bench.project.policy().kind == "private-microdata"
