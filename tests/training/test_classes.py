"""Classes: a partition as a model sees it, and the same made of some of its rows."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier

import halfmask as hm
from halfmask.anonymize import Anonymizer

K = 20
NAMES = ["a", "b", "other"]
TREE = DecisionTreeClassifier(max_depth=4, random_state=0)


def people(n=400, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 3))
    return pl.DataFrame(rows, schema=NAMES), (rows.sum(axis=1) > 0).astype(int)


@pytest.mark.slow
@pytest.mark.parametrize("names", [NAMES, NAMES[:2]])
def test_classes_of_some_rows_are_those_of_the_same_method_on_these_alone(tried, names):
    rows, y = people()
    some = np.random.default_rng(1).permutation(400)[:190]
    found = tried(TREE, rows, y, k=K, quasi_identifiers=names)
    assert {each.led.by_encoding for each in found} == {False, True}
    assert any(each.led.by_others for each in found) == (names != NAMES)
    for each in found:
        made = each.of_part(some)
        seen = [*each.anonymizer.plan_.quasi_identifiers]
        depends = each.judge.depends
        table = rows
        if each.led.by_encoding:
            table = pl.DataFrame(each.judge.encoded[:, depends], schema=seen)
        alone = Anonymizer(
            guarantees=[hm.KAnonymity(k=K)], method=each.led.method, quasi_identifiers=seen
        ).fit(table[some], each.led.guide[some])
        assert np.array_equal(made.rows.classes, alone.cells_)
        assert made.rows.sizes.min() >= K
        assert np.array_equal(made.judge.labels, y[some])
        assert np.array_equal(made.judge.encoded, each.judge.encoded[some])
        assert np.array_equal(made.rows.guide, each.rows.guide[some])
        assert np.array_equal(made.guide, each.guide[some])


def test_some_rows_are_of_those_who_are_not_suppressed(tried):
    rows, y = people(seed=1)
    far = rows.with_columns(pl.all() + 100.0 * (pl.int_range(pl.len()) < K - 1))  # no class alone
    settings = {"method": hm.anonymize.Mondrian(), "max_suppression_fraction": 0.2}
    classes = tried(TREE, far, y, k=K, **settings)[0]
    left = np.flatnonzero(classes.kept)
    assert len(left) < 400
    some = np.arange(0, len(left), 2)
    made = classes.of_part(some)
    assert np.array_equal(made.whole.labels, y[left[some]])
    assert np.array_equal(made.whole.encoded, classes.judge.encoded[some])


def test_what_another_guide_says_leads_in_place_of_the_one_that_led(tried):
    rows, y = people()
    some = np.arange(0, 400, 2)
    said = np.random.default_rng(2).random((200, 2))
    led_by_rows = 0
    for each in tried(TREE, rows, y, k=K):
        made = each.of_part(some, said)
        leads = each.led.guide is each.whole.guidance.said
        led_by_rows += leads
        assert np.array_equal(made.rows.guide, said)
        assert np.array_equal(made.guide, said if leads else each.guide[some])
        assert np.array_equal(each.rows.guide, each.whole.guidance.said), "the whole is as it was"
    assert led_by_rows
