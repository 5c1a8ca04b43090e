"""What a policy does to a sample: the numbers of a release, kept until something changes."""

from __future__ import annotations

import os
import threading

import polars as pl
import pytest

import halfmask as hm
from halfmask.microdata.exploring.preview import PreviewTable, changed_cells
from halfmask.workbench import _estimate
from halfmask.workbench._estimate import Estimates
from halfmask.workbench._warming import Warming, preview_little

K, L = {"model": "k-anonymity", "k": 10}, {"model": "distinct-l-diversity", "column": "occupation"}


@pytest.fixture
def adult(adult_bench):
    return adult_bench.project


def _of(found):
    """Return what was measured."""
    assert found.preview is not None, found.failure
    return found.preview


def _preview(project, policy):
    return PreviewTable.of(project.rows(), policy).preview(policy)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mondrian", "guided", "full-domain"])
def test_a_preview_has_the_numbers_of_a_release_of_the_same_rows(adult, monkeypatch, method):
    monkeypatch.setattr(_estimate, "ROWS", 700)
    with adult.editing("x") as document:
        document["method"] = {"name": method}
        document["suppression"]["max_fraction"] = 0.05
        del document["columns"]["income"]["label"]  # no model is trained
        if method == "guided":
            document["method"]["split_targets"] = ["income"]
        if method == "full-domain":
            document["recoding"] = {"name": "level"}

    found = Estimates(adult).estimate()

    release = hm.protect(adult.sample(700), adult.policy(), key=bytes(32))
    it, risk = _of(found), release.risk
    assert (found.rows, found.whole) == (700, 2_000)
    assert it.suppressed == release.rows["suppressed"] > 0
    assert it.smallest == risk.after_sizes.min()
    assert it.classes == len(risk.after_sizes)
    assert it.highest == risk.after.prosecutor.highest.value
    assert it.average == risk.after.prosecutor.average.value
    assert it.unique == risk.columns.every.unique / risk.columns.every.rows
    assert it.kept == pytest.approx(release.utility.detail.average)
    assert it.detail == dict(release.utility.detail.columns)


def test_a_column_is_left_out_as_if_it_were_dropped(adult):
    policy = adult.policy()
    table = PreviewTable.of(adult.rows(), policy)

    found = table.without_each_column(policy)

    assert set(found) == set(policy.schema().quasi_identifiers)
    for name in ("age", "education", "native-country"):
        columns = policy.model_dump(mode="json", exclude_defaults=True)["columns"]
        dropped = policy.changed(columns={**columns, name: {"role": "identifier"}})
        alone = _preview(adult, dropped)
        assert (found[name].kept, found[name].detail) == (alone.kept, alone.detail)
        assert found[name].suppressed == alone.suppressed


@pytest.mark.parametrize(
    ("guarantees", "parameter"),
    [
        ([{**K, "k": 5_000}], "k"),
        ([K, {**L, "l": 90}], "l"),
        ([{"model": "entropy-l-diversity", "l": 80.0, "column": "occupation"}], "l"),
        ([{"model": "recursive-cl-diversity", "l": 3, "c": 0.01, "column": "occupation"}], "c"),
    ],
)
def test_the_nearest_that_is_met_is_met_and_the_next_is_not(adult, guarantees, parameter):
    policy = adult.policy().changed(guarantees=guarantees)
    table = PreviewTable.of(adult.rows(), policy)

    found = table.nearest(policy)

    assert found is not None
    assert (found.number, found.parameter) == (len(guarantees) - 1, parameter)
    for value, is_met in ((found.value, True), (_next(found.value, parameter), False)):
        changed = [*guarantees[:-1], {**guarantees[-1], parameter: value}]
        if is_met:
            table.preview(policy.changed(guarantees=changed))
        else:
            with pytest.raises(hm.GuaranteeNotMetError):
                table.preview(policy.changed(guarantees=changed))


def _next(value, parameter):
    return (
        value + 1 if isinstance(value, int) else value - 0.01 if parameter == "c" else value + 0.01
    )


def test_nothing_is_nearest_where_all_is_met(adult):
    policy = adult.policy()

    assert PreviewTable.of(adult.rows(), policy).nearest(policy) is None


def test_what_was_measured_is_kept_until_policy_table_or_hierarchy_change(adult):
    estimates = Estimates(adult)
    first = estimates.estimate()
    assert estimates.estimate() is first

    with adult.editing("x") as document:
        document["guarantees"][0]["k"] = 20
    second = estimates.estimate()
    assert _of(second).smallest >= 20 > _of(first).smallest

    tree = adult.folder / "hierarchies" / "native-country.csv"
    os.utime(tree, ns=(1, 1))
    third = estimates.estimate()
    assert third is not second
    assert third == second

    lines = adult.table_file.read_text(encoding="utf-8").splitlines()[:1_001]
    adult.table_file.write_text("\n".join(lines), encoding="utf-8")
    assert estimates.estimate().whole == 1_000


def test_a_hierarchy_that_is_edited_is_in_force_at_once(adult):
    estimates = Estimates(adult)
    assert estimates.estimate().failure is None

    tree = adult.folder / "hierarchies" / "native-country.csv"
    lines = tree.read_text(encoding="utf-8").splitlines()
    tree.write_text("\n".join(lines[:3]), encoding="utf-8")

    failure = estimates.estimate().failure
    assert failure is not None
    assert "native-country" in failure.what
    tree.unlink()
    assert estimates.estimate().failure is not None


