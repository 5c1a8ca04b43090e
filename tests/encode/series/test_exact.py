"""Every cell of a series comes back bit by bit, whatever stands beside it."""

from __future__ import annotations

import base64
import json
import struct
from decimal import Decimal
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

from halfmask import SchemaError
from halfmask.encode import SeriesCodec, SeriesState
from halfmask.vault import Secret

SECRET = Secret.from_bytes(bytes(range(32)))

#: Floats that lie at the ends of the type, between others' steps, or far from others.
ODD = [0.0, -0.0, 5e-324, -1e-310, 1.7976931348623157e308, -1e308, 1e12, 0.1 + 0.2, 2.0**53 + 2]
CELLS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-100, 100),
    st.sampled_from(ODD),
    st.integers(-(10**6), 10**6).map(lambda cents: cents / 100),
    st.none(),
)
WHOLE = st.one_of(
    st.integers(-(2**63), 2**63 - 1), st.integers(2**53 - 9, 2**53 + 9), st.integers(0, 99)
)


def bits(column):
    """Return a column's cells as bytes, which tell -0.0 from 0.0."""
    if column.dtype.is_float():
        return [None if cell is None else struct.pack("<d", cell) for cell in column]
    return column.to_list()


def series(cells, dtype=pl.Float64, *, start=0):
    """Return a table of consecutive steps."""
    at = np.arange(start, start + len(cells))
    return pl.DataFrame({"t": at, "y": pl.Series(cells, dtype=dtype)})


def fitted(table, **settings_):
    """Return a codec of a table whose time is an integer."""
    return SeriesCodec(time="t", every=1, secret=SECRET, **settings_).fit(table)


def comes_back(codec, table, state=None):
    """Return whether rows come back bit by bit."""
    back = codec.decode(codec.encode(table, state=state), state=state)
    return back["t"].equals(table["t"]) and bits(back["y"]) == bits(table["y"])


@pytest.mark.slow
@given(
    cells=st.lists(CELLS, min_size=1, max_size=12).filter(lambda c: any(v is not None for v in c)),
    times=st.sampled_from([1, 1, 6]),
    later=st.lists(CELLS, min_size=1, max_size=5),
    missing=st.sampled_from(["hidden", "visible"]),
    blinding=st.sampled_from([0.0, 0.5, 0.99]),
)
@settings(max_examples=60)
def test_any_float_comes_back(cells, times, later, missing, blinding):
    """At the fit and later: subnormal, huge, negative zero, of many decimals, or missing."""
    table = series(cells * times)
    codec = fitted(table, missing=missing, blinding=blinding)

    assert comes_back(codec, table)
    assert comes_back(codec, series(later, start=len(table)), codec.state_)


@pytest.mark.slow
@given(
    cells=st.lists(WHOLE, min_size=1, max_size=12),
    times=st.sampled_from([1, 1, 6]),
    later=st.lists(WHOLE, min_size=1, max_size=5),
)
@settings(max_examples=40)
def test_any_integer_comes_back(cells, times, later):
    """Of 64 bits, near 2**53 where floats begin to skip some, or small ones beside."""
    table = series(cells * times, pl.Int64)
    codec = fitted(table)

    assert comes_back(codec, table)
    assert comes_back(codec, series(later, pl.Int64, start=len(table)), codec.state_)


@pytest.mark.parametrize("big", [1e12, -1e15, 1e308])
def test_small_cells_beside_a_huge_one_come_back(big):
    """299 of 300 cells differed beside 1e12; the others leave as they do without it."""
    rng = np.random.default_rng(0)
    cells = rng.normal(size=300)
    cells[100] = big
    table = series(cells)
    codec = fitted(table)

    sent = codec.encode(table)[codec.column_names_["y"]].to_numpy()

    assert comes_back(codec, table)
    assert 0.9 < sent.std() < 1.1
    assert np.abs(np.corrcoef(np.delete(sent, 100), np.delete(cells, 100))[0, 1]) > 0.95


@pytest.mark.parametrize("at", ["fit", "later"])
def test_a_cell_of_many_decimals_among_cents(at):
    """It comes back, and so do the cents, at the fit and in a batch that was refused before."""
    rng = np.random.default_rng(1)
    cents = np.round(rng.normal(50, 9, 200), 2)
    odd = cents.copy()
    odd[7] = 0.123456789012345
    first = series(odd if at == "fit" else cents)
    codec = fitted(first)

    more = series(odd, start=200)

    assert codec.plan_.channels[0].grain.digits == 2
    assert comes_back(codec, first)
    assert comes_back(codec, more, codec.state_)


