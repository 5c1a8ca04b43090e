"""Any table comes back: bit by bit, floats to 1e-12 of their column, or it is refused."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import polars as pl
from hypothesis import HealthCheck, given, settings

from encode.any_table import (  # type: ignore[import-not-found] # beside, not in a package
    CELLS,
    NARROW,
    SECRET,
    is_back,
    tables,
)
from halfmask import SchemaError
from halfmask.encode import Codec
from halfmask.encode._summary import Moments

# 1,000 tables were tried once, with max_examples=1000; CI tries these many.
FEW = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
CHOICES = {
    "missing": st.sampled_from(["visible", "hidden"]),
    "rows": st.sampled_from(["keyed", "kept"]),
    "batch": st.integers(0, 2**40),
}


@FEW
@given(table=tables(CELLS), **CHOICES)
def test_any_table_comes_back_bit_by_bit_from_trees(table, missing, rows, batch):
    codec = Codec(learner="trees", secret=SECRET, missing=missing, rows=rows).fit(table)

    back = codec.decode(codec.encode(table, batch=batch), batch=batch)

    assert back.schema == table.schema
    assert back.equals(table)


@FEW
@given(
    table=tables(NARROW),
    learner=st.sampled_from(["distances", "linear", "networks"]),
    **CHOICES,
)
def test_any_table_comes_back_from_a_matrix(table, learner, missing, rows, batch):
    codec = Codec(learner=learner, secret=SECRET, missing=missing, rows=rows).fit(table)

    back = codec.decode(codec.encode(table, batch=batch), batch=batch)

    assert is_back(back, table)


@FEW
@given(
    table=tables(CELLS),
    learner=st.sampled_from(["distances", "linear", "networks"]),
    strength=st.sampled_from([0.0, 0.5, 2.0]),
    **CHOICES,
)
def test_what_leaves_comes_back_and_all_else_is_refused(
    table, learner, strength, missing, rows, batch
):
    """Whatever the cells are: an exact table, or an error that says which column it is."""
    bent = strength if learner == "networks" else 0.0
    codec = Codec(learner=learner, secret=SECRET, missing=missing, rows=rows, strength=bent)
    said, back = "", table.clear()
    try:
        back = codec.decode(codec.fit(table).encode(table, batch=batch), batch=batch)
    except SchemaError as error:
        said = str(error)

    assert "Column 'column " in said if said else is_back(back, table)


@FEW
@given(
    table=tables(NARROW),
    learner=st.sampled_from(["trees", "distances", "linear", "networks"]),
    place=st.integers(0, 5),
    split=st.booleans(),
)
def test_any_target_comes_back(table, learner, place, split):
    if table.width < 3 or not any(not dtype.is_temporal() for dtype in table.dtypes):
        return
    names = [name for name, dtype in table.schema.items() if not dtype.is_temporal()]
    target = names[place % len(names)]
    task = "regression" if table.schema[target].is_numeric() and place % 2 else "classification"
    codec = Codec(learner=learner, secret=SECRET, split=split, min_sibling_rows=1)

    codec.fit(table, target=target, task=task)  # type: ignore[arg-type] # one of the two words

    assert is_back(codec.decode(codec.encode(table)).select(table.columns), table)


@FEW
@given(
    values=st.lists(st.none() | st.integers(-(2**40), 2**40), min_size=2, max_size=20),
    cut=st.integers(0, 20),
)
def test_moments_of_parts_add_up(values, cut):
    column = pl.Series("x", values, dtype=pl.Int64)
    whole = Moments.of(column)

    parts = Moments.of(column[:cut]) + Moments.of(column[cut:])
    turned = Moments.of(column[cut:]) + Moments.of(column[:cut])

    for other in (parts, turned):
        assert (other.n, other.low, other.high) == (whole.n, whole.low, whole.high)
        assert other.unit == whole.unit
        assert np.isclose(other.mean, whole.mean)
        assert np.isclose(other.deviation, whole.deviation)
