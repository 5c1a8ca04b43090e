"""What a run wrote verifies; whatever is changed of it, or of its manifest, is caught."""

from __future__ import annotations

import gzip
import json
import stat
from dataclasses import replace
from typing import Any

import pytest

from halfmask._errors import ReleaseError, VerificationError
from halfmask.events import EventPolicy, run_events, stage_of
from halfmask.events.report import (
    Reporting,
    SeenPaths,
    claims_of,
    guarantees_of,
    released_fields,
    write_reports,
)
from halfmask.events.report._fields import field_name
from halfmask.events.running._run_summary import Tally, summed_up
from halfmask.events.streams import open_sink, open_source
from halfmask.verifier import events
from halfmask.verifier.events._forms import has_form
from halfmask.verifier.events._reading import Number
from verifier.events.event_releases import (  # type: ignore[import-not-found] # beside
    CELLS,
    FEW,
    GUARANTEED,
    POLICY,
    change_manifest,
    manifest_of,
    rewrite,
)

#: Its claims say more than `CheckedClaim`.
verify_release: Any = events.verify_release


@pytest.mark.slow
@pytest.mark.parametrize("out", ["out.jsonl.gz", "out.jsonl.zst", "parts/"])
def test_what_a_run_wrote_verifies(made, out):
    """Plain, packed, as a folder; by the output or its manifest."""
    written = made(out=out)

    found = verify_release(written)

    assert found.sentences() == ()
    assert (found.holds, found.rows) == (True, 60)
    assert verify_release(written.with_name(written.name + ".manifest.json")).holds
    found.raise_if_broken()


def test_tables_verify(made):
    """Rows are read as events without what is null."""
    policy = POLICY.replace('path = "stock.*"\nnames = "hash"', 'path = "size2"')

    found = verify_release(made(policy, out="out.parquet"))

    assert found.sentences() == ()


def test_the_manifest_holds_no_value_and_no_dropped_name(copy):
    """The report names what was dropped; neither holds a value."""
    out = copy
    manifest = out.with_name("out.jsonl.manifest.json").read_text()
    report = out.with_name("out.jsonl.report.html").read_text()

    assert "SECRET" not in manifest
    assert "amounts" not in manifest
    assert "zip" in manifest
    assert "SECRETFIELD.a" in report
    assert "SECRET-" not in report
    assert "example.org" not in report + manifest
    for word in ("<script", "http://", "https://", "src="):
        assert word not in report


def test_who_may_read_the_output_may_not_read_the_report(first):
    report = first.with_name(first.name + ".report.html")
    assert stat.S_IMODE(report.stat().st_mode) == 0o600


def test_lines_that_are_no_events_are_told(made, tmp_path):
    """By reason and number in the report; by reason in the manifest."""
    out = made(events=[{"ok": True}, [1], {"ok": True}])

    assert manifest_of(out)["details"]["counts"]["bad"] == {"not-an-object": 1}
    assert "not-an-object" in out.with_name("out.jsonl.report.html").read_text()
    assert verify_release(out).holds
    assert sorted(it.name for it in tmp_path.glob("out*")) == [
        "out.jsonl", "out.jsonl.manifest.json", "out.jsonl.report.html",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("date",), "2014-09-05T00:46:00"),
        (("date",), "2014-09-05"),
        (("date",), 7),
        (("seen",), "2014-09-04T00:17:03"),
        (("month",), "2014-09-04"),
        (("who",), "SECRET-1"),
        (("who",), "c2hvcnQ"),
        (("mail",), "a1@example.org"),
        (("mail",), "ffffffff"),
        (("zip",), "45006"),
        (("zip",), "45****"),
        (("price",), "1.97 EUR"),
        (("price",), "1.950 EUR"),
        (("price",), "1.95 USD"),
        (("size",), 137),
        (("weight",), 1.25),
        (("weight",), -3.0),
        (("lines",), [{"ref": 2}]),
        (("lines",), [{"ref": 1}, {"ref": 3}]),
        (("lines",), [{"ref": 0}]),
        (("lines",), [{"sku": "s1"}]),
        (("lines",), [7]),
        (("stock",), {"SECRET-1": 1}),
        (("stock",), {"f0123456789abcdef": 1.5}),
        (("age",), 33),
        (("note",), "write to a@example.org"),
        (("ok",), {"a": 1}),
        (("SECRETFIELD",), None),
        (("lines",), {"ref": 1}),
    ],
)
def test_a_value_that_no_action_left_is_caught(copy, place, value):
    """Though hash and counts are made to agree; and it isn't told."""
    out = copy
    lines = [json.loads(line) for line in out.read_bytes().splitlines()]
    lines[7][place[0]] = value
    rewrite(out, lines)

    found = verify_release(out)

    assert not found.holds
    assert "line 8" in " ".join(found.sentences())
    assert "SECRET" not in " ".join(found.sentences())
    with pytest.raises(VerificationError):
        found.raise_if_broken()


