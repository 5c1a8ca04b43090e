"""Partitions: what leads, in the order in which it is tried."""

from __future__ import annotations

import numpy as np

from halfmask.anonymize import Guided, Mondrian
from halfmask.anonymize.training import Guidance
from halfmask.anonymize.training._partitions import partitions

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


def test_models_that_answer_in_steps_are_also_led_to_the_end():
    rows, both = Guidance(said=SAID), Guidance(said=SAID, alone=ALONE)
    found = [led.name for led in partitions(None, rows, several=True, in_steps=True)]
    assert found == ["led by rows", "led by rows, wider", "led by rows, to the end"]
    found = [led.name for led in partitions(None, both, several=True, in_steps=True)]
    assert found == [
        "led by quasi-identifiers alone",
        "led by quasi-identifiers alone, to the end",
    ]
    (only,) = partitions(Mondrian(), both, several=True, in_steps=True)
    assert only.method == Mondrian()
