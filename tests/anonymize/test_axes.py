"""Where codes lie: standardized numbers, or Gower's places from 0 to 1."""

from __future__ import annotations

from datetime import date

import numpy as np
import polars as pl

from halfmask.anonymize._axes import Axes
from halfmask.anonymize.coding import code_column
from halfmask.data import Column
from halfmask.kernels.partition.mdav import MEAN, MEDIAN, MISSING, MODE


def coded(name, cells, kind, order=()):
    series = pl.Series(name, cells)
    column = Column(name=name, role="quasi_identifier", kind=kind, order=order)
    coding = code_column(column, series.drop_nulls().unique(), missing=bool(series.null_count()))
    return coding, coding.codes(series)


def axes_of(*columns):
    codings, codes = zip(*columns, strict=True)
    axes = Axes.of(codings, codes)
    return axes, axes.points(codes), axes.columns(codes)


def test_numbers_and_dates_are_standardized_over_the_rows():
    ages = [20, 20, 20, 60]
    days = [date(2020, 1, 1), date(2020, 1, 3), date(2020, 1, 5), date(2020, 1, 7)]
    axes, points, columns = axes_of(coded("age", ages, "numeric"), coded("day", days, "datetime"))

    assert not axes.capped
    assert columns.averages.tolist() == [MEAN, MEAN]
    assert np.allclose(points[:, 0], (np.array(ages) - 30) / np.std(ages))
    assert np.allclose(points[:, 1], np.array([-3, -1, 1, 3]) / np.std([-3, -1, 1, 3]))


def test_a_missing_number_lies_on_an_axis_of_its_own():
    _, points, columns = axes_of(coded("age", [1.0, 3.0, None], "numeric"))

    assert np.allclose(points, [[-1.0, 0.0], [1.0, 0.0], [0.0, 3.0]])
    assert len(columns.averages) == 2


def test_mixed_columns_have_places_from_0_to_1_and_categories_their_codes():
    axes, points, columns = axes_of(
        coded("age", [10, 20, 50, None], "numeric"),
        coded("size", ["s", "m", "l", None], "ordinal", order=("s", "m", "l")),
        coded("town", ["x", "y", "y", None], "categorical"),
    )

    assert axes.capped
    assert columns.averages.tolist() == [MEAN, MEDIAN, MODE]
    assert points.tolist() == [
        [0.0, 0.0, 0.0],
        [0.25, 0.5, 1.0],
        [1.0, 1.0, 1.0],
        [MISSING, MISSING, 2.0],
    ]
    assert columns.levels.tolist() == [0.0, 0.5, 1.0, MISSING, 0.0, 1.0, 2.0]
    assert columns.offsets.tolist() == [0, 0, 4, 7]


def test_columns_of_one_value_or_none_are_equal_everywhere():
    for kind, cells in (("numeric", [5, 5]), ("numeric", [1e300, 1e300])):
        assert not axes_of(coded("n", cells, kind))[1].any()
    empty = pl.Series("n", [None, None], dtype=pl.Int64)
    _, points, _ = axes_of(coded("n", empty, "numeric"), coded("c", ["a", "b"], "categorical"))
    assert points[:, 0].tolist() == [MISSING, MISSING]


def test_the_representation_shows_no_value():
    assert repr(axes_of(coded("n", [1, 2], "numeric"))[0]) == "Axes(1 columns)"