def test_changed_files_are_caught(copy):
    """A bit, a line less, a line twice, a line that is no JSON, and a file that isn't there."""
    out = copy
    data = out.read_bytes()
    lines = data.splitlines(keepends=True)
    wrong = [
        data.replace(b"45***", b"46***", 1),
        b"".join(lines[:-1]),
        b"".join([*lines, lines[0]]),
        b"".join([*lines[:5], b"no\n", *lines[6:]]),
        data.replace(b'"zip":', b'"zip":"45***","zip":', 1),
        b"",
        b"\x1f\x8bno",
    ]
    for changed in wrong:
        out.write_bytes(changed)
        assert not verify_release(out).holds
    out.unlink()
    assert not verify_release(out).holds


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("files", 0, "rows"), 59),
        (("details", "counts", "passed"), 61),
        (("details", "counts", "lines"), 9),
        (("details", "fields"), []),
        (("details", "fields", 0, "form"), {"do": "another"}),
        (("files", 0, "format"), "parquet"),
        (("files", 0, "format"), "csv"),
    ],
    ids=["rows", "passed", "sum", "fields", "form", "table", "format"],
)
def test_a_changed_manifest_is_caught(copy, place, value):
    """Where it doesn't go with the lines."""
    change_manifest(copy, *place, value=value)

    assert not verify_release(copy).holds


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("version",), 2.0),
        (("version",), 3),
        (("format",), "halfmask events release"),
        (("kind",), "microdata"),
        (("CANARY",), 1),
        (("lines",), 60),
        (("report",), {"sha256": "0" * 64}),
        (("files", 0, "lines"), 60),
        (("files", 0, "format"), "CANARY"),
        (("details", "CANARY"), 1),
        (("details", "panes"), None),
        (("details", "counts", "passed"), 60.0),
        (("details", "counts", "bad"), {"CANARY": -1}),
        (("details", "fields", 0, "CANARY"), 1),
        (("details", "fields", 0, "weaknesses"), ["CANARY"]),
        (("details", "fields", 0, "form"), {"do": "hash"}),
        (("details", "risk", "known", 0, "singled_out"), "CANARY"),
        (("claims",), [{"model": "CANARY"}]),
        (("weaknesses",), []),
        (("details", "fields", 0, "field"), "CANARY"),
    ],
)
def test_what_is_not_exactly_a_manifest_of_events_is_refused(copy, place, value):
    """Unknown keys, wrong types and what a key says of itself are no matter of belief."""
    change_manifest(copy, *place, value=value)

    with pytest.raises(VerificationError) as refused:
        verify_release(copy)

    assert "CANARY" not in str(refused.value)


def test_changed_risk_is_caught(copy):
    """How many lines are equal to no other is counted again."""
    out = copy
    told = manifest_of(out)["details"]["risk"]["unique_events"]
    change_manifest(out, "details", "risk", "unique_events", value=told + 1)

    assert "equal to no other" in " ".join(verify_release(out).sentences())


def test_a_folder_has_no_other_file(made):
    """What the manifest doesn't have is a problem, too."""
    out = made(out="parts/")
    (out / "more.jsonl").write_text("{}\n")

    assert "1 files are in the folder" in " ".join(verify_release(out).sentences())


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"format": "halfmask events release", "version": 2}',
     '{"format": "halfmask events release", "version": 1}', "[" * 100_000],
    ids=["empty", "list", "object", "version", "bare", "deep"],
)  # fmt: skip
def test_no_manifest_is_an_error(copy, text):
    """One sentence, whatever it is."""
    out = copy
    out.with_name("out.jsonl.manifest.json").write_text(text)

    with pytest.raises(VerificationError, match="manifest"):
        verify_release(out)


