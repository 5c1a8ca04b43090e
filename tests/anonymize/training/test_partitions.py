"""Partitions: what leads, in the order in which it is tried."""

from __future__ import annotations

import numpy as np
import polars as pl

import halfmask as hm
from halfmask.anonymize import Guided, Mondrian
from halfmask.anonymize.training import Guidance
from halfmask.anonymize.training._partitions import parted_by, partitions

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
    # where other columns reach the model they are cut too, led by what says something of them
    assert {led.name for led in found if led.by_others} == {
        f"led by {guide}{how}, by other columns too"
        for guide in ("labels", "rows")
        for how in ("", ", to the end")
    }
    asked = partitions(Mondrian(), both, several=True, labels=labels)
    assert {type(led.method) for led in asked} == {Mondrian}
    assert asked[0].guide is ALONE


def test_only_numbers_that_are_always_there_part_rows_beside_quasi_identifiers():
    table = pl.DataFrame(
        {
            "other": [1.5, 2.5, 3.5],
            "text": ["a", "b", "a"],
            "zip": [1, 2, 3],
            "holes": [1.0, None, 2.0],
            "count": [1, 2, 3],
            "truth": [True, False, True],
        }
    )
    k = hm.KAnonymity(k=2)
    assert parted_by(table, ["zip"], [k]) == ["zip", "other", "count"]
    judged = hm.DistinctLDiversity(l=2, column="other")
    assert parted_by(table, ["zip"], [k, judged]) == ["zip", "count"]
    assert parted_by(table, ["other", "zip", "count"], [k]) == ["other", "zip", "count"]
