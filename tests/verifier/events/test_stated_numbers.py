"""No number, form or weakness of a manifest of events is believed that the lines contradict."""

from __future__ import annotations

from typing import Any

import pytest

from halfmask._errors import VerificationError
from halfmask.events.actions import (
    ACTIONS,
    CoarsenTime,
    FreeText,
    Generalize,
    Hash,
    HierarchySection,
    Keep,
    Mask,
    Noise,
    Recode,
    Round,
    Scale,
    Sequence,
    Shift,
    Token,
)
from halfmask.verifier import events
from halfmask.verifier.events._forms import LEAST_WEAKNESSES
from verifier.events.event_releases import (  # type: ignore[import-not-found] # beside
    CELLS,
    FEW,
    GUARANTEED,
    change_manifest,
    manifest_of,
)

#: Its claims say more than `CheckedClaim`.
verify_release: Any = events.verify_release

#: Each with options that leave the fewest weaknesses.
MADE = (
    Keep(),
    Recode(table="t"),
    Generalize(hierarchy=HierarchySection(intervals=(10.0,)), level=1),
    Sequence(scope="event"),
    Token(),
    Hash(bits=32),
    Mask(first=1, length=3),
    FreeText(find=("email",)),
    Round(decimals=1),
    Noise(how="add", law="laplace", scale=2.0, per="entity", decimals=0),
    Scale(table="t", by="a", other=1.0),
    CoarsenTime(every="1 day", zone="UTC", jitter="1 minute"),
    Shift(within="30 days", by="a", zone="UTC"),
)


@pytest.mark.parametrize("stated", [5, 1000, 1])
def test_evidence_that_is_not_what_was_counted_is_caught(made, stated):
    """Four users have the rarest zip; a smallest class under k contradicts the claim itself."""
    out = made(GUARANTEED, FEW)
    assert manifest_of(out)["claims"][0]["evidence"] == {"min_entities": 4}
    change_manifest(out, "claims", 0, "evidence", "min_entities", value=stated)

    found = verify_release(out)

    assert (found.holds, found.claims[0].holds, found.claims[0].failures) == (False, False, 0)
    assert f"Its evidence states {stated} entities" in " ".join(found.sentences())
    told = found.to_dict()["claims"][0]
    assert (told["stated"], told["least"], told["holds"]) == (stated, 4, False)


@pytest.mark.parametrize("stated", [4, 3, None])
def test_evidence_that_states_no_more_than_was_counted_holds(made, stated):
    out = made(GUARANTEED, FEW)
    change_manifest(out, "claims", 0, "evidence", "min_entities", value=stated)

    found = verify_release(out)

    assert found.holds
    assert (found.claims[0].stated, found.claims[0].unverified) == (stated, "")


def test_evidence_of_entities_is_not_confirmed_by_events(made):
    """Eight events show each zip: at most eight users, and how many isn't seen."""
    out = made(GUARANTEED.replace('[[rule]]\npath = "user"\ndo = "token"\n', ""), FEW)
    for stated, holds in ((4, True), (8, True), (9, False)):
        change_manifest(out, "claims", 0, "evidence", "min_entities", value=stated)
        (check,) = verify_release(out).claims
        assert (check.counted, check.least, check.holds) == ("events", 8, holds)
        assert bool(check.unverified) == holds
        assert bool(check.problem) != holds


def test_panes_without_their_guarantee_are_refused(made):
    out = made(GUARANTEED, FEW)
    change_manifest(out, "claims", value=[])

    with pytest.raises(VerificationError, match="no guarantee that is counted"):
        verify_release(out)


def test_a_bound_that_cells_do_not_have_is_said_to_be_unverified(made):
    """Their events are counted; that they are of two entities isn't."""
    policy = CELLS.replace("min-entities = 2", "min-entities = 2\nmin-events = 2")

    (check,) = verify_release(made(policy, FEW)).claims

    assert (check.holds, check.counted) == (True, "cells")
    assert check.unverified == "Its number of entities isn't verified: the cells don't have it."


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (None, "states no risk of its 60 lines"),
        ({"events": 0, "unique_events": 0}, "must be of 60"),
        ({"events": 59, "unique_events": 59}, "must be of 60"),
        ({"unique_events": 61}, "contradict each other"),
        ({"traces": 61}, "contradict each other"),
        ({"traces": 0, "unique_traces": 0}, "contradict each other"),
        ({"unique_traces": 12}, "contradict each other"),
        ({"by": None}, "contradict each other"),
        ({"by": "CANARY"}, "contradict each other"),
        ({"known": []}, "contradict each other"),
        ({"known": [{"points": 1, "traces": 11, "singled_out": 1.5}]}, "contradict each other"),
    ],
)
def test_a_risk_that_cannot_be_true_is_caught(copy, change, said):
    risk = manifest_of(copy)["details"]["risk"]
    assert (risk["events"], risk["by"], risk["traces"]) == (60, "entity", 11)
    change_manifest(copy, "details", "risk", value=None if change is None else risk | change)

    found = verify_release(copy)

    assert not found.holds
    assert said in " ".join(found.problems)
    assert "CANARY" not in str(found.to_dict())