def test_the_manifest_must_be_there(tmp_path):
    """Neither a lone output nor an empty folder can be verified."""
    (tmp_path / "out.jsonl").write_text("{}\n")

    for where in (tmp_path / "out.jsonl", tmp_path):
        with pytest.raises(VerificationError, match="no manifest"):
            verify_release(where)
    with pytest.raises(VerificationError, match="The release is not there"):
        verify_release(tmp_path / "nowhere")


def test_names_that_lead_elsewhere_are_refused(copy):
    """A manifest can't send the verifier to other files."""
    out = copy
    told = manifest_of(out)
    for name in ("../in.jsonl", "/etc/passwd", "..", ""):
        told["files"][0]["name"] = name
        out.with_name("out.jsonl.manifest.json").write_text(json.dumps(told))
        with pytest.raises(VerificationError):
            verify_release(out)


def test_claims_are_counted_again(made):
    """A zip of one user alone, smuggled in, is seen among the released tokens."""
    events = [
        {"time": "2014-09-04T10:00:00", "user": f"u{i % 4}", "zip": str(i % 3)} for i in range(24)
    ]
    out = made(GUARANTEED, events)

    found = verify_release(out)
    assert (found.holds, found.claims[0].counted, found.claims[0].least) == (True, "entities", 4)
    lines = [json.loads(line) for line in out.read_bytes().splitlines()]
    lines[3]["zip"] = "lonely"
    rewrite(out, lines)
    assert not verify_release(out).claims[0].holds


@pytest.mark.parametrize(
    ("weaker", "said"),
    [
        (
            {"about": {"fields": [["elsewhere"]]}},
            "A claim is of a field that the manifest doesn't have.",
        ),
        ({"parameters": {"k": 1}}, "guarantee nothing"),
    ],
)
def test_a_weaker_claim_is_caught(made, weaker, said):
    events = [
        {"time": "2014-09-04T10:00:00", "user": f"u{i % 4}", "zip": str(i % 3)} for i in range(24)
    ]
    out = made(GUARANTEED, events)
    claims = manifest_of(out)["claims"]
    for part, changes in weaker.items():
        claims[0][part] |= changes

    rewrite(out, [json.loads(line) for line in out.read_bytes().splitlines()], claims=claims)

    found = verify_release(out)
    assert not found.holds
    assert any(said in problem for problem in found.problems)


def test_cells_verify(made):
    """Lines of aggregates have the fields of their section, keys as their rule leaves them."""
    events = [
        {"time": "2014-09-04T10:00:00", "user": f"u{i % 4}", "zip": f"1{i % 3}", "size": i}
        for i in range(24)
    ]
    out = made(CELLS, events)

    assert json.loads(out.read_bytes()) == {
        "window": "2014-09-01",
        "area": "1*",
        "n": 24,
        "sum": 276,
    }
    assert verify_release(out).sentences() == ()
    for change in ({"area": "17"}, {"n": -1}, {"window": 7}, {"user": "u1"}):
        rewrite(out, [{"window": "2014-09-01", "area": "1*", "n": 24, "sum": 276} | change])
        assert not verify_release(out).holds


@pytest.mark.parametrize("policy", [POLICY, GUARANTEED, CELLS], ids=["plain", "held", "cells"])
def test_a_manifest_is_held_against_its_policy(made, policy):
    """Of its own policy it is, whatever the run counted; of any other it isn't."""
    out = made(policy, None if policy is POLICY else FEW)
    own = EventPolicy.from_toml(policy)

    found = verify_release(out, required=guarantees_of(own))
    assert (found.holds, found.differences) == (True, ())
    assert verify_release(out).differences is None
    for change in (
        ("k = 2", "k = 3"), ("min-entities = 2", "min-entities = 3"),
        ("first = 1", "first = 2"), ("first = 2", "first = 3"),
        ('release = "', 'release = "x-'), ('do = "token"', 'do = "keep"'),
    ):  # fmt: skip
        if change[0] in policy:
            other = guarantees_of(EventPolicy.from_toml(policy.replace(*change)))
            found = verify_release(out, required=other)
            assert (found.holds, found.bears_out) == (False, True)
            assert "another policy" in found.sentences()[0]
            assert not found.to_dict()["policy"]["holds"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"fields": []}, "fields of the manifest"),
        ({"claims": [], "panes": []}, "claims of the manifest"),
        ({"policy": {"sha256": "0" * 64}}, "another policy"),
        ({"release": "other"}, "another policy"),
    ],
)
def test_a_manifest_that_names_a_policy_and_promises_less(made, change, said):
    """The policy's hash in it isn't believed: what it promises is compared, too."""
    out = made(GUARANTEED, FEW)
    rewrite(out, [json.loads(line) for line in out.read_bytes().splitlines()], **change)

    required = guarantees_of(EventPolicy.from_toml(GUARANTEED))
    found = verify_release(out, required=required)
    assert any(said in sentence for sentence in found.differences or ())
    assert not found.holds


