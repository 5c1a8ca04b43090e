"""Ranges of numbers and dates, sets of categories, as a reader sees them."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

import halfmask as hm
from halfmask._errors import SchemaError
from halfmask.anonymize import Ranges
from halfmask.data import Hierarchy, Intervals


def test_numbers(write):
    assert write(Ranges(), [17, 30, 20], [40, 40], [41, 90]).to_list() == [
        "[17, 30]",
        "40",
        "[41, 90]",
    ]


def test_fractions(write):
    assert write(Ranges(), [0.5, 1.25], [2.0]).to_list() == ["[0.5, 1.25]", "2.0"]


def test_dates(write):
    days = [dt.date(2020, 1, 31), dt.date(2021, 2, 1)]

    assert write(Ranges(), days, days[:1], kind="datetime").to_list() == [
        "[2020-01-31, 2021-02-01]",
        "2020-01-31",
    ]


def test_categories(write):
    written = write(Ranges(), ["b", "a"], ["c", "c"], ["d", "b"], kind="categorical")

    assert written.to_list() == ["{a, b}", "c", "{b, c, d}"]


def test_texts_that_could_be_read_as_something_else_are_quoted(write):
    members = ["a", "b, b", "c}", 'd"', " e", "f or missing", "[g]"]
    (written,) = write(Ranges(), members, kind="categorical").to_list()
    alone = ["{a, b}", "[1, 2]", '"a"', "a or missing"]

    assert written == '{" e", "[g]", a, "b, b", "c}", "d\\"", "f or missing"}'
    assert write(Ranges(), *[[text] for text in alone], kind="categorical").to_list() == [
        '"{a, b}"',
        '"[1, 2]"',
        '"\\"a\\""',
        '"a or missing"',
    ]
    # Alone, a comma can't be misread.
    assert write(Ranges(), ["Smith, John"], kind="categorical").to_list() == ["Smith, John"]


def test_sets_of_different_members_are_written_differently(write):
    first, second = ["a", "b, b", "c"], ["a, b", "b", "c"]

    assert write(Ranges(), first, kind="categorical").to_list() == ['{a, "b, b", c}']
    assert write(Ranges(), second, kind="categorical").to_list() == ['{"a, b", b, c}']


def test_a_cell_that_mixes_missing_says_so(write):
    assert write(Ranges(), [1, None, 3], [2, None], [None, None], [4]).to_list() == [
        "[1, 3] or missing",
        "2 or missing",
        None,
        "4",
    ]
    assert write(Ranges(), ["a", None, "b"], [None], kind="categorical").to_list() == [
        "{a, b} or missing",
        None,
    ]


def test_a_column_of_missing_cells_only(write):
    assert write(Ranges(), [None, None], [None], dtype=pl.Int64).to_list() == [None, None]
    assert write(Ranges(), [None], dtype=pl.String, kind="categorical").to_list() == [None]


def test_thirty_two_members_are_named_and_more_are_counted(write):
    names = [f"{i:02}a" for i in range(33)]

    (all_named,) = write(Ranges(), names[:32], kind="categorical").to_list()
    (counted,) = write(Ranges(), names, kind="categorical").to_list()
    (missing,) = write(Ranges(), [*names, None], kind="categorical").to_list()

    assert all_named == "{" + ", ".join(names[:32]) + "}"
    assert counted == "{00a, 01a, 02a, 03a, ... 33 in all}"
    assert missing == "{00a, 01a, 02a, 03a, ... 33 in all} or missing"


def test_a_value_that_only_suppressed_rows_had_is_not_named(write):
    written = write(Ranges(), ["a", "c"], ["d"], kind="categorical", unused=["b", "canary"])

    assert written.to_list() == ["{a, c}", "d"]


def test_members_are_counted_without_those_that_left(write):
    names = [f"{i:02}a" for i in range(33)]

    (written,) = write(
        Ranges(), names[:1] + names[2:], kind="categorical", unused=names[1:2]
    ).to_list()

    assert "01a" not in written
    assert "00a, 02a, 03a" in written


def test_numbers_with_a_hierarchy_stay_ranges(write):
    assert write(Ranges(), [17, 31], hierarchy=Intervals(widths=(10,))).to_list() == ["[17, 31]"]


def test_a_hierarchy_orders_the_members(write):
    tree = Hierarchy.from_rows([("z", "first"), ("y", "first"), ("a", "last")], column="x")

    assert write(Ranges(), ["y", "z"], ["a"], kind="categorical", hierarchy=tree).to_list() == [
        "{z, y}",
        "a",
    ]


def test_the_column_keeps_its_name_and_is_text(write):
    written = write(Ranges(), [1])

    assert (written.name, written.dtype) == ("x", pl.String)


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
