"""Ends of ranges at multiples of a step and starts of units, against plain arithmetic."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask import Anonymizer, KAnonymity, Ranges
from halfmask._errors import ParameterError, SchemaError
from halfmask.anonymize import Mondrian
from halfmask.anonymize._range_grid import RangeGrid
from halfmask.data import Intervals

STEPS = st.sampled_from([0.1, 0.05, 0.3, 0.25, 1.0, 2.5, 5.0, 7.0, 100.0, 1e-6])


@given(st.floats(-1e9, 1e9), STEPS)
def test_a_number_lies_in_its_piece(value, step):
    grid = RangeGrid(step=step)
    start = grid.starts(pl.Series("x", [value]))
    end = grid.ends(start)

    assert start[0] <= value < end[0]
    # Both ends are the multiples that the step's decimals say, and neighbours.
    decimal = Fraction(str(step))
    place = round(Fraction(start[0]) / decimal)
    assert float(place * decimal) == pytest.approx(start[0], abs=1e-9 * max(1, abs(value)))
    assert float((place + 1) * decimal) == pytest.approx(end[0], abs=1e-9 * max(1, abs(value)))


@given(st.floats(-1e6, 1e6), STEPS)
def test_the_end_of_a_piece_is_the_start_of_the_next(value, step):
    grid = RangeGrid(step=step)
    end = grid.ends(grid.starts(pl.Series("x", [value])))
    assert grid.starts(end)[0] == end[0]


@given(st.integers(-(2**40), 2**40), st.integers(1, 10**6))
def test_whole_numbers_stay_whole(value, step):
    start = RangeGrid(step=step).starts(pl.Series("x", [value]))
    assert start.dtype == pl.Int64
    assert start[0] == value // step * step
    assert RangeGrid(step=step).ends(start)[0] == start[0] + step


@pytest.mark.parametrize(
    ("unit", "start", "end"),
    [
        (
            "minute",
            datetime.fromisoformat("2024-02-29T13:59:00"),
            datetime.fromisoformat("2024-02-29T14:00:00"),
        ),
        (
            "hour",
            datetime.fromisoformat("2024-02-29T13:00:00"),
            datetime.fromisoformat("2024-02-29T14:00:00"),
        ),
        (
            "day",
            datetime.fromisoformat("2024-02-29T00:00:00"),
            datetime.fromisoformat("2024-03-01T00:00:00"),
        ),
        (
            "week",
            datetime.fromisoformat("2024-02-26T00:00:00"),
            datetime.fromisoformat("2024-03-04T00:00:00"),
        ),
        (
            "month",
            datetime.fromisoformat("2024-02-01T00:00:00"),
            datetime.fromisoformat("2024-03-01T00:00:00"),
        ),
        (
            "quarter",
            datetime.fromisoformat("2024-01-01T00:00:00"),
            datetime.fromisoformat("2024-04-01T00:00:00"),
        ),
        (
            "year",
            datetime.fromisoformat("2024-01-01T00:00:00"),
            datetime.fromisoformat("2025-01-01T00:00:00"),
        ),
    ],
)
def test_times_end_at_starts_of_units(unit, start, end):
    found = RangeGrid(unit=unit).starts(
        pl.Series("t", [datetime.fromisoformat("2024-02-29T13:59:59.123456")])
    )
    assert found.to_list() == [start]
    assert RangeGrid(unit=unit).ends(found).to_list() == [end]


def test_fractions_of_whole_numbers_and_hours_of_dates_are_refused():
    with pytest.raises(SchemaError, match="whole step"):
        RangeGrid(step=0.5).starts(pl.Series("age", [1]))
    with pytest.raises(SchemaError, match="hour"):
        RangeGrid(unit="hour").starts(pl.Series("born", [date(2024, 1, 1)]))
    with pytest.raises(ParameterError, match="step"):
        Ranges(step=0)
    with pytest.raises(ParameterError, match="unit"):
        Ranges(unit="fortnight")  # type: ignore[arg-type] # as it says


def _written(rows: pl.DataFrame, recoding: Ranges, k: int = 4) -> pl.DataFrame:
    anonymizer = Anonymizer(guarantees=[KAnonymity(k=k)], method=Mondrian(), recoding=recoding)
    written = anonymizer.fit_transform(rows)
    assert isinstance(written, pl.DataFrame)
    return written


def test_every_row_lies_in_its_range_and_no_ranges_of_one_column_overlap():
    draw = np.random.default_rng(1)
    rows = pl.DataFrame({"pay": draw.normal(30, 9, 400)})

    texts = _written(rows, Ranges(step=2.5))["pay"]

    ends = texts.str.strip_chars("[)").str.split(", ").list.eval(pl.element().cast(pl.Float64))
    low, high = ends.list.get(0), ends.list.get(1)
    assert ((low <= rows["pay"]) & (rows["pay"] < high)).all()
    assert (low % 2.5 == 0).all()
    assert (high % 2.5 == 0).all()
    pieces = pl.DataFrame({"low": low, "high": high}).unique().sort("low")
    assert (pieces["low"][1:] >= pieces["high"][:-1]).all()
    assert min(texts.value_counts()["count"].to_list()) >= 4


def test_no_end_is_a_microsecond_of_somebody():
    draw = np.random.default_rng(2)
    seconds = pl.Series(draw.integers(0, 10**7, 300).tolist())
    times = pl.select(
        pl.lit("2024-01-01").str.to_datetime()
        + pl.duration(seconds=pl.lit(seconds), microseconds=pl.lit(seconds))
    ).to_series()
    rows = pl.DataFrame({"seen": times})

    texts = _written(rows, Ranges(unit="hour"))["seen"]
    plain = _written(rows, Ranges())["seen"]

    assert not plain.str.contains(":00:00.000000").all()
    assert texts.str.count_matches(":00:00").eq(2).all()


def test_missing_cells_stay_beside_the_pieces():
    rows = pl.DataFrame({"pay": [1.0, 2.0, 3.0, None, None]})
    texts = _written(rows, Ranges(step=10), k=5)["pay"]
    assert set(texts) == {"[0.0, 10.0) or missing"}


def test_new_rows_find_their_piece():
    rows = pl.DataFrame({"age": list(range(20, 60))})
    anonymizer = Anonymizer(guarantees=[KAnonymity(k=10)], recoding=Ranges(step=10)).fit(rows)

    found = anonymizer.transform(pl.DataFrame({"age": [20, 29, 30, 59]}))["age"]

    assert found.to_list() == ["[20, 30)", "[20, 30)", "[30, 40)", "[50, 60)"]


def test_a_hierarchy_and_a_step_are_refused_together():
    anonymizer = Anonymizer(
        guarantees=[KAnonymity(k=2)],
        recoding=Ranges(step=10),
        hierarchies={"age": Intervals((5,))},
    )
    with pytest.raises(SchemaError, match="hierarchy"):
        anonymizer.fit(pl.DataFrame({"age": [1, 2, 3, 4]}))


def test_ends_of_the_grid_are_no_weakness():
    assert Ranges().weaknesses == ("range-ends-are-values",)
    assert Ranges(step=5).weaknesses == ("range-ends-are-values",)  # dates still end at values
    assert Ranges(step=5, unit="month").weaknesses == ()
