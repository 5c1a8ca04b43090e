"""Codes of missing answers among numbers: seen by describe, and made missing by name."""

from __future__ import annotations

import json
import re

import numpy as np
import polars as pl
import pytest

from halfmask.data import ReadOptions, open_table
from halfmask.description import describe
from halfmask.description.profile import coded_cells

INCOME = [100.0 + 37.5 * i for i in range(2_000)]


@pytest.mark.parametrize(
    ("numbers", "cells"),
    [
        ([*INCOME, *[-8.0] * 603], 603),
        ([*INCOME, *[-8.0] * 3, *[-9.0] * 4], 7),  # few, and far from the least
        ([*range(18, 91), *range(18, 91), 999, 999], 2),
        ([*range(60), *[-1] * 400], 400),
        (INCOME, 0),
        ([*range(-9, 30)] * 3, 0),  # degrees
        ([*range(18, 100)] * 3, 0),  # people of 99 years
        ([*INCOME, *[-8.5] * 603], 0),
        ([-8] * 50, 0),
        ([], 0),
    ],
)
def test_numbers_that_stand_apart_are_counted(numbers, cells):
    values, counts = np.unique(np.array(numbers, dtype=float), return_counts=True)

    assert coded_cells(values, counts) == cells


def test_describe_counts_them_and_names_none():
    """603 cells of -8 among incomes were described as numbers like the others."""
    table = pl.DataFrame({"income": [*INCOME, *[-8.0] * 603]})

    proposal = describe(table)["income"]

    assert proposal.evidence["cells_like_codes"] == 603
    said = " ".join(proposal.reasons)
    assert "603 of its cells hold whole numbers apart from the others" in said
    assert "-8" not in said


@pytest.mark.parametrize("form", ["frame", "csv", "parquet", "jsonl", "declared"])
@pytest.mark.parametrize("mark", ["-8", "-8.0", "-8.00"])
def test_a_marker_that_spells_a_number_marks_it_however_it_is_written(tmp_path, form, mark):
    table = pl.DataFrame({"pay": [100.5, -8.0, 3.0], "n": [1, -8, 88], "job": ["x", mark, "-88"]})
    where = tmp_path / f"a.{form}"
    options = ReadOptions(missing=(mark,))
    if form in {"csv", "declared"}:
        table.write_csv(where)
    elif form == "parquet":
        table.write_parquet(where)
    elif form == "jsonl":
        where.write_text("\n".join(map(json.dumps, table.to_dicts())))
    if form == "declared":
        options = ReadOptions(missing=(mark,), dtypes={"pay": "float", "n": "integer"})

    found = open_table(
        table if form == "frame" else where,
        options=options,
        format="csv" if form == "declared" else None,
    ).read()

    assert found.rows() == [(100.5, 1, "x"), (None, None, None), (3.0, 88, "-88")]


def test_markers_of_no_number_leave_numbers_alone():
    table = pl.DataFrame({"n": [0, 1, 10], "b": [True, False, None]})
    marks = ("", "NA", "0x1", "1_0", "nan", "yes")

    assert open_table(table, options=ReadOptions(missing=marks)).read().equals(table)


def test_codes_are_those_of_the_patterns():
    """Digits of codes: ``-8``, ``-77``, ``-9999``; ``99``, ``998``, ``99999``, of any length."""
    low = re.compile(r"-(?:[1-9]|66+|77+|88+|99+|9+[78])")
    high = re.compile(r"99+|9+[78]")
    others = np.arange(200.0, 210.0)

    for code in (-1, -7, -66, -666, -97, -98, -998, -65, -96, -10, -9997, -8888, -7777777):
        cells = np.append(np.ones(10, int), 40)
        assert bool(coded_cells(np.append(others, code), cells)) == bool(low.fullmatch(f"{code}"))
    for code in (997, 998, 999, 996, 9998, 99997, 899, 9999999999999999, 9999999999999998):
        cells = np.append(np.ones(10, int), 2)
        found = bool(coded_cells(np.append(others, code), cells))
        assert found == bool(high.fullmatch(f"{float(code):.0f}"))
