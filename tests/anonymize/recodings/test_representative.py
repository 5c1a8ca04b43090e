"""One of a class's own rows."""

from __future__ import annotations

import polars as pl
import pytest

from halfmask._errors import ParameterError
from halfmask.anonymize import Mondrian, Protection, Representative
from halfmask.data import Column, Schema
from halfmask.guarantees import KAnonymity


def protected(frame, *, k):
    kinds = {"age": "numeric", "city": "categorical"}
    columns = [
        Column(name=name, role="quasi_identifier", kind=kinds[name])  # type: ignore[arg-type]
        for name in frame.columns
    ]
    protection = Protection(
        schema=Schema(tuple(columns)),
        guarantees=(KAnonymity(k=k),),
        method=Mondrian(),
        recoding=Representative(),
        max_suppression_fraction=0.0,
    )
    plan, fitted = protection.plan(protection.fit(protection.summarize(frame)))
    return plan.apply(frame, cells=fitted.cell_of_row)


def test_the_code_that_was_chosen_is_written(write):
    assert write(Representative(), [1, 2, 3], [7, None], chosen=[2, None]).to_list() == [2, None]


def test_it_needs_the_rows(write):
    with pytest.raises(ParameterError, match="rows themselves"):
        write(Representative(), [1, 2])


def test_every_class_is_written_as_one_of_its_own_rows():
    ages = [20, 21, 29, 60, 61, 69]
    cities = ["a", "a", "b", "c", "b", "c"]
    frame = pl.DataFrame({"age": ages, "city": cities})

    written = protected(frame, k=3)

    assert written.rows() == [(21, "a")] * 3 + [(60, "c")] * 3


def test_of_rows_equally_near_the_first_is_taken():
    frame = pl.DataFrame({"age": [10, 30, 20, 20], "city": ["a", "a", "a", "a"]})

    assert protected(frame, k=4).rows() == [(20, "a")] * 4


def test_missing_cells_may_be_the_representative():
    frame = pl.DataFrame({"age": [None, None, None, 5]}, schema={"age": pl.Int64})

    assert protected(frame, k=4).rows() == [(None,)] * 4