def test_numbers_of_traces_are_said_to_be_unverified(copy):
    """A false number that could be true isn't seen, and the verdict doesn't confirm it."""
    change_manifest(copy, "details", "risk", "traces", value=12)

    found = verify_release(copy)

    assert found.holds
    assert [it.split(" aren't")[0] for it in found.unverified] == [
        "The numbers of traces and of known events"
    ]
    assert found.to_dict()["unverified"] == list(found.unverified)


def test_traces_by_another_owner_than_the_claims_have_are_caught(made):
    out = made(GUARANTEED, FEW)
    changes: list[dict[str, object]] = [
        {"by": None, "traces": 0, "unique_traces": 0, "known": []},
        {"by": "session"},
    ]
    for change in changes:
        risk = manifest_of(out)["details"]["risk"] | change
        change_manifest(out, "details", "risk", value=risk)
        assert "claims distinguish" in " ".join(verify_release(out).problems)


def with_forms(out, form, weaknesses, *, rule=None):
    """State one form for all fields."""
    fields = manifest_of(out)["details"]["fields"]
    for field in fields:
        field |= {"form": form, "weaknesses": weaknesses}
        field["rule"] = field["rule"] if rule is None else rule
    change_manifest(out, "details", "fields", value=fields)
    change_manifest(out, "weaknesses", value=[f"{it}: x" for it in weaknesses])


@pytest.mark.parametrize("do", sorted(LEAST_WEAKNESSES))
def test_a_form_without_its_weaknesses_is_caught(copy, do):
    options = {
        "bits": 8, "form": "hex", "every": "1 day", "zone": "UTC", "write": "date", "find": [],
        "first": 0, "last": 0, "mark": "*", "decimals": 1, "scope": "event",
    }  # fmt: skip
    with_forms(copy, {"do": do, **options}, [])

    said = " ".join(verify_release(copy).problems)
    assert "Field 1 of the manifest lacks a weakness" in said


@pytest.mark.parametrize("do", ["window", "count", "measure", "aggregate", "mark"])
@pytest.mark.parametrize("rule", [None, 0])
def test_a_form_of_cells_is_caught_in_events(copy, do, rule):
    """It has no weakness, and would take any text or number."""
    with_forms(copy, {"do": do}, [], rule=rule)

    assert "form of another kind" in " ".join(verify_release(copy).problems)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (".area", {"rule": 0, "form": {"do": "window"}, "weaknesses": []}),
        (".area", {"rule": 0, "form": {"do": "aggregate"}, "weaknesses": []}),
        (".area", {"rule": 0, "form": {"do": "measure"}, "weaknesses": []}),
        (".area", {"rule": 0}),
        (".n", {"rule": 1}),
        (".sum", {"rule": 0, "form": {"do": "window"}}),
    ],
)
def test_a_field_of_cells_that_no_aggregate_writes_so_is_caught(made, name, change):
    """A window takes any text, and a measure any number: neither may be a key's form."""
    out = made(CELLS, FEW)
    fields = manifest_of(out)["details"]["fields"]
    (field,) = [field for field in fields if field["steps"] == [name]]
    change_manifest(out, "details", "fields", value=[*fields, field | change])

    assert "form of another kind" in " ".join(verify_release(out).problems)


def test_every_action_names_the_weaknesses_that_a_verifier_requires():
    """The verifier's table is its own: it must know each action, and ask for no more."""
    known = {action.do: action for action in MADE}

    assert set(known) == set(LEAST_WEAKNESSES)
    assert {it.model_fields["do"].default for it in ACTIONS} - set(known) == {
        "erase", "recode-many",
    }  # fmt: skip
    for do, action in known.items():
        assert set(LEAST_WEAKNESSES[do]) <= set(action.weaknesses)


COARSER = """hierarchies = { zip = { groups = { low = ["0", "1"] } } }\n"""


def test_labels_of_a_guarantee_have_the_weaknesses_of_their_rule(made):
    """A generalized label beside a kept value; alone it lacks those of a label."""
    out = made(GUARANTEED + COARSER, FEW)
    fields = manifest_of(out)["details"]["fields"]
    assert [(it["form"]["do"], it["weaknesses"]) for it in fields[1:]] == [
        ("keep", ["value-kept"]), ("generalize", ["value-kept"]),
    ]  # fmt: skip

    assert verify_release(out).sentences() == ()
    change_manifest(out, "details", "fields", value=[fields[0], fields[2]])
    assert "lacks a weakness" in " ".join(verify_release(out).problems)