def test_remedies_are_measured_and_what_they_say_comes_true(adult):
    with adult.editing("x") as document:
        document["guarantees"][0]["k"] = 40
    estimates = Estimates(adult)
    before = _of(estimates.estimate())

    found = {it.label: it for it in estimates.costs()}

    lower = found["Lower k of k-anonymity to 20"]
    assert (lower.action, lower.fields) == ("guarantee", {"number": "0", "k": "20"})
    guarantees = [{**K, "k": 20}, {**L, "l": 3}]
    then = _preview(adult, adult.policy().changed(guarantees=guarantees))
    assert lower.gain.startswith(f"detail {before.kept:.1%} -> {then.kept:.1%}")
    assert then.kept > before.kept
    assert estimates.costs() is estimates.costs()


def test_suppression_is_offered_where_it_saves_detail(bench):
    rows = pl.DataFrame({"age": [*range(20, 30)] * 30 + [95], "ill": ["a", "b"] * 150 + ["a"]})
    rows.write_parquet(bench.folder / "people.parquet")
    bench.project.policy_file.write_text(
        """
halfmask = 1
[columns]
age = { role = "quasi_identifier", kind = "numeric" }
ill = { role = "sensitive", kind = "categorical" }
[[guarantees]]
model = "k-anonymity"
k = 10
""",
        encoding="utf-8",
    )
    bench.project.open(str(bench.folder / "people.parquet"))

    (found,) = (it for it in Estimates(bench.project).costs() if it.action == "section")

    assert found.label == "Allow 1% suppression"
    assert found.fields == {"section": "suppression", "max_fraction": "0.01"}
    assert "1 row suppressed" in found.gain
    then = bench.project.policy().changed(suppression={"max_fraction": 0.01})
    assert f"-> {PreviewTable.of(rows, then).preview(then).kept:.1%}" in found.gain


def test_a_guarantee_about_a_population_says_that_there_is_none(adult_bench):
    words = adult_bench.post("/protect/add", model="k-map")

    assert "No release can be made by this policy" in words
    assert "population" in words[words.index("No release") :]


def test_a_table_that_is_gone_is_said(adult):
    estimates = Estimates(adult)
    adult.table_file.write_text("age,sex\n", encoding="utf-8")

    found = estimates.estimate()

    assert found.preview is None
    assert found.failure is not None
    assert estimates.costs() == ()


def test_an_error_of_a_library_keeps_the_controls_and_quotes_no_cell(adult_bench, monkeypatch):
    def fail(*_):
        raise ValueError("Smith")

    monkeypatch.setattr(PreviewTable, "of", fail)
    adult_bench.project._kept.clear()

    words = adult_bench.get("/protect")

    assert "No release can be made by this policy" in words
    assert "ValueError" in words
    assert "Smith" not in adult_bench.html
    assert 'id="g0-k"' in adult_bench.html


def test_masks_are_counted_by_column_and_by_rows():
    rows = pl.DataFrame({"id": range(100), "pay": [100, 150] * 50, "sex": ["f", "m"] * 50})
    policy = hm.Policy.from_toml("""
halfmask = 1
[columns]
id = { role = "identifier" }
pay = { role = "sensitive", kind = "numeric", mask = { name = "round", base = 100 } }
sex = { role = "insensitive", kind = "categorical" }
[[masks]]
name = "sampling"
fraction = 0.5
""")

    changed, kept = changed_cells(rows, policy)

    assert changed["sex"] == 0
    assert 0 < changed["pay"] < 1
    assert 20 < kept < 80


def test_the_code_is_compiled_in_the_background_once():
    warming = Warming()
    states = [warming.is_running]
    warming.start()
    first = warming._thread
    assert isinstance(first, threading.Timer)
    warming.start()
    assert warming._thread is first
    states.append(warming.is_running)
    first.cancel()
    first.join()
    assert [*states, warming.is_running] == [False, True, False]


def test_the_page_waits_for_the_code_and_asks_again(adult_bench, monkeypatch):
    monkeypatch.setattr(Warming, "is_running", True)
    words = adult_bench.get("/protect?costs=1")
    assert "Measuring starts soon" in words
    assert 'id="waiting" data-poll=' in adult_bench.html

    monkeypatch.setattr(Warming, "is_running", False)
    preview_little()
    assert "What the release keeps" in adult_bench.get("/protect?costs=1")


def test_what_costs_most_is_what_leaves_the_others_most_detail(adult):
    with adult.editing("x") as document:
        document["method"] = {"name": "full-domain"}
        document["recoding"] = {"name": "level"}
        document["suppression"]["max_fraction"] = 0.05
    policy = adult.policy()
    table = PreviewTable.of(adult.rows(), policy)
    now = table.preview(policy)
    gains = {
        name: sum(kept - now.detail[other] for other, kept in it.detail.items()) / len(it.detail)
        for name, it in table.without_each_column(policy).items()
    }

    found = [it.fields["column"] for it in Estimates(adult).costs() if it.action == "role"]

    assert found == sorted(gains, key=lambda name: -gains[name])[: len(found)]
    assert len(found) == 3
