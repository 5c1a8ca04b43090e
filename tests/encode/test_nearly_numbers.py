"""A codec says at the fit which texts it takes for categories although they look like numbers."""

from __future__ import annotations

import polars as pl
import pytest

from halfmask import Codec, ColumnWarning
from halfmask.data import Column, ReadOptions, Schema
from halfmask.encode import fit_file

CELLS = ["NA", "CANARY", *map(str, range(40))]


@pytest.mark.parametrize(
    ("cells", "declared"),
    [
        (CELLS, 'dtypes = "integer"'),
        ([f"{i},5" for i in range(9)], 'number_formats = "1234,5"'),
        ([f"{i}%" for i in range(9)], 'number_formats = "1234.5%"'),
        ([f"{i} EUR" for i in range(9)], 'number_formats = "1234.5 EUR"'),
        ([f"{i}.3.1980" for i in range(1, 9)], 'date_formats = "%d.%m.%Y"'),
        (["2020-01-01T10:00:00+02:00"] * 9, 'dtypes = "datetime_utc"'),
        ([f"+{i}" for i in range(9)], 'dtypes = "integer"'),
    ],
)
def test_numbers_and_times_as_texts_are_said(cells, declared):
    with pytest.warns(ColumnWarning, match="'pay'") as caught:
        Codec(learner="trees").fit(pl.DataFrame({"pay": cells}))

    assert declared in str(caught[0].message)
    assert "CANARY" not in str(caught[0].message)


def test_what_a_schema_or_options_say_is_believed(tmp_path):
    schema = Schema((Column(name="pay", role="insensitive", kind="categorical"),))
    pl.DataFrame({"pay": CELLS}).write_csv(tmp_path / "t.csv")

    Codec(learner="trees").fit(pl.DataFrame({"pay": CELLS}), schema=schema)
    fit_file(
        Codec(learner="trees"), tmp_path / "t.csv", options=ReadOptions(dtypes={"pay": "string"})
    )


def test_batches_without_a_value_fit_those_before():
    some = pl.DataFrame({"age": [41, 17, None], "town": ["Bree", "Dale", None]})
    none = pl.DataFrame(
        {"age": [None], "town": [float("nan")]}, schema={"age": pl.String, "town": pl.Float64}
    )

    codec = Codec(learner="trees").fit_batches([some, none])

    assert codec.decode(codec.encode(some)).equals(some)
