"""Any table comes back: bit by bit, floats to 1e-12 of themselves, or it is refused."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
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


@pytest.mark.slow
@FEW
@given(table=tables(CELLS), **CHOICES)
def test_any_table_comes_back_bit_by_bit_from_trees(table, missing, rows, batch):
    codec = Codec(learner="trees", secret=SECRET, missing=missing, rows=rows).fit(table)

    back = codec.decode(codec.encode(table, batch=batch), batch=batch)

    assert back.schema == table.schema
    assert back.equals(table)


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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

    assert is_back(codec.decode(codec.encode(table)), table)


LEARNERS = ("trees", "distances", "linear", "networks")
# Numbers that floats are worst at, each drawn beside the others.
ODD = st.one_of(
    st.sampled_from(
        [0.0, -0.0, 5e-324, -2.2e-308, 1e-300, 1e-12, 0.0448, 0.1, 1 / 3, 1.0, 1e15, -1e15, 1e22]
    ),
    st.sampled_from([2.0**53 - 1, 2.0**53, 2.0**53 + 2, 1e149, 1e308, -1.7976931348623157e308]),
    st.floats(-1, 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**53), 2**53).map(float),
    st.decimals(-(10**6), 10**6, places=4).map(float),
)
WHOLE = st.sampled_from([-(2**63), 2**63 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 0, 1]) | st.integers(
    -(2**63), 2**63 - 1
)


@pytest.mark.slow
@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(
    floats=st.lists(ODD, min_size=2, max_size=12),
    whole=WHOLE,
    learner=st.sampled_from(LEARNERS),
    narrow=st.booleans(),
    target=st.sampled_from([None, "x", "n"]),
)
def test_odd_numbers_come_back_or_their_column_is_named(floats, whole, learner, narrow, target):
    """Subnormal and huge floats, mixed magnitudes, minus zero, integers beyond 2**53."""
    dtype = pl.Float32 if narrow else pl.Float64
    floats = [it for it in floats if not narrow or abs(it) < 3e38]
    table = pl.DataFrame(
        {
            "x": pl.Series(floats, dtype=dtype),
            "n": pl.Series([whole, *range(len(floats))][: len(floats)], dtype=pl.Int64),
            "z": pl.Series([0.5 * place for place in range(len(floats))]),
        }
    )
    if not floats:
        return
    codec, said, back = Codec(learner=learner, secret=SECRET), "", table.clear()
    task = None if target is None else "regression"
    try:
        codec.fit(table, target=target, task=task)  # type: ignore[arg-type] # one of the words
        back = codec.decode(codec.encode(table))
    except SchemaError as error:
        said = str(error)

    assert "Column 'x'" in said or "Column 'n'" in said if said else is_back(back, table)
    assert not (said and learner == "trees" and target is None), "ranks hold any number"


@pytest.mark.parametrize("learner", LEARNERS[1:])
@pytest.mark.parametrize("decimals", [4, 17])
def test_small_cells_beside_a_huge_one_are_refused_at_the_fit(learner, decimals):
    """119 ratios of about 0.05 beside 1e15 came back as 0.0459, or as -0.34."""
    ratios = np.append(np.random.default_rng(0).uniform(0.04, 0.06, 119).round(decimals), 1e15)
    table = pl.DataFrame({"ratio": ratios, "n": np.arange(120)})

    with pytest.raises(SchemaError, match="'ratio' has floats that are too small") as caught:
        Codec(learner=learner, secret=SECRET).fit(table)
    roughly = Codec(learner=learner, secret=SECRET, precision="column").fit(table)

    assert 'precision="column"' in str(caught.value)
    back = roughly.decode(roughly.encode(table))
    assert back["n"].equals(table["n"])
    assert back["ratio"].to_list() == pytest.approx(ratios.tolist(), abs=1e-12 * 1e15)


@pytest.mark.parametrize("learner", LEARNERS[1:])
def test_a_later_cell_that_would_not_come_back_is_refused_by_its_column(learner):
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"x": rng.uniform(1, 2, 50), "y": rng.normal(size=50).round(15)})
    later = table.with_columns(x=pl.when(pl.int_range(50) == 7).then(1.2345e-9).otherwise("x"))
    codec = Codec(learner=learner, secret=SECRET).fit(table)

    assert is_back(codec.decode(codec.encode(table)), table)
    with pytest.raises(SchemaError, match="'x' has 1 cells that would not come back") as caught:
        codec.encode(later)
    assert "1.2345" not in str(caught.value)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("target", [None, "x", "f"])
def test_zeros_come_back_without_a_sign_and_columns_in_their_order(learner, target):
    """With networks 7,112 zeros of one file came back as -0.0, and the target stood last."""
    rng = np.random.default_rng(0)
    zeros = np.where(rng.random(300) < 0.9, 0.0, rng.integers(1, 99_999, 300))
    table = pl.DataFrame(
        {
            "x": zeros,
            "town": rng.choice(["a", "b"], 300),
            "f": np.where(zeros > 0, rng.uniform(1, 2, 300), -0.0),
            "n": rng.integers(0, 9, 300),
        }
    )
    codec = Codec(learner=learner, secret=SECRET).fit(table, target=target)

    back = codec.decode(codec.encode(table))

    assert back.columns == table.columns
    assert is_back(back, table)  # which looks for the sign
    assert codec.decode(codec.encode(table.select(pl.exclude(target or "")))).columns == [
        name for name in table.columns if name != target
    ]


def test_categories_of_floats_have_no_minus_zero():
    table = pl.DataFrame({"x": [-0.0, 1.5, 0.0], "y": [1, 2, 3]})
    codec = Codec(learner="trees", secret=SECRET).fit(table, target="x", task="classification")

    back = codec.decode(codec.encode(table))["x"].to_numpy()

    assert codec.classes_ == [0.0, 1.5]
    assert not np.signbit(back).any()


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
