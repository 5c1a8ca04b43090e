"""Several guarantees judged at once, on a table small enough to count by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import halfmask as hm
from halfmask._errors import ColumnNotFoundError, ParameterError
from halfmask.data import Hierarchy
from halfmask.guarantees import (
    Classes,
    DistinctLDiversity,
    KAnonymity,
    RecursiveCLDiversity,
    TCloseness,
    agreeing_rows,
    class_of_row,
    measure,
)

PEOPLE = pl.DataFrame(
    {
        "sex": ["f", "f", "f", "m", "m", None, None],
        "ill": ["flu", "cold", "flu", "flu", None, "cold", "cold"],
    }
)
TREE = Hierarchy.from_rows([("flu", "*"), ("cold", "*")], column="ill")


def achieved(*guarantees):
    found = measure(PEOPLE, quasi_identifiers=["sex"], guarantees=guarantees)
    return [judgement.achieved for judgement in found]


def test_each_guarantee_is_judged_in_its_place():
    """Classes f (flu 2, cold 1), m (flu 1, missing 1) and missing (cold 2)."""
    assert achieved(DistinctLDiversity(l=2, column="ill"), KAnonymity(k=2)) == [1.0, 2.0]


def test_one_column_may_be_judged_in_two_orders():
    """Table: flu 3/7, cold 3/7, missing 1/7. The class of cold differs by |0-3/7|+... = 4/7.

    In the order flu, cold, missing its cumulated shares are 0, 1, 1 against 3/7, 6/7, 1: (3/7 +
    1/7) / 2 = 2/7; that of f is 2/3, 1, 1: (5/21 + 1/7) / 2 = 4/21; of m 1/2, 1/2, 1: (1/14 +
    5/14) / 2 = 3/14.
    """
    found = achieved(
        TCloseness(t=0.5, column="ill"),
        TCloseness(t=0.5, column="ill", distance="ordered", hierarchy=TREE),
        RecursiveCLDiversity(c=3, l=2, column="ill"),
    )

    assert found == [pytest.approx(4 / 7), pytest.approx(2 / 7), float("inf")]


def test_it_judges_as_the_classes_do():
    guarantee = DistinctLDiversity(l=2, column="ill")
    classes = Classes.of(PEOPLE, quasi_identifiers=["sex"], sensitive=["ill"])

    (found,) = measure(PEOPLE, quasi_identifiers=["sex"], guarantees=[guarantee])

    assert sorted(found.levels.tolist()) == sorted(guarantee.judge(classes).levels.tolist())


def test_without_quasi_identifiers_all_rows_are_one_class():
    (found,) = measure(PEOPLE, quasi_identifiers=[], guarantees=[KAnonymity(k=2)])

    assert (found.classes, found.achieved) == (1, 7.0)


@pytest.mark.parametrize("named", [{"quasi_identifiers": ["sexx"]}, {"column": "ills"}])
def test_a_column_that_is_not_there_is_named_with_the_nearest(named):
    guarantee = DistinctLDiversity(l=2, column=named.get("column", "ill"))

    with pytest.raises(ColumnNotFoundError, match="Did you mean"):
        measure(
            PEOPLE,
            quasi_identifiers=named.get("quasi_identifiers", ["sex"]),
            guarantees=[guarantee],
        )


def test_a_table_without_rows_is_not_judged():
    with pytest.raises(ParameterError, match="no rows"):
        measure(PEOPLE.clear(), quasi_identifiers=["sex"], guarantees=[KAnonymity(k=2)])


ORDERED = ("none", "low", "mid", "high")
PLACES = [(i * i) % 4 if i % 3 else i % 4 for i in range(200)]


def with_an_order(kind):
    """A frame whose second column has an order that isn't that of the alphabet."""
    keys, texts = [i % 20 for i in range(200)], [ORDERED[it] for it in PLACES]
    if kind == "polars":
        return pl.DataFrame({"a": keys, "s": pl.Series(texts, dtype=pl.Enum(ORDERED))})
    cells = pd.Categorical(texts, categories=list(ORDERED), ordered=True)
    frame = pd.DataFrame({"a": keys, "s": cells})
    return frame if kind == "pandas" else pa.Table.from_pandas(frame)


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_ordered_categories_have_the_order_of_their_type(kind):
    """The distance is that of the places in the order, as numbers."""
    close = TCloseness(t=0.4, column="s", distance="ordered")
    numbers = pl.DataFrame({"a": [i % 20 for i in range(200)], "s": PLACES})
    expected = measure(numbers, quasi_identifiers=["a"], guarantees=[close])[0].achieved

    found = measure(with_an_order(kind), quasi_identifiers=["a"], guarantees=[close])[0]
    fitted = hm.Anonymizer(guarantees=[KAnonymity(k=2), close], quasi_identifiers=["a"])

    assert 0 < expected < 1
    assert found.achieved == expected
    assert fitted.fit(with_an_order(kind)).judgements_[1].holds
    texts = pl.DataFrame(numbers).with_columns(s=pl.Series([ORDERED[it] for it in PLACES]))
    with pytest.raises(ParameterError, match="its texts have none"):
        measure(texts, quasi_identifiers=["a"], guarantees=[close])


