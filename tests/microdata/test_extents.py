"""What cells cover is measured in numbers, whatever the type."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from halfmask.microdata import protect
from halfmask.microdata._class_measures import as_numbers
from microdata.people import (  # type: ignore[import-not-found] # beside, not in a package
    KEY,
    K,
    people,
    policy,
    promise,
)


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        (pl.Series([1, None, 3]), [1.0, np.nan, 3.0]),
        (pl.Series(["1.50", "2"]).cast(pl.Decimal(9, 2)), [1.5, 2.0]),
        (pl.Series(["1970-01-03"]).str.to_date(), [2.0]),
        (pl.Series([0.5, float("nan")]), [0.5, np.nan]),
    ],
)
def test_numbers_of_a_column(series, expected):
    """Decimals by value, dates by their day, missing as NaN."""
    np.testing.assert_equal(as_numbers(series), np.array(expected))


def test_decimals_and_times_are_measured():
    """Quasi-identifiers of every ordered type are protected and measured."""
    table = people().with_columns(
        pl.col("age").cast(pl.Decimal(9, 2)),
        born=pl.col("born").cast(pl.Datetime("us", "Europe/Paris")),
        town=(pl.col("row") % 1000 * 60_000_000_000).cast(pl.Time),
    )
    wanted = policy(
        K,
        promise("distinct-l-diversity", "illness", l=2),
        columns={"town": {"kind": "datetime"}},
    )

    release = protect(table, wanted, key=KEY)

    for name in ("age", "born", "town"):
        assert 0 < release.utility.loss.columns[name].ncp < 1


def test_a_column_without_values_is_measured():
    """A quasi-identifier that is all missing loses nothing and has no picture."""
    table = people().with_columns(age=pl.lit(None, dtype=pl.Float64), town=pl.lit(None, pl.String))

    release = protect(table, policy(), key=KEY)

    assert release.utility.loss.columns["age"].ncp == 0
    assert not {"age", "town"} & set(release.utility.distributions)