def test_rests_leave_where_they_are_needed_and_only_there():
    """Cents leave as two columns; a later cell between them, and all finer ones, with two more."""
    rng = np.random.default_rng(2)
    cents = series(np.round(rng.normal(50, 9, 60), 2))
    codec = fitted(cents)
    odd = series([1.5, 0.1 + 0.2], start=60)
    fine = series(rng.normal(size=60))
    rest = set(codec.rest_names_["y"])

    assert codec.encode(cents).width == 2
    assert set(codec.encode(odd, state=codec.state_).columns) >= rest
    finer = fitted(fine)
    assert finer.encode(fine[:1]).width == 4
    sent = finer.encode(fine).select(finer.rest_names_["y"]).to_numpy()
    assert np.abs(np.corrcoef(sent.T)[0, 1]) < 0.5
    assert 0.7 < sent.std() < 1.3


def test_rows_without_their_rests_or_digits_are_refused():
    """What was left out or rounded on its way is an error, and no other value."""
    rng = np.random.default_rng(3)
    table = series(rng.normal(size=60))
    codec = fitted(table)
    encoded = codec.encode(table)
    low, high = codec.rest_names_["y"]
    cents = series(np.round(rng.normal(50, 9, 200), 2))
    other = fitted(cents)
    rounded = other.encode(cents).with_columns(pl.selectors.float().round(3))

    with pytest.raises(SchemaError, match="encode didn't return"):
        codec.decode(encoded.drop(low, high))
    with pytest.raises(SchemaError, match="1 of 2"):
        codec.decode(encoded.drop(low))
    with pytest.raises(SchemaError, match="encode didn't return"):
        other.decode(rounded)


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([Decimal("1.25"), Decimal("-3.10")] * 30, dtype=pl.Decimal(18, 2)),
        pl.Series([0.1, 2.5, -0.0] * 20, dtype=pl.Float32),
        pl.Series([2**62, 7, 9] * 20, dtype=pl.UInt64),
        pl.Series([-7, 100, 3] * 20, dtype=pl.Int8),
        pl.Series([1e-9, 3e-9, 2e-9, 5e-9] * 15),
        pl.Series([1e9 + 1 / 3] * 60),
        pl.Series([7] * 60),
    ],
)
def test_every_type_of_number_comes_back(column):
    """Decimals, narrow types, tiny decimals and constants, with their type."""
    table = pl.DataFrame({"t": np.arange(len(column)), "y": column})
    codec = fitted(table)

    back = codec.decode(codec.encode(table))

    assert back.schema == table.schema
    assert bits(back["y"]) == bits(column)


def test_states_go_on_over_rests():
    """Batches from states are what one batch is, though a cell's rest is in one of them."""
    rng = np.random.default_rng(4)
    cells = np.round(rng.normal(50, 9, 120), 2)
    cells[[70, 95]] = [1e300, 1 / 3]
    table = series(cells)
    codec = fitted(table[:60])
    whole = codec.encode(table)
    name = codec.column_names_["y"]

    first = codec.encode(table[60:90], state=codec.state_)
    then = codec.after(table[60:90], state=codec.state_)
    second = codec.encode(table[90:], state=then)

    assert pl.concat([first[name], second[name]]).equals(whole[name][60:])
    assert comes_back(codec, table[90:], then)


def test_a_codec_of_version_0_1_decodes_and_goes_on():
    """Bytes and rows that version 0.1 wrote: decoded as then; what is sent now is exact."""
    old = json.loads((Path(__file__).parent / "codec_of_0_1.json").read_text())
    codec = SeriesCodec.from_bytes(base64.b64decode(old["plan"]))
    state = SeriesState.from_bytes(base64.b64decode(old["state"]))

    def rows(name):
        frame = pl.DataFrame(old[name])
        return frame.with_columns(pl.col("day").str.to_date()) if "day" in frame.columns else frame

    for sent, home, start in (
        (rows("encoded"), rows("rows"), codec.start_),
        (rows("later"), rows("later_rows"), state),
    ):
        back = codec.decode(sent, state=start)
        exact = ["day", "cents", "count"]
        assert back.select(exact).equals(home.select(exact))
        # Version 0.1 gave floats of many digits back to 1e-12 of the largest.
        assert np.allclose(back["fine"], home["fine"], rtol=0, atol=1e-11)
        assert codec.decode(codec.encode(home, state=start), state=start).equals(home)
    assert codec.decode_forecasts(np.zeros(3), column="cents") == pytest.approx(old["ahead"])
    finer = rows("rows").with_columns(pl.lit(1 / 3).alias("cents"))
    with pytest.raises(SchemaError, match="'cents' has 40 cells that would not come back"):
        codec.encode(finer)