def test_a_claim_of_a_smaller_k_is_another_promise(made):
    """The manifest's own recount can't see it: the lines bear it out."""
    out = made(GUARANTEED.replace("k = 2", "k = 3"), FEW)
    claims = manifest_of(out)["claims"]
    claims[0]["parameters"]["k"] = 2
    rewrite(out, [json.loads(line) for line in out.read_bytes().splitlines()], claims=claims)

    required = guarantees_of(EventPolicy.from_toml(GUARANTEED.replace("k = 2", "k = 3")))
    assert verify_release(out).holds
    assert verify_release(out, required=required).differences == (
        "The claims of the manifest aren't those that the policy makes.",
    )


def test_checks_say_what_is_promised(made):
    """How many of what, in how many windows."""
    later = [{**it, "time": "2014-10-04T10:00:00"} for it in FEW]
    check = verify_release(made(GUARANTEED, FEW + later)).claims[0]

    assert (check.guarantee, check.windows) == ("k = 2 of zip", 2)


def test_a_run_that_isnt_whole_has_no_manifest(tmp_path):
    """It is said, rather than half of it stated."""
    summary = summed_up(
        Tally(), Tally(), complete=False, resumed=False, bad_lines={}, unmet=(), clock_went_back=0
    )
    policy = EventPolicy.from_toml(POLICY)
    with pytest.raises(ReleaseError, match="isn't whole"):
        write_reports(policy, tmp_path / "out.jsonl", summary)
    with pytest.raises(ReleaseError, match="isn't there"):
        write_reports(policy, tmp_path / "out.jsonl", replace(summary, complete=True))
    assert claims_of(stage_of(policy)).claims == ()


def test_uniqueness_and_known_events_are_counted(made):
    """Two users who share every event but one: two points single out, one seldom does."""
    events = [
        {"time": f"2014-09-{d + 1:02}T10:00:00", "user": f"u{u}", "zip": f"{d}0000", "ok": True}
        for u in range(2)
        for d in range(8)
    ]
    events[0]["zip"] = "99999"
    out = made(events=events)

    risk = manifest_of(out)["details"]["risk"]
    assert (risk["by"], risk["traces"], risk["unique_traces"]) == ("entity", 2, 2)
    assert risk["events"] == risk["unique_events"] == 16
    assert risk["known"][-1] == {"points": 8, "traces": 2, "singled_out": 1.0}


def test_dropped_paths_of_stars_and_maps():
    """What a star writes isn't dropped; names that are values are a star."""
    policy = EventPolicy.from_toml(
        'halfmask-events = 1\nrelease = "r"\n[[rule]]\npath = "a.**:integer"\nnames = "hash"\n'
        'do = "keep"\n'
    )
    seen = SeenPaths()
    seen.take(b'{"a": {"x": [1], "y": {"z": 2}}, "b": {"2014-09-04": 1, "c@d.org": 2}, "e": null}')

    assert [(it.path, it.events) for it in seen.dropped(policy)] == [("b.*", 1)]


