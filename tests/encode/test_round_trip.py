"""Any table comes back: bit by bit, floats to 1e-12 of their column, or it is refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import hypothesis.strategies as st
import numpy as np
import polars as pl
from hypothesis import HealthCheck, given, settings

from halfmask import SchemaError
from halfmask.encode import Codec
from halfmask.encode._summary import Moments
from halfmask.vault import Secret

# 1,000 tables were tried once, with max_examples=1000; CI tries these many.
FEW = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
SECRET = Secret.from_bytes(b"\x07" * 32)
CELLS = {
    pl.Int8: st.integers(-128, 127),
    pl.Int64: st.integers(-(2**63), 2**63 - 1),
    pl.UInt64: st.integers(0, 2**64 - 1),
    pl.UInt16: st.integers(0, 2**16 - 1),
    pl.Float64: st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=True),
    pl.Float32: st.floats(allow_nan=False, allow_infinity=False, width=32),
    pl.Boolean: st.booleans(),
    pl.String: st.text(max_size=3),
    pl.Date: st.dates(),
    pl.Datetime("us"): st.datetimes(),
    pl.Time: st.times(),
    pl.Duration("us"): st.timedeltas(dt.timedelta(days=-(10**5)), dt.timedelta(days=10**5)),
    pl.Decimal(15, 3): st.decimals(-(10**9), 10**9, places=3).map(lambda it: it + Decimal("0.000")),
}
# What a matrix takes: no more steps than a float has room for.
NARROW = CELLS | {
    pl.Int64: st.integers(-(10**9), 10**9),
    pl.UInt64: st.integers(0, 10**9),
    pl.Float64: st.floats(-1e9, 1e9, allow_subnormal=False),
    pl.Float32: st.floats(-(2.0**20), 2.0**20, allow_subnormal=False, width=32),
    pl.Datetime("us"): st.datetimes(dt.datetime(1950, 1, 1), dt.datetime(2050, 1, 1)).map(  # noqa: DTZ001 # naive times are a type of column
        lambda it: it.replace(microsecond=0)
    ),
    pl.Time: st.times().map(lambda it: it.replace(microsecond=0)),
    pl.Duration("us"): st.integers(-(10**6), 10**6).map(lambda it: dt.timedelta(minutes=it)),
}


@st.composite
def tables(draw, cells):
    """Draw a table of 1 to 6 columns of any type and 1 to 12 rows, some cells missing."""
    dtypes = draw(st.lists(st.sampled_from(list(cells)), min_size=1, max_size=6))
    n_rows = draw(st.integers(1, 12))
    columns = {}
    for place, dtype in enumerate(dtypes):
        cell = st.none() | cells[dtype]
        values = draw(st.lists(cell, min_size=n_rows, max_size=n_rows))
        columns[f"column {place}"] = pl.Series(values, dtype=dtype, strict=False)
    return pl.DataFrame(columns)


def _is_back(back, table):
    """Return whether each cell is what it was, floats to 1e-12 of their column's largest."""
    if back.schema != table.schema:
        return False
    for name, dtype in table.schema.items():
        was, now = table[name], back[name]
        if not was.is_null().equals(now.is_null()):
            return False
        if not dtype.is_float():
            if not was.equals(now):
                return False
            continue
        was, now = was.drop_nulls().to_numpy(), now.drop_nulls().to_numpy()
        room = (1e-12 if dtype == pl.Float64 else 6e-8) * np.abs(was).max(initial=0)
        if np.abs(was - now).max(initial=0) > room:
            return False
    return True


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

    assert _is_back(back, table)


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

    assert "Column 'column " in said if said else _is_back(back, table)


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

    assert _is_back(codec.decode(codec.encode(table)).select(table.columns), table)


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
