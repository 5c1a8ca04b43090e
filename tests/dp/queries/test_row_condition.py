"""Conditions of SQL on times: a literal is on the clock of its column."""

from __future__ import annotations

import polars as pl
import pytest

from halfmask._errors import SchemaError
from halfmask.dp.queries._row_condition import RowCondition

MOMENTS = pl.Series(["2020-12-31 22:59", "2020-12-31 23:00", "2021-01-01 00:30"]).str.to_datetime()


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("seen >= '2021-01-01'", [1, 2]),  # midnight in Berlin is 23:00 UTC
        ("seen >= '2021-01-01T00:00:00Z'", [2]),
        ("seen = '2021-01-01 01:30'", [2]),
        ("seen IN ('2021-01-01 01:30+01:00')", [2]),
        ("seen BETWEEN '2021-01-01' AND '2021-01-01 00:30'", [1]),
    ],
)
def test_a_literal_without_a_zone_is_on_the_clock_of_its_column(condition, kept):
    seen = MOMENTS.dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Berlin")
    table = pl.DataFrame({"seen": seen, "row": range(3)})

    found = table.filter(RowCondition.of(condition).expression(table.schema))

    assert found["row"].to_list() == kept


@pytest.mark.parametrize(
    ("cells", "literal"),
    [(MOMENTS, "2021-01-01T00:00:00Z"), (MOMENTS.dt.time(), "10:00:00+01:00")],
)
def test_a_zone_beside_none_is_refused(cells, literal):
    """Which moment a time without a zone is, nobody knows."""
    table = pl.DataFrame({"seen": cells})

    with pytest.raises(SchemaError, match="'seen' has the type"):
        RowCondition.of(f"seen > '{literal}'").expression(table.schema)