FORMS: list[tuple[dict[str, Any], object, object]] = [
    ({"do": "coarsen-time", "every": "1 week", "zone": "UTC", "write": "local"},
     "2014-09-01T00:00:00", "2014-09-02T00:00:00"),
    ({"do": "coarsen-time", "every": "1 month", "zone": "UTC", "write": "seconds"},
     Number("1409529600"), Number("1409529601")),
    ({"do": "coarsen-time", "every": "1 day", "zone": "Europe/Berlin", "write": "offset"},
     "2014-09-05T00:00:00+02:00", "2014-09-05T02:00:00+02:00"),
    ({"do": "coarsen-time", "every": "1 day", "zone": "Europe/Berlin", "write": "milliseconds"},
     Number("1409868000000"), Number("1409875200000")),
    ({"do": "coarsen-time", "every": "1 day", "zone": "UTC", "write": "microseconds"},
     Number("1409875200000000"), Number("1409875200000001")),
    ({"do": "shift", "zone": "UTC", "write": "date"}, "2014-09-05", "2014-09-05T00:00:00"),
    ({"do": "hash", "bits": 8, "form": "number"}, Number("255"), Number("256")),
    ({"do": "hash", "bits": 6, "form": "hex"}, "3f", "40"),
    ({"do": "mask", "first": 1, "last": 1, "mark": "#"}, "a##b", "a#cb"),
    ({"do": "mask", "first": 1, "last": 1, "mark": "#"}, "##", "ab"),
    ({"do": "mask", "first": 2, "last": 0, "length": 0, "mark": "#"}, "ab", "abc"),
    ({"do": "round", "decimals": 2}, Number("1.20"), Number("1.2")),
    ({"do": "round", "step": 25}, Number("-75"), Number("-80")),
    ({"do": "round", "significant": 1}, Number("2e5"), Number("25")),
    ({"do": "scale", "decimals": 1}, Number("2.5"), Number("2.55")),
    ({"do": "sequence", "scope": "stream"}, Number("99"), Number("-1")),
    ({"do": "recode"}, "any", {}),
    ({"do": "keep"}, {}, {"a": 1}),
    ({"do": "erase"}, ..., None),
    ({"do": "count"}, Number("0"), None),
    ({"do": "free-text", "find": ["url"]}, "a@b.org", "see https://a.org"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("form", "right", "wrong"), FORMS, ids=[f"{it[0]['do']}-{i}" for i, it in enumerate(FORMS)]
)
def test_forms_tell_right_from_wrong(form, right, wrong):
    """One value that the action could leave, and one that it couldn't."""
    if right is not ...:
        assert has_form(right, form)
    assert not has_form(wrong, form)


def test_fields_are_told_by_their_names_in_the_output():
    """Renamed, starred, and several rules of one path."""
    policy = EventPolicy.from_toml(POLICY)

    said = [(field_name(it.steps), it.rule) for it in released_fields(policy)]
    assert ("date", 1) in said
    assert ("lines[].ref", 10) in said
    assert ("stock.*", 12) in said
    assert ("who", 4) in said


def test_packed_lines_that_break_off(copy):
    """A torn archive is a problem, not a crash."""
    out = copy
    out.write_bytes(gzip.compress(b'{"zip":"45***"}\n' * 1000)[:-20])

    assert not verify_release(out).holds


@pytest.mark.parametrize("policy", [GUARANTEED, CELLS], ids=["guarantee", "aggregate"])
def test_the_next_run_of_a_stream_claims_its_own_lines(tmp_path, vault, policy):
    """Windows that were met stay met; counts and claims are of the new output alone."""
    rules = EventPolicy.from_toml(policy)
    for month in (8, 9):
        source = tmp_path / f"in{month}.jsonl"
        time = f"2014-0{month}-04T10:00:00"
        events = [
            {"time": time, "user": f"u{i % 4}", "zip": str(i % 3), "size": i} for i in range(24)
        ]
        source.write_bytes(b"".join(json.dumps(event).encode() + b"\n" for event in events))
        sink, stage = open_sink(tmp_path / f"out{month}.jsonl"), stage_of(rules)
        beside = Reporting(rules, sink, stage)
        watched = beside.watching(open_source(source))
        summary = run_events(rules, watched, sink, vault=vault, stage=stage)
        beside.write(summary)

        assert {"events-written", "events"} & summary.stage.keys()
        assert 24 in summary.stage.values()
        assert verify_release(tmp_path / f"out{month}.jsonl").sentences() == ()


def test_own_clocks_verify_and_what_is_off_their_grid_is_caught():
    """An hour of Kathmandu is none of UTC; it is one of the clock that is written."""
    form = {"do": "coarsen-time", "every": "1 hour", "zone": "own", "write": "offset"}
    assert has_form("2024-03-01T00:00:00+05:45", form)
    assert not has_form("2024-03-01T00:30:00+05:45", form)
    assert not has_form("2024-03-01T00:00:00", form)
    day = {"do": "coarsen-time", "every": "1 day", "zone": "own", "write": "local"}
    assert has_form("2024-03-01T00:00:00", day)
    assert not has_form("2024-02-29T23:00:00", day)
