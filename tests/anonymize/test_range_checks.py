"""Steps and units of ranges that would be without effect are errors."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

import halfmask as hm
from halfmask._errors import SchemaError

ROWS = pl.DataFrame(
    {
        "age": range(40),
        "born": [dt.date(1990, 1, 1) + dt.timedelta(days=37 * i) for i in range(40)],
        "sex": ["f", "m"] * 20,
    }
)
KINDS = {"age": "numeric", "born": "datetime", "sex": "categorical"}


def protected(recoding=None, **own):
    columns = {
        name: {"role": "quasi_identifier", "kind": kind}
        | ({"recoding": {"name": "ranges", **own[name]}} if name in own else {})
        for name, kind in KINDS.items()
    }
    sections = {} if recoding is None else {"recoding": {"name": "ranges", **recoding}}
    policy = hm.Policy(
        halfmask=1, columns=columns, guarantees=[{"model": "k-anonymity", "k": 4}], **sections
    )
    return hm.protect(ROWS, policy)


@pytest.mark.parametrize(
    ("own", "named"),
    [
        ({"born": {"step": 10}}, "'born' holds dates or times, and its recoding has a step"),
        ({"age": {"unit": "day"}}, "'age' holds numbers, and its recoding has a unit"),
        ({"age": {"step": 10, "unit": "day"}}, "'age' holds numbers, and its recoding has a unit"),
        ({"sex": {"step": 10}}, "'sex' holds neither .* has a step"),
        ({"sex": {"form": "bounds"}}, "'sex' holds neither .* has a form"),
    ],
)
def test_a_setting_without_effect_on_its_column_is_refused(own, named):
    with pytest.raises(SchemaError, match=named):
        protected(**own)


def test_ends_of_the_table_are_ends_of_all_its_numbers_and_dates():
    """A step alone would write birthdays as ends, although it was asked for others."""
    with pytest.raises(SchemaError, match=r"'born' holds dates or times.* have a step and no unit"):
        protected({"step": 10})
    with pytest.raises(SchemaError, match=r"'age' holds numbers.* have a unit and no step"):
        protected({"unit": "year"})
    with pytest.raises(SchemaError, match="have a unit, and none of its quasi-identifiers"):
        protected({"step": 10, "unit": "year"}, born={})
    protected({"step": 10, "unit": "year"})
    protected({"step": 10}, born={"unit": "year"})
    protected({"step": 10}, born={})
