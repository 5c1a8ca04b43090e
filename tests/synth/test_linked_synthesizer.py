"""LinkedSynthesizer: parents, and children that belong to them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from halfmask import ColumnNotFoundError, DataError
from halfmask.synth import LinkedSynthesizer


def tables(n: int = 500, seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return people and their visits: the old come more often; a visit follows the last one."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, n)
    people = pl.DataFrame(
        {"id": [f"P{i:05d}" for i in range(n)], "age": age, "sex": rng.choice(["f", "m"], n)}
    )
    counts = rng.poisson(age / 20)
    day, cost = [], []
    for person in range(n):
        at = rng.integers(0, 30)
        for _ in range(counts[person]):
            at += rng.integers(1, 15)
            day.append(at)
            cost.append(int(age[person]) * 10 + int(rng.integers(0, 50)))
    visits = pl.DataFrame(
        {"id": np.repeat(people["id"].to_numpy(), counts), "day": day, "cost": cost}
    )
    return people, visits


@pytest.mark.parametrize("order_by", [None, "day"])
def test_children_belong_to_parents_and_go_with_their_age(order_by):
    people, visits = tables()
    fitted = LinkedSynthesizer(key="id", order_by=order_by, random_state=1).fit(people, visits)
    drawn, came = fitted.sample(400)
    assert drawn.schema == people.schema
    assert came.schema == visits.schema
    assert drawn["id"].n_unique() == 400
    assert set(came["id"]) <= set(drawn["id"])
    assert abs(came.height / 400 - visits.height / people.height) < 0.4
    joined = came.join(drawn, on="id")
    assert joined.select(pl.corr("age", "cost")).item() > 0.9
    # Whoever is old comes more often.
    counts = drawn.join(came.group_by("id").len(), on="id", how="left").fill_null(0)
    assert counts.select(pl.corr("age", "len")).item() > 0.3


def test_a_child_follows_the_one_before():
    people, visits = tables()
    drawn, came = (
        LinkedSynthesizer(key="id", order_by="day", random_state=1).fit(people, visits).sample(400)
    )
    del drawn
    gaps = came.select(pl.col("day").diff().over("id")).to_series().drop_nulls()
    assert gaps.min() >= 0
    true = visits.select(pl.col("day").diff().over("id")).to_series().drop_nulls()
    loose = LinkedSynthesizer(key="id", random_state=1).fit(people, visits).sample(400)[1]
    others = (
        loose.sort("id", "day").select(pl.col("day").diff().over("id")).to_series().drop_nulls()
    )
    # The power of it: without the order the gaps are those of days drawn apart from each other.
    assert abs(gaps.mean() - true.mean()) < abs(others.mean() - true.mean())


def test_no_child_at_all_and_the_same_seed():
    people, visits = tables(60)
    fitted = LinkedSynthesizer(key="id", random_state=1).fit(people, visits.clear())
    drawn, came = fitted.sample(10)
    assert (drawn.height, came.height) == (10, 0)
    fitted = LinkedSynthesizer(key="id", order_by="day", random_state=1).fit(people, visits)
    for one, other in zip(fitted.sample(20), fitted.sample(20), strict=True):
        assert_frame_equal(one, other)


def test_keys_that_repeat_or_have_no_parent_are_refused():
    people, visits = tables(60)
    with pytest.raises(DataError, match="isn't unique"):
        LinkedSynthesizer(key="id").fit(pl.concat([people, people]), visits)
    with pytest.raises(DataError, match="have no parent"):
        LinkedSynthesizer(key="id").fit(people[:30], visits)
    with pytest.raises(ColumnNotFoundError, match="the child table"):
        LinkedSynthesizer(key="id", order_by="when").fit(people, visits)
