"""Cells and what they were grown from: codes of rows, orders of sensitive values."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from halfmask._errors import ParameterError
from halfmask.anonymize import Guided, Mondrian, Protection, Ranges
from halfmask.data import Column, Hierarchy, Schema
from halfmask.guarantees import DistinctLDiversity, KAnonymity, TCloseness

SCHEMA = Schema(
    (
        Column(name="city", role="quasi_identifier", kind="categorical"),
        Column(name="pay", role="sensitive", kind="numeric"),
    )
)


def fit(frame, *guarantees, method=None, split_targets=()):
    protection = Protection(
        schema=SCHEMA,
        guarantees=guarantees,
        method=method or Mondrian(),
        recoding=Ranges(),
        max_suppression_fraction=0.0,
        split_targets=split_targets,
    )
    return protection.fit(protection.summarize(frame))


def test_texts_are_coded_as_their_coding_says():
    frame = pl.DataFrame({"city": ["b", None, "a", "c", "b"], "pay": range(5)})

    fitted = fit(frame, KAnonymity(k=1))

    assert fitted.codes[0].tolist() == [1, 3, 0, 2, 1]
    assert fitted.codings[0].codes(frame["city"]).tolist() == [1, 3, 0, 2, 1]


@pytest.mark.parametrize(
    "pay",
    [
        pl.Series([1.0, 2.5, 1.0, 39.0]),
        pl.Series([1, 2, 1, None]),
        pl.Series(["low", "high", "low", None]),
        pl.Series([True, False, True, None]),
        pl.Series(["2020-01-01", "2021-01-01", "2020-01-01", None]).str.to_date(),
    ],
    ids=lambda pay: str(pay.dtype),
)
def test_sensitive_values_of_every_type_are_counted(pay):
    """Whole floating-point numbers included, which hierarchies spell without a point."""
    frame = pl.DataFrame({"city": ["a", "a", "b", "b"], "pay": pay})

    fitted = fit(frame, DistinctLDiversity(l=2, column="pay"), KAnonymity(k=2))

    assert [judgement.holds for judgement in fitted.judge()] == [True, True]
    assert fitted.partition.n_cells == 2


def test_ordered_distance_without_a_tree_takes_the_natural_order():
    frame = pl.DataFrame({"city": list("aabb"), "pay": [100.0, 9.0, 100.0, 9.0]})

    fitted = fit(frame, TCloseness(t=0.1, column="pay", distance="ordered"))

    assert fitted.sensitive[0].order == ("9", "100")
    assert fitted.partition.n_cells == 2


def test_one_column_in_two_orders_is_refused():
    frame = pl.DataFrame({"city": list("aabb"), "pay": [1, 2, 3, 4]})
    up = Hierarchy.from_rows([(str(i), "*") for i in (1, 2, 3, 4)], column="pay")
    down = Hierarchy.from_rows([(str(i), "*") for i in (4, 3, 2, 1)], column="pay")

    def ordered(hierarchy=None):
        return TCloseness(t=1.0, column="pay", distance="ordered", hierarchy=hierarchy)

    with pytest.raises(ParameterError, match="'pay' is to be judged in two different orders"):
        fit(frame, ordered(up), ordered(down))
    with pytest.raises(ParameterError, match="two different orders"):
        fit(frame, ordered(), ordered(down))
    fit(
        frame,
        ordered(),
        ordered(up),
        DistinctLDiversity(l=2, column="pay"),
    )


def test_a_guide_orders_the_categories():
    cities = ["a", "b", "c", "d"] * 5
    frame = pl.DataFrame({"city": cities, "pay": [0 if c in "ac" else 1 for c in cities]})

    fitted = fit(frame, KAnonymity(k=10), method=Guided(), split_targets=("pay",))

    assert sorted(fitted.codings[0].values.to_list()[:2]) == ["a", "c"]
    assert fitted.partition.n_cells == 2
    np.testing.assert_array_equal(fitted.codings[0].codes(frame["city"]), fitted.codes[0])


def test_missing_stays_last_whatever_the_guide():
    frame = pl.DataFrame({"city": ["a", None, "b", None], "pay": [1, 0, 1, 0]})

    fitted = fit(frame, KAnonymity(k=1), method=Guided(), split_targets=("pay",))

    assert fitted.codes[0].tolist()[1::2] == [2, 2]
