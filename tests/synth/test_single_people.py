"""No cell of a single person is written: names, the ends of a column, numbers with many digits."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask import SchemaError
from halfmask.synth import Synthesizer, blend_rows, rotate_groups

MODELS = ("trees", "parametric")
RNG = np.random.default_rng(0)
GROUP = RNG.choice(list("abc"), 300)
WHOLE = RNG.integers(0, 1_000, 299)
DAY = dt.date(2000, 1, 1)
START = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
#: Columns of 299 people, and of one whose number is far from theirs.
LONELY = {
    "float": [*map(float, WHOLE), 123_456.78],
    "whole": [*map(int, WHOLE), -40_000],
    "float32": pl.Series([*map(float, WHOLE), 9e6], dtype=pl.Float32),
    "date": [*(DAY + dt.timedelta(days=int(it)) for it in WHOLE), dt.date(1850, 1, 1)],
    "moment": [*(START + dt.timedelta(hours=int(it)) for it in WHOLE), START.replace(year=2999)],
    "decimal": [Decimal(int(it)) / 4 for it in WHOLE] + [Decimal("98765.43")],
    "unsigned": pl.Series([*map(int, WHOLE), 2**62], dtype=pl.UInt64),
}


def table(cells: object) -> pl.DataFrame:
    return pl.DataFrame({"x": cells, "group": GROUP}, strict=False)


@pytest.mark.mostly_slow
@pytest.mark.parametrize("kind", LONELY)
def test_the_end_that_one_person_has_is_not_written(kind):
    """Ten samples each, in which half the draws at an end were the end itself."""
    original = table(LONELY[kind])
    end = original["x"][-1]
    assert original["x"].to_list().count(end) == 1
    for seed in range(10):
        drawn = Synthesizer(random_state=seed).fit(original).sample(300)
        rng = np.random.default_rng(seed)
        turned = rotate_groups(original, k=5, numbers=["x"], rng=rng).rows
        mixed = blend_rows(original, drawn, original_share=0.9, numbers=["x"], rng=rng, min_leaf=5)
        for made in (drawn, turned, mixed):
            assert made.schema == original.schema
            assert end not in made["x"].to_list()


@pytest.mark.parametrize("model", MODELS)
def test_numbers_of_many_digits_are_nobodys(model):
    rng = np.random.default_rng(5)
    original = pl.DataFrame({"x": rng.normal(size=300), "y": rng.normal(size=300)})
    for seed in range(5):
        drawn = Synthesizer(model=model, random_state=seed).fit(original).sample(300)
        assert not any(set(original[name]) & set(drawn[name]) for name in "xy")
        turned = rotate_groups(original, k=5, numbers=["x", "y"], rng=np.random.default_rng(seed))
        assert not any(set(original[name]) & set(turned.rows[name]) for name in "xy")


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(-9, 9) | st.none(), min_size=8, max_size=60),
    st.integers(2, 8),
    st.sampled_from([pl.Int16(), pl.Float64(), pl.Float32(), pl.Decimal(6, 1), pl.Date()]),
)
def test_no_end_of_few_rows_is_written_and_all_lies_between_the_ends(numbers, min_leaf, dtype):
    """Dense grids too, on which the next number is somebody's."""
    plain = pl.Series("x", numbers, dtype=pl.Int32)
    original = plain.cast(dtype).to_frame()
    known = original["x"].drop_nulls()
    try:
        drawn = Synthesizer(min_leaf=min_leaf, random_state=0).fit(original).sample(80)["x"]
        turned = rotate_groups(
            original, k=min_leaf, numbers=["x"], rng=np.random.default_rng(0)
        ).rows["x"]
    except SchemaError as error:
        assert known.n_unique() <= 2  # nothing between two rare numbers
        assert "can't be written" in str(error)  # noqa: PT017
        return
    for made in (drawn.drop_nulls(), turned.drop_nulls()):
        assert made.is_between(known.min(), known.max()).all() or not len(made)
        for end in (known.min(), known.max()) if len(known) else ():
            if (known == end).sum() < min_leaf:
                assert end not in made.to_list()


@pytest.mark.parametrize("min_leaf", [5, 31, 50, 60])
def test_names_are_refused_whatever_the_least_leaf(min_leaf):
    """With a least leaf of 50, 37 names of 60 people were written."""
    people = pl.DataFrame({"name": [f"canary {i}" for i in range(60)], "age": range(60)})
    with pytest.raises(SchemaError, match=f"fewer than {min_leaf} rows have") as raised:
        Synthesizer(min_leaf=min_leaf).fit(people)
    assert "canary" not in str(raised.value)
    with pytest.raises(SchemaError, match="'name'"):
        rotate_groups(people, k=min_leaf, numbers=["age"], rng=np.random.default_rng(0))


def test_a_category_of_one_person_is_in_no_hybrid():
    towns = np.where(np.arange(300) < 3, "canary", RNG.choice(["Lyon", "Nice"], 300))
    original = pl.DataFrame({"town": towns, "x": [*WHOLE.tolist(), 5]})
    drawn = Synthesizer(random_state=0).fit(original).sample(300)
    rng = np.random.default_rng(0)
    turned = rotate_groups(original, k=5, numbers=["x"], rng=rng).rows
    mixed = blend_rows(original, drawn, original_share=0.9, numbers=["x"], rng=rng, min_leaf=5)
    for made in (drawn, turned, mixed):
        assert set(made["town"]) == {"Lyon", "Nice"}


def test_the_only_number_of_a_group_or_of_a_column_is_not_written():
    """Around 7.25 nothing is known: the mean of its group is the number itself."""
    rows = 40
    x = [7.25 if i in (3, 30) else None for i in range(rows)]
    original = pl.DataFrame({"x": x, "z": range(rows)}, schema={"x": pl.Float64, "z": pl.Int64})
    other = original.with_columns(x=pl.when(pl.col("z") == 30).then(9.5).otherwise("x"))
    for given_rows in (original, other):
        for seed in range(5):
            rng = np.random.default_rng(seed)
            turned = rotate_groups(given_rows, k=5, numbers=["x", "z"], rng=rng).rows
            drawn = Synthesizer(random_state=seed).fit(given_rows).sample(400)
            for made in (turned, drawn):
                assert not {7.25, 9.5} & set(made["x"])
