"""Reports: what they say as a whole, and what they write."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from halfmask._errors import ReleaseError
from halfmask.assess.attacks import SuccessCount


def test_one_invalid_finding_is_enough_not_to_be_resisted(finding_of, report_of):
    good, nothing = finding_of("a/x", 5000, 9000), finding_of("a/y", 5000)
    assert report_of(good, good).resisted
    assert not report_of(good, nothing).resisted
    assert not report_of().resisted


def test_the_worst_is_the_highest_bound_among_those_that_say_something(finding_of, report_of):
    mild, bad = finding_of("a/mild", 5100, 9000), finding_of("a/bad", 6100, 9000)
    failed = finding_of("a/failed", 9900, 9000, failure="failed: no rows")
    assert report_of(mild, bad, failed).worst is bad
    assert report_of(failed).worst is None


def test_the_worst_is_judged_by_its_measures_scale(finding_of, report_of):
    # 0.004 above nothing of one false positive in a thousand is much, 0.02 of an accuracy isn't.
    accuracy, rare = (
        finding_of("a/accuracy", 5100, 9000),
        finding_of("a/rare", 5220, 9000, scale=0.1),
    )
    assert (accuracy.verdict, rare.verdict) == ("resisted", "broken")
    assert report_of(accuracy, rare).worst is rare


def test_what_is_broken_is_worse_than_what_is_not_shown(finding_of, report_of):
    open_, broken = finding_of("a/x", 6, 9000), finding_of("a/y", 5600, 9000)
    few = replace(open_.outcome, success=SuccessCount(6, 10))
    open_ = replace(open_, outcome=few)
    assert (open_.verdict, broken.verdict) == ("not shown", "broken")
    assert open_.excess_high > broken.excess_high
    assert report_of(open_, broken).worst is broken
    assert report_of(open_).worst is open_


def test_a_report_is_replaced_only_if_that_is_allowed(mixed, tmp_path):
    files = {"where": tmp_path / "attacks.json", "picture": tmp_path / "attacks.svg"}
    mixed.write(**files)
    with pytest.raises(ReleaseError, match="exists"):
        mixed.write(**files)
    mixed.write(**files, overwrite=True)
    assert json.loads(files["where"].read_text())["seed"] == mixed.random_state


def test_a_report_counts_its_verdicts(mixed):
    expected = "1 resisted, 1 broken, 0 not shown, 1 INVALID, 1 skipped"
    assert repr(mixed) == f"AttackReport({expected}; broken: membership/lira, TPR, the oldest)"


def test_a_report_names_a_few_of_many_that_broke_the_worst_first(finding_of, report_of):
    many = report_of(*(finding_of(f"a/{n}", 6000 + 100 * n, 9000) for n in range(5)))
    assert repr(many).endswith(
        "broken: a/4, accuracy, everyone; a/3, accuracy, everyone; a/2, accuracy, everyone; "
        "and 2 more)"
    )


def test_a_notebook_shows_what_broke_first_and_no_words_become_markup(finding_of, report_of):
    evil = finding_of("a/<b>", 6000, 9000, measure="of '<script>'")
    shown = report_of(finding_of("a/x", 5000, 9000), evil, skipped=(("<i>", "<u>"),))._repr_html_()
    assert shown.index("broken</b>") < shown.index("resisted</b>")
    assert "<script>" not in shown
    assert "a/&lt;b&gt;" in shown
    assert "<i>" not in shown
    assert "no findings" in report_of()._repr_html_()


def test_a_report_turns_into_a_frame(mixed, report_of):
    frame = mixed.to_frame()
    assert frame["verdict"].to_list() == ["resisted", "broken", "INVALID"]
    assert frame["why"].to_list() == ["", "", "was not run on unprotected data"]
    for finding, row in zip(mixed.findings, frame.iter_rows(named=True), strict=True):
        assert row["excess_low"] == pytest.approx(finding.excess_low)
        assert row["excess_high"] == pytest.approx(finding.excess_high)
        assert row["low"] <= row["value"] <= row["high"]
        assert row["reference"] == finding.outcome.reference.value
    assert frame["unprotected"].to_list() == [0.66, 0.8, None]
    assert report_of().to_frame().schema == frame.schema


def test_a_report_by_some_measures_says_so_wherever_it_promises(finding_of, report_of):
    only = report_of(
        finding_of("membership/gap", 5000, 6600),
        measures=("accuracy", "AUC"),
        left_out=("membership/lira",),
    )
    text = "1 resisted, 0 broken, 0 not shown, 0 INVALID, 0 skipped; measures: accuracy, AUC"
    assert repr(only) == f"AttackReport({text})"
    svg = only.to_svg()
    assert "1 finding, by the measures asked for: resisted" in svg
    expected = "Measures asked for: accuracy, AUC. Left out, because they have none of these"
    assert svg.count(f"{expected}: membership/lira.") == 2  # in the description, and to be seen


def test_numbers_and_picture_are_written_whole(mixed, tmp_path):
    mixed.write(tmp_path / "attacks.json", picture=tmp_path / "attacks.svg")
    content = json.loads((tmp_path / "attacks.json").read_text())
    assert content == json.loads(json.dumps(mixed.to_dict()))
    assert [each["verdict"] for each in content["findings"]] == ["resisted", "broken", "INVALID"]
    assert content["skipped"] == [
        {"attack": "releases/intersection", "lacks": "an earlier release"}
    ]
    assert content["versions"] == {"python": "3.11"}
    # Readers of reports of 0.1 find these keys still, whatever the parameters are called.
    assert (content["seed"], content["least_power"]) == (7, 0.05)
    assert "power_low" in content["findings"][0]
    assert (tmp_path / "attacks.svg").read_text() == mixed.to_svg()


def test_without_a_picture_none_is_written(mixed, tmp_path):
    mixed.write(tmp_path / "attacks.json")
    assert [path.name for path in tmp_path.iterdir()] == ["attacks.json"]


def test_what_isnt_there_cant_be_written_to(mixed, tmp_path):
    with pytest.raises(ReleaseError, match="doesn't exist"):
        mixed.write(tmp_path / "no such folder" / "attacks.json")


def test_a_good_raw_model_passes_and_is_not_resisted(finding_of, report_of):
    resisted, idle = finding_of("a/x", 5000, 9000), finding_of("a/y", 5000, 5000)
    idle = replace(idle, raw_may_resist=True)

    both = report_of(resisted, idle)

    assert (both.passed, both.resisted, report_of(idle).passed) == (True, False, True)
    assert not report_of(idle, finding_of("a/z", 5000)).passed
    assert not report_of().passed
    assert repr(both).startswith("AttackReport(1 resisted, 1 nothing to resist, 0 broken,")
    for shown in (both.to_svg(), both._repr_html_()):
        assert "gains less than 0.05 without protection, too" in shown


def test_a_report_prints_its_sentences_and_what_verdicts_mean(mixed):
    lines = str(mixed).splitlines()

    assert lines[: len(mixed.findings)] == [finding.sentence for finding in mixed.findings]
    for verdict in ("resisted", "broken", "INVALID"):
        assert any(line.startswith(f"{verdict}: ") for line in lines)
        assert f"{verdict}: " in mixed.to_svg()
        assert f"{verdict}: " in mixed._repr_html_()
    assert not any(line.startswith("not shown: ") for line in lines)
