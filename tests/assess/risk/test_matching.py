from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import ColumnNotFoundError, DataError
from halfmask.assess.risk import equal_rows, matching_rows, table_risk

CELL = st.none() | st.integers(0, 1)
ROWS = st.lists(st.tuples(CELL, CELL, CELL), max_size=25)
NAMES = ["a", "b", "c"]


def frame_of(rows: list[tuple[int | None, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(NAMES, pl.Int64), orient="row")


def match(left: tuple[int | None, ...], right: tuple[int | None, ...]) -> bool:
    return all(a == b or a is None or b is None for a, b in zip(left, right, strict=True))


@pytest.mark.slow
@given(ROWS, ROWS)
def test_a_missing_cell_matches_any_value_on_either_side(rows, others):
    found = matching_rows(frame_of(rows), frame_of(others), quasi_identifiers=NAMES)

    assert found.tolist() == [sum(match(row, other) for other in others) for row in rows]


@pytest.mark.slow
@given(ROWS, ROWS)
def test_as_a_value_missing_equals_only_missing(rows, others):
    found = equal_rows(frame_of(rows), frame_of(others), quasi_identifiers=NAMES)

    assert found.tolist() == [others.count(row) for row in rows]


def test_eight_rows_of_sdcmicro_match_as_its_own_tests_say():
    """Of sdcMicro's test_freqCalc.R, "numeric values with missing values": fk."""
    frame = pl.DataFrame(
        {
            "A": [2, 3, 2, 2, 3, 3, 1, 2],
            "B": [3, 3, 3, 3, 3, 3, 4, 3],
            "C": [1, 3, None, 2, 1, 1, None, 1],
        }
    )

    found = matching_rows(frame, frame, quasi_identifiers=["A", "B", "C"])

    assert found.tolist() == [3, 1, 4, 2, 2, 2, 1, 3]


def test_without_quasi_identifiers_every_row_matches_all():
    frame, others = frame_of([(1, 1, 1)] * 2), frame_of([(0, 0, 0)] * 3)

    assert matching_rows(frame, others, quasi_identifiers=[]).tolist() == [3, 3]
    assert equal_rows(frame, others, quasi_identifiers=[]).tolist() == [3, 3]


@pytest.mark.parametrize("count", [equal_rows, matching_rows])
def test_what_lacks_a_column_is_named(count):
    frame, others = frame_of([]), frame_of([]).drop("b")

    with pytest.raises(ColumnNotFoundError, match=r"the population.*'b'"):
        count(frame, others, quasi_identifiers=NAMES)
    with pytest.raises(ColumnNotFoundError, match=r"the table.*'b'"):
        count(others, frame, quasi_identifiers=NAMES)


@pytest.mark.parametrize("count", [equal_rows, matching_rows])
def test_columns_of_other_types_are_named_without_their_values(count):
    frame = frame_of([(1, 1, 1)])
    others = frame.with_columns(b=pl.lit("canary"))

    with pytest.raises(DataError, match="'b'") as error:
        count(frame, others, quasi_identifiers=NAMES)

    assert "canary" not in str(error.value)
    assert "'a'" not in str(error.value)


@pytest.mark.parametrize("count", [equal_rows, matching_rows])
def test_numbers_of_any_width_and_text_of_any_encoding_are_compared(count):
    frame = pl.DataFrame({"n": [1, 2], "t": ["x", "y"], "m": [None, None]})
    others = frame.with_columns(
        pl.col("n").cast(pl.Float32), pl.col("t").cast(pl.Enum(["y", "x"])), m=pl.lit("z")
    )

    found = count(frame, others, quasi_identifiers=["n", "t"])

    assert found.tolist() == [1, 1]
    assert matching_rows(frame, others, quasi_identifiers=["n", "m"]).tolist() == [1, 1]


def test_nan_is_a_missing_cell():
    """A release has one sort of missing cell: two would make these rows unique."""
    frame = pl.DataFrame({"pay": [float("nan"), None, 1.0], "sex": ["f", "f", "f"]})

    for names in (["pay"], ["pay", "sex"]):
        assert equal_rows(frame, frame, quasi_identifiers=names).tolist() == [2, 2, 1]
        assert matching_rows(frame, frame, quasi_identifiers=names).tolist() == [3, 3, 3]
        risk = table_risk(frame, quasi_identifiers=names)
        assert (risk.as_value.uniqueness.rows, risk.worse.uniqueness.rows) == (1, 1)
