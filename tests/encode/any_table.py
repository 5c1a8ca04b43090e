"""Tables of any columns and cells, and whether one came back."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import hypothesis.strategies as st
import numpy as np
import polars as pl

from halfmask.vault import Secret

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
    pl.Float64: st.floats(-1e6, 1e6).map(lambda it: round(it, 4)),
    pl.Float32: st.integers(-(2**23), 2**23).map(lambda it: it / 8),
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


def is_back(back, table):
    """Return whether each cell is what it was, 64-bit floats to 1e-12 of themselves."""
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
        inexact = (dtype == pl.Float64) & (was != np.rint(was)) | (np.abs(was) > 2.0**53)
        room = np.where(inexact, 1e-12 * np.abs(was), 0.0)
        if (np.abs(was - now) > room).any():
            return False
        if (np.signbit(now) & (now == 0)).any():
            return False
    return True
