"""Risks that are counts of classes: those of a table in memory, whatever the parts."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask import ColumnNotFoundError, DataError, ParameterError
from halfmask.assess.risk import assess_risk, counted_risk
from halfmask.data import open_table
from halfmask.engines import LocalEngine

KEYS = ["age", "town", "pay"]
ROW = st.tuples(
    st.sampled_from([20, 21, 30, None]),
    st.sampled_from(["Aa", "Bee", "", None]),
    st.sampled_from([0.0, -0.0, 1.5, float("nan"), None]),
)
SCHEMA = {"age": pl.Int64, "town": pl.Categorical, "pay": pl.Float64}


def in_parts(frame, folder, n_parts):
    """Write a table into files; return the folder."""
    folder.mkdir()
    step = -(-frame.height // n_parts)
    for start in range(0, frame.height, step):
        frame[start : start + step].write_parquet(folder / f"{start:05}.parquet")
    return folder


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(rows=st.lists(ROW, min_size=1, max_size=40), n_parts=st.integers(1, 5))
def test_each_number_is_that_of_all_rows(rows, n_parts, tmp_path_factory):
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    folder = in_parts(frame, tmp_path_factory.mktemp("risk") / "parts", n_parts)

    found = counted_risk(
        folder, quasi_identifiers=KEYS, sampling_fraction=0.1, engine=LocalEngine(2)
    )

    whole = assess_risk(
        open_table(folder).read(), quasi_identifiers=KEYS, sampling_fraction=0.1
    ).to_dict()
    alike(found.to_dict(), {name: whole[name] for name in found.to_dict()})
    again = counted_risk(open_table(folder).read(), quasi_identifiers=KEYS, sampling_fraction=0.1)
    assert again.to_dict() == found.to_dict()
    assert again.sentences == found.sentences


def alike(one, other):
    """Assert that both are the same, except the last bits of fractions."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name, value in one.items():
            alike(value, other[name])
    elif isinstance(one, list | tuple):
        for pair in zip(one, other, strict=True):
            alike(*pair)
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-12)
    else:
        assert one == other


def test_many_rows_and_the_larger_sets():
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({name: rng.integers(0, 9, 5000) for name in "abcd"})

    found = counted_risk(frame, quasi_identifiers=[*"abcd"], largest=2)

    assert found.uniqueness is None
    assert found.separation is not None
    assert len(found.separation.sets) == 10
    sizes = frame.group_by(list("abcd")).len()["len"]
    assert found.counted.worse.uniqueness.rows == (sizes == 1).sum()
    assert found.counted.worse.prosecutor.average.value == pytest.approx(len(sizes) / 5000)


def test_an_opened_table_and_a_column_twice():
    source = open_table(pl.DataFrame({"age": [1, 1, 2]}))
    assert counted_risk(source, quasi_identifiers=["age", "age"]).quasi_identifiers == ("age",)


@pytest.mark.parametrize(
    ("given_", "error"),
    [
        ({"quasi_identifiers": []}, ParameterError),
        ({"quasi_identifiers": ["gone"]}, ColumnNotFoundError),
        ({"sampling_fraction": 0}, ParameterError),
        ({"largest": 0}, ParameterError),
    ],
)
def test_what_it_refuses(given_, error):
    frame = pl.DataFrame({"age": [1, 2]})
    with pytest.raises(error):
        counted_risk(frame, **{"quasi_identifiers": ["age"], **given_})


def test_a_table_without_rows():
    with pytest.raises(DataError):
        counted_risk(pl.DataFrame({"age": [1]}).clear(), quasi_identifiers=["age"])