WEIGHTS = [18.0, 45.5, 39.0, 17.0, 92.0, 8.0, 123.5, 51.0]
A: list[int | None] = [2, 3, 2, 2, 3, 3, 1, 2]
B: list[int | None] = [3, 3, 3, 3, 3, 3, 4, 3]

#: Tables, and the fk and Fk that sdcMicro 5.8.1 gives for them (cf32510, its own tests).
GOLDEN: dict[str, tuple[dict[str, list[int | None]], list[int], list[float]]] = {
    "no missing cell": (
        {"A": A, "B": B, "C": [1, 3, 1, 2, 1, 1, 1, 1]},
        [3, 1, 3, 1, 2, 2, 1, 3],
        [108, 45.5, 108, 17, 100, 100, 123.5, 108],
    ),
    "missing cells": (
        {"A": A, "B": B, "C": [1, 3, None, 2, 1, 1, None, 1]},
        [3, 1, 4, 2, 2, 2, 1, 3],
        [108, 45.5, 125, 56, 100, 100, 123.5, 108],
    ),
    "a row and a column": (
        {"A": [2, 3, None, 2, 3, 3, 1, 2], "B": [3, 3, None, 3, 3, 3, 4, 3], "C": [None] * 8},
        [4, 4, 8, 4, 4, 4, 2, 4],
        [125, 184.5, 394, 125, 184.5, 184.5, 162.5, 125],
    ),
    "one column": (
        {"A": [2, 3, None, 2, 1, None, 1, 2]},
        [5, 3, 8, 5, 4, 8, 4, 5],
        [133, 92.5, 394, 133, 262.5, 394, 262.5, 133],
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_counts_and_sums_are_those_of_freqcalc(name):
    cells, fk, sums = GOLDEN[name]
    table = pl.DataFrame(cells)

    found = agreeing_rows(table, columns=table.columns)
    weighted = agreeing_rows(table, columns=table.columns, weights=np.array(WEIGHTS))

    assert found.dtype == np.int64
    assert found.tolist() == fk
    assert weighted.tolist() == sums


def test_more_columns_than_rows():
    rows = [
        (2, 2, 1, 3, 3, 3, 1, None),
        (3, 3, None, None, 2, None, 2, 4),
        (None, 3, 3, 3, 2, None, None, 4),
    ]
    table = pl.DataFrame(rows, schema=[f"k{j}" for j in range(8)], orient="row")

    weights = np.array([18.0, 45.5, 122.0])
    assert agreeing_rows(table, columns=table.columns).tolist() == [1, 2, 2]
    assert agreeing_rows(table, columns=table.columns, weights=weights).tolist() == [
        18.0,
        167.5,
        167.5,
    ]


cell = st.none() | st.sampled_from(["a", "b", "c"])


@pytest.mark.slow
@given(rows=st.lists(st.tuples(cell, cell, cell, cell), min_size=1, max_size=25))
def test_counts_are_those_of_comparing_all_pairs(rows):
    table = pl.DataFrame(rows, schema=dict.fromkeys("wxyz", pl.String), orient="row")
    expected = [
        sum(
            all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))
            for other in rows
        )
        for one in rows
    ]

    assert agreeing_rows(table, columns=list("wxyz")).tolist() == expected


def test_many_columns_of_many_values_are_compared_exactly():
    """Their keys don't fit into 64 bits at once."""
    rng = np.random.default_rng(5)
    half = pl.DataFrame(rng.integers(0, 2**60, (400, 9)), schema=[f"c{i}" for i in range(9)])
    table = pl.concat([half, half[:150]])
    of_row, n = class_of_row(table, quasi_identifiers=table.columns)

    found = agreeing_rows(table, columns=table.columns)

    assert found.tolist() == np.bincount(of_row, minlength=n)[of_row].tolist()


def test_an_empty_table_and_a_lacking_column():
    assert agreeing_rows(pl.DataFrame({"a": []}), columns=["a"]).tolist() == []
    with pytest.raises(ColumnNotFoundError):
        agreeing_rows(pl.DataFrame({"a": [1]}), columns=["b"])


@pytest.mark.parametrize("guarantees", [KAnonymity(k=2), [KAnonymity], "k", None])
def test_what_is_no_list_of_guarantees_is_refused(guarantees):
    with pytest.raises(ParameterError, match="'guarantees' parameter of measure"):
        measure(pl.DataFrame({"a": [1, 1]}), quasi_identifiers=["a"], guarantees=guarantees)
