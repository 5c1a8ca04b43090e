"""The recount catches what was weakened, and says what it can't know."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from halfmask._errors import VerificationError
from halfmask.events import EventPolicy, Transform
from halfmask.events.stages import _holding as holding
from halfmask.events.stages._aggregation import Aggregation
from halfmask.events.stages._cells import CellLines
from halfmask.vault import Secret
from halfmask.verifier import events

#: Its claims say more than `CheckedClaim`.
verify_events: Any = events.verify_events

SECRET = Secret.from_bytes(bytes(32))
POLICY = """
halfmask-events = 1
release = "r"
[stream]
time = "time"
entity = "who"
session = "visit"
[[rule]]
path = "town"
do = "keep"
[[rule]]
path = "items[]"
do = "keep"
{rules}
[window]
every = "1 hour"
zone = "UTC"
"""
WHO = '[[rule]]\npath = "who"\ndo = "token"\n'
VISIT = '[[rule]]\npath = "visit"\ndo = "sequence"\nscope = "stream"\n'
SESSIONS = '[[guarantee]]\nkind = "session-k"\npaths = ["town"]\nk = 2\nfails = "session"\n'
SETS = '[[guarantee]]\nkind = "k-m"\npaths = ["items[]"]\nk = 2\nm = 2\nfails = "field"\n'
VALUES = '[[guarantee]]\nkind = "distinct"\npaths = ["town"]\nk = 2\nfails = "event"\n'
EVENTS = [
    {"who": "ann", "visit": 1, "town": "Rome", "items": ["p", "q"]},
    {"who": "bob", "visit": 2, "town": "Rome", "items": ["p", "q"]},
    {"who": "bob", "visit": 2, "town": "Rome", "items": ["p"]},
    {"who": "cid", "visit": 3, "town": "Oslo", "items": ["p", "r"]},
    {"who": "cid", "visit": 4, "town": "Oslo", "items": ["r", "q"]},
]
LINES = b"".join(
    json.dumps({"time": "2024-01-01T00:00:00Z", **it}).encode() + b"\n" for it in EVENTS
)


def run(guarantee, rules=WHO + VISIT, lines=LINES):
    """Return lines that leave, and what is claimed of them."""
    policy = EventPolicy.from_toml(POLICY.format(rules=rules) + guarantee)
    transform, stage = Transform(policy, secret=SECRET), holding.Holding(policy)
    block = transform.scan(lines)
    found = stage.take(transform.change(block), block) + stage.finish()
    return found.splitlines(), stage.claims()


def changed(claims, **changes):
    """Return claims, of which the first is another one."""
    first, *rest = claims.claims
    return replace(claims, claims=(replace(first, **changes), *rest))


@pytest.mark.parametrize("guarantee", [SESSIONS, SETS, VALUES])
def test_what_holds_is_counted_in_entities(guarantee):
    """The smallest class is found, and isn't below k."""
    lines, claims = run(guarantee)

    (check,) = verify_events(lines, claims).claims

    assert (check.holds, check.counted, check.failures) == (True, "entities", 0)
    assert check.least == claims.claims[0].min_entities == 2


@pytest.mark.parametrize("guarantee", [SESSIONS, SETS, VALUES])
def test_a_stage_that_lets_all_out_is_caught(guarantee, monkeypatch):
    """Oslo is of one person, in two sessions."""
    monkeypatch.setattr(holding, "hold_sets", lambda *_: (False, 2))
    monkeypatch.setattr(holding, "hold_sessions", lambda *_: (False, 2))
    lines, claims = run(guarantee)

    verdict = verify_events(lines, claims)

    assert len(EVENTS) == verdict.rows
    assert not verdict.holds
    assert verdict.claims[0].least == 1


@pytest.mark.parametrize("guarantee", [SESSIONS, SETS, VALUES])
def test_a_claim_of_more_is_caught(guarantee):
    """What holds for two doesn't for three."""
    lines, claims = run(guarantee)

    assert not verify_events(lines, changed(claims, k=3)).holds


@pytest.mark.parametrize(
    "weaker", [{"k": 1}, {"k": -5}, {"m": 0}, {"model": "nothing"}, {"fields": ()}]
)
def test_a_claim_that_any_lines_fulfil_is_none(weaker):
    lines, claims = run(SETS)

    with pytest.raises(VerificationError, match="guarantee nothing"):
        verify_events(lines, changed(claims, **weaker))


def test_no_claim_at_all_is_none():
    lines, claims = run(SETS)

    with pytest.raises(VerificationError, match="guarantee nothing"):
        verify_events(lines, replace(claims, claims=()))


