"""Partitions: what leads, in the order in which it is tried."""

from __future__ import annotations

import numpy as np

from halfmask.anonymize import Guided, Mondrian
from halfmask.training import Guidance
from halfmask.training._partitions import partitions

SAID, ALONE = np.zeros((5, 1)), np.ones((5, 1))


def names(method, guidance, *, several):
    return [led.name for led in partitions(method, guidance, several=several)]


def test_with_other_columns_quasi_identifiers_lead_alone_first():
    both = Guidance(said=SAID, alone=ALONE)
    assert names(None, both, several=True) == [
        "led by quasi-identifiers alone",
        "led by rows",
        "led by quasi-identifiers alone, wider",
        "led by rows, wider",
    ]
    (only,) = partitions(None, both, several=False)
    assert only.guide is ALONE
    assert only.method == Guided()


def test_a_method_that_was_asked_for_is_the_only_one():
    rows = Guidance(said=SAID)
    assert names(Mondrian(), rows, several=True) == ["led by rows"]
    assert [led.method for led in partitions(None, rows, several=True)] == [
        Guided(),
        Guided(least_gain=0.2),
    ]
    assert "0" not in repr(partitions(Mondrian(), rows, several=True)[0])


def test_models_that_answer_in_steps_are_also_led_by_labels_and_to_the_end():
    rows, both = Guidance(said=SAID), Guidance(said=SAID, alone=ALONE)
    labels = np.full((5, 1), 2.0)
    found = partitions(None, rows, several=True, labels=labels)
    assert [led.name for led in found] == [
        "led by rows",
        "led by labels",
        "led by rows, to the end",
        "led by labels, to the end",
    ]
    assert found[1].guide is labels
    assert found[2].method == Guided(least_gain=0.0)
    found = partitions(None, both, several=True, labels=labels)
    assert [led.name for led in found if not led.by_others][::2] == [
        "led by quasi-identifiers alone",
        "led by quasi-identifiers alone, to the end",
    ]
    assert not any(led.by_others for led in found)
    # where the columns that it sees may be cut they are, to the end
    found = partitions(None, both, several=True, labels=labels, encoding=True)
    assert [(led.name, led.method) for led in found if led.by_encoding] == [
        (f"led by {who}, to the end, by the model's columns", Guided(least_gain=0.0))
        for who in ("quasi-identifiers alone", "labels")
    ]
    for method, given in ((Mondrian(), labels), (None, None)):
        found = partitions(method, both, several=True, labels=given, encoding=True)
        assert not any(led.by_encoding for led in found)
    # where rows can be parted by others these are cut too, led by what says something of them
    found = partitions(None, both, several=True, labels=labels, others=True)
    assert {led.name for led in found if led.by_others} == {
        f"led by {guide}{how}, by other columns too"
        for guide in ("labels", "rows")
        for how in ("", ", to the end")
    }
    asked = partitions(Mondrian(), both, several=True, labels=labels)
    assert {type(led.method) for led in asked} == {Mondrian}
    assert asked[0].guide is ALONE


def test_what_is_said_case_by_case_leads_models_that_answer_in_steps_to_the_end():
    cases, labels = np.arange(40.0).reshape(5, 4, 2), np.full((5, 1), 2.0)
    known = Guidance(said=SAID, alone=ALONE, cases=cases)
    side_by_side = np.arange(40.0).reshape(5, 8)
    found = partitions(None, known, several=True, labels=labels, others=True, encoding=True)
    by_case = [led for led in found if np.array_equal(led.guide, side_by_side)]
    assert [(led.name, led.by_encoding, led.by_others) for led in by_case] == [
        ("led by quasi-identifiers case by case, to the end", False, False),
        (
            "led by quasi-identifiers case by case, to the end, by the model's columns",
            True,
            False,
        ),
    ]
    assert {led.method for led in by_case} == {Guided(least_gain=0.0)}
    # a method that was asked for is led by them once; other models aren't
    asked = partitions(Mondrian(), known, several=True, labels=labels)
    assert [led.name for led in asked if led.guide.shape == (5, 8)] == [
        "led by quasi-identifiers case by case"
    ]
    assert not any(led.guide.shape == (5, 8) for led in partitions(None, known, several=True))
