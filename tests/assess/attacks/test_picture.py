"""The picture: well-formed, whole, readable, and nothing outside of its track."""

from __future__ import annotations

import itertools
import re
from xml.etree import ElementTree as ET

import pytest

from halfmask.assess.attacks import Certain, Resampled, SuccessCount

SVG = "{http://www.w3.org/2000/svg}"


def parsed(svg: str | bytes) -> ET.Element:
    """Read an SVG as its viewer does: not well-formed is not shown."""
    return ET.fromstring(svg)  # noqa: S314 # our own


def words(svg: str) -> str:
    """Return what is written, in the order of the document."""
    root = parsed(svg)
    return " ".join(each.text or "" for each in root.iter(f"{SVG}text"))


def numbers(svg: str) -> list[float]:
    """Return every number that places something."""
    without = re.sub(r"<(style|title|desc|text)\b.*?</\1>", "", svg, flags=re.DOTALL)
    return [float(each) for each in re.findall(r'(?<=[" L])-?\d+\.?\d*(?=[" ])', without)]


def test_every_finding_is_written_with_its_verdict(mixed):
    svg = mixed.to_svg()
    found = words(svg)
    for wanted in ("gap", "LiRA", "linkage", "TPR, the oldest", "accuracy", "0.660", "0.600"):
        assert wanted in found
    for verdict in ("resisted", "broken", "INVALID"):
        assert f">{verdict}</text>" in svg
    assert "nothing follows: it was not run on unprotected data" in found
    assert "releases/intersection" in found
    assert "3 findings: 1 resisted, 1 broken, 1 INVALID" in found


def test_every_finding_is_told_to_who_cant_see_it(mixed):
    root = parsed(mixed.to_svg())
    titles = [each.text for each in root.iter(f"{SVG}title")]
    assert titles[1:] == [finding.sentence for finding in mixed.findings]
    description = root.find(f"{SVG}desc")
    assert description is not None
    assert description.text == " ".join(finding.sentence for finding in mixed.findings)
    assert root.get("role") == "img"
    ids = {each.get("id") for each in root.iter() if each.get("id")}
    assert set((root.get("aria-labelledby") or "").split()) == ids


def test_findings_stand_with_their_family(mixed):
    found = words(mixed.to_svg())
    order = ["Membership:", "gap", "LiRA", "Tables:", "linkage"]
    assert [found.index(each) for each in order] == sorted(found.index(each) for each in order)


def test_the_background_is_opaque_and_covers_everything(mixed):
    root = parsed(mixed.to_svg())
    first = next(root.iter(f"{SVG}rect"))
    assert (first.get("x"), first.get("y"), first.get("fill")) == ("0.0", "0.0", "#f5f2ec")
    for side in ("width", "height"):
        assert float(first.get(side, 0)) == float(root.get(side, -1))
    assert float(root.get("width", 0)) == 900


def test_without_findings_it_says_so(report_of):
    svg = report_of().to_svg()
    assert "no attack was run" in words(svg)
    assert "nothing was resisted" in words(svg)


@pytest.mark.parametrize(("right", "given"), [(5000, "resisted"), (9000, "broken")])
def test_one_verdict_for_all_is_said_in_the_title(finding_of, report_of, right, given):
    one = finding_of("membership/gap", right, 9900)
    assert f"1 finding: {given}" in words(report_of(one).to_svg())
    assert f"2 findings: all {given}" in words(report_of(one, one).to_svg())


def test_words_cant_become_markup(finding_of, report_of):
    evil = '<script>alert("1")</script> & \x00\ud800 \'"'
    svg = report_of(
        finding_of("<b>/<i>", 5000, 9000, measure=evil, group=evil),
        skipped=((evil, evil),),
    ).to_svg()
    root = parsed(svg.encode())
    assert not list(root.iter(f"{SVG}script"))
    assert "<script" not in svg
    assert "alert" in words(svg)


def test_what_is_not_shown_says_how_many_it_takes(finding_of, report_of):
    near = finding_of("membership/gap", 5280, 9000)
    svg = report_of(near).to_svg()
    assert ">not shown</text>" in svg
    assert 'class="not-shown"' in svg
    assert near.why_not_shown in words(svg)
    assert "1 finding: not shown" in words(svg)


def test_what_failed_shows_no_number(finding_of, report_of):
    failed = finding_of("membership/gap", 5000, 9000, failure="failed: the model has no answer")
    svg = report_of(failed).to_svg()
    assert "0.500" not in words(svg)
    assert "failed: the model has no answer" in words(svg)
    # Of discs and diamonds only the legend's are left.
    assert svg.count("<circle") == 1


def test_a_line_of_small_numbers_has_a_shorter_track_and_says_so(finding_of, report_of):
    rare = finding_of("membership/lira", 20, 600, control=Certain(0.001), scale=0.13)
    svg = report_of(rare).to_svg()
    assert "to 0.1 only" in words(svg)
    assert "0.0020" in words(svg)
    assert "to 0.1 only" not in words(report_of(finding_of("a/b", 5000, 9000)).to_svg())


@pytest.mark.parametrize(
    "arm", [Resampled.of(1.0, [1.0] * 9, 5), Resampled.of(-0.4, [-0.5, 0.1], 5), SuccessCount(0, 0)]
)
def test_nothing_is_drawn_outside_of_its_track(finding_of, report_of, arm):
    shown = finding_of("membership/gap", 5000, 9000, control=arm, baseline=arm)
    svg = report_of(shown).to_svg()
    parsed(svg)
    assert "nan" not in svg.lower().replace("findings", "")
    assert "inf" not in re.sub(r"<(title|desc|style|text)\b.*?</\1>", "", svg, flags=re.DOTALL)
    assert all(-1 <= number <= 900 for number in numbers(svg) if number != 8.0)


def test_sixty_findings_are_as_readable_as_one(finding_of, report_of):
    families = ("membership", "attributes", "structure", "tables", "classes", "others")
    long = "true positives at one false positive in a thousand, of anonymized rows"
    many = [
        finding_of(f"{family}/number_{n}", 4000 + 500 * n, 9000, measure=long, group=f"group {n}")
        for family in families
        for n in range(10)
    ]
    root = parsed(report_of(*many).to_svg())
    written = [each for each in root.iter(f"{SVG}text") if each.text]
    places = sorted({(float(each.get("x", 0)), float(each.get("y", 0))) for each in written})
    assert len(places) == len(written)
    # Lines of a column never touch: 11 units of height is the smallest letter.
    for before, after in itertools.pairwise(places):
        assert after[0] != before[0] or after[1] - before[1] >= 11
    assert max(y for _, y in places) < float(root.get("height", 0))
    found = " ".join(each.text or "" for each in written)
    assert all(f"number {n}" in found for n in range(10))


def test_the_same_report_is_the_same_picture(mixed):
    assert mixed.to_svg() == mixed.to_svg()