def test_a_session_counts_for_who_is_in_it_when_it_leaves():
    """Ann's only event of the shared visit is held back, so nothing of hers is counted there."""
    at = {"time": "2024-01-01T00:00:00Z"}
    events = [
        {**at, "who": "ann", "visit": 1, "town": "Oslo"},
        {**at, "who": "bob", "visit": 1, "town": "Rome", "items": ["p"]},
        {**at, "who": "bob", "visit": 2, "town": "Rome", "items": ["p"]},
        {**at, "who": "cid", "visit": 3, "town": "Rome"},
    ]

    lines, claims = run(
        VALUES + SETS, lines=b"".join(json.dumps(it).encode() + b"\n" for it in events)
    )

    assert len(lines) == 3
    assert not any(json.loads(line).get("items") for line in lines)
    assert verify_events(lines, claims).holds


@pytest.mark.parametrize(
    ("guarantee", "rules", "counted"),
    [
        (SESSIONS, VISIT, "sessions"),
        (SESSIONS, WHO, "nothing"),
        (SETS, VISIT, "sessions"),
        (SETS, "", "nothing"),
        (SETS.replace("m = 2", "m = 1"), "", "events"),
        (VALUES, "", "events"),
        (VALUES, WHO, "entities"),
    ],
)
def test_what_the_lines_do_not_say_is_said(guarantee, rules, counted):
    """Without the entity sessions are counted, without the session events, or nothing."""
    verdict = verify_events(*run(guarantee, rules))

    assert verdict.holds
    assert counted == verdict.claims[0].counted


def test_a_field_of_sessions_that_was_changed_is_not_trusted():
    """A mask of the entity could make two of them one: it isn't counted in entities."""
    rules = '[[rule]]\npath = "who"\ndo = "mask"\nfirst = 1\n' + VISIT
    lines, claims = run(SESSIONS, rules)

    assert verify_events(lines, claims).claims[0].counted == "sessions"


@pytest.mark.parametrize("change", [lambda it: it[:-1], lambda it: [*it, it[-1]]])
def test_lines_that_are_lacking_or_too_many_are_refused(change):
    """The claims say how many left together."""
    lines, claims = run(SESSIONS)

    with pytest.raises(VerificationError, match="lines than the claims say"):
        verify_events(change(lines), claims)


@pytest.mark.parametrize("line", [b"[1]", b"no", b"\xff", b""])
def test_a_line_that_is_no_event_is_refused(line):
    """With its number, without its content."""
    lines, claims = run(SESSIONS)

    with pytest.raises(VerificationError, match=r"^Line 2 isn't an event as JSON\.$"):
        verify_events([lines[0], line, *lines[2:]], claims)


def test_claims_of_both_kinds_or_of_one_name_are_refused():
    """Whichever came last would be counted alone."""
    lines, claims = run(SETS)
    _, of_cells = cells()
    (one,) = of_cells.claims

    for mixed in ((*claims.claims, one), (one, replace(one, min_entities=1))):
        with pytest.raises(VerificationError, match="contradict"):
            verify_events(lines, replace(claims, claims=mixed))


CELLS = """
halfmask-events = 1
release = "r"
[stream]
time = "time"
entity = "who"
[[rule]]
path = "town"
do = "keep"
[window]
every = "1 hour"
zone = "UTC"
[[aggregate]]
by = { town = "town" }
count = "n"
min-events = 3
min-entities = 2
totals = true
[[aggregate.measure]]
name = "people"
do = "distinct"
path = "who"
of = "original"
"""


def cells():
    """Return lines of cells, and what is claimed of them."""
    policy = EventPolicy.from_toml(CELLS)
    transform, stage = Transform(policy, secret=SECRET), Aggregation(policy)
    block = transform.scan(LINES)
    found = stage.take(transform.change(block), block) + stage.finish()
    return found.splitlines(), stage.claims()


def test_cells_are_recounted():
    """Rome would tell Oslo, by the total: only the total is written."""
    lines, claims = cells()

    verdict = verify_events(lines, claims)

    assert lines == [b'{"window":"2024-01-01T00:00:00Z","total":true,"n":5,"people":3}']
    assert verdict.holds
    assert verdict.claims[0].counted == "cells"


def test_small_cells_are_caught(monkeypatch):
    """A writer that holds nothing back writes Oslo, of one person."""
    monkeypatch.setattr(CellLines, "_is_enough", lambda *_: True)

    (check,) = verify_events(*cells()).claims

    assert not check.holds
    assert check.least == 1


def test_cells_that_totals_tell_are_caught(monkeypatch):
    """A writer that forgets the total writes Rome, and the rest of two events is known."""
    monkeypatch.setattr(CellLines, "_complemented", lambda _, wide, __: wide)
    lines, claims = cells()

    verdict = verify_events(lines, claims)

    assert len(lines) == 2
    assert (verdict.holds, verdict.claims[0].failures) == (False, 1)


def test_cells_without_numbers_are_the_runs_word():
    """Where neither count is written, nothing can be recounted."""
    lines, claims = cells()
    unwritten = changed(claims, count=None, entities=None)

    assert verify_events(lines, unwritten).claims[0].counted == "nothing"
