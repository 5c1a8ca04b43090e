"""Skewness, against shares computed class by class with fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import halfmask as hm
from halfmask._errors import ParameterError
from halfmask.assess.attacks import TableTarget, attack
from halfmask.assess.attacks.classes import Skewness

rows = st.lists(
    st.tuples(st.integers(0, 3), st.one_of(st.integers(0, 4), st.none())), min_size=2, max_size=14
)


def target(given_rows: list[tuple[int, int | None]], *, as_text: bool = False) -> TableTarget:
    frame = pl.DataFrame(given_rows, schema={"q": pl.Int64, "pay": pl.Int64}, orient="row")
    if as_text:
        frame = frame.with_columns(pl.col("pay").cast(pl.String))
    return TableTarget(released=frame, original=frame, quasi_identifiers=("q",), secrets=("pay",))


def distributions(given_rows):
    """Return the table's shares, and each class's rows and shares, in the order of the values."""
    values = sorted({v for _, v in given_rows if v is not None})
    values += [None] if any(v is None for _, v in given_rows) else []

    def shares(of):
        return [Fraction(of.count(value), len(of)) for value in values]

    table = shares([v for _, v in given_rows])
    groups = {
        q: [v for other, v in given_rows if other == q] for q in {row[0] for row in given_rows}
    }
    return table, [(len(group), shares(group)) for group in groups.values()]


@pytest.mark.slow
@given(rows)
def test_people_and_distances_agree_with_fractions(right_of, given_rows):
    table, classes = distributions(given_rows)
    if len(table) < 2:
        return
    lifted = sum(
        n
        for n, shares in classes
        if max(p - q for p, q in zip(shares, table, strict=True)) > Fraction(1, 5)
    )
    equal = max(
        sum(abs(p - q) for p, q in zip(shares, table, strict=True)) / 2 for _, shares in classes
    )
    ordered = max(
        sum(abs(sum(shares[: i + 1]) - sum(table[: i + 1])) for i in range(len(table) - 1))
        for _, shares in classes
    ) / (len(table) - 1)

    numbers = Skewness().run(target(given_rows), random_state=0)[0]
    texts = Skewness().run(target(given_rows, as_text=True), random_state=0)[0]

    assert right_of(numbers) == right_of(texts) == lifted
    assert numbers.details["highest_equal_distance"] == pytest.approx(float(equal))
    assert numbers.details["highest_ordered_distance"] == pytest.approx(float(ordered))
    assert "highest_ordered_distance" not in texts.details


def test_similar_numbers_count_as_one():
    """Li 2007, section 3.2: salaries of 3, 4 and 5 thousand differ, and all are low."""
    frame = pl.DataFrame({"q": [0] * 20 + [1] * 20, "pay": range(40)})
    of = TableTarget(released=frame, original=frame, quasi_identifiers=("q",), secrets=("pay",))
    assert Skewness(bands=2).run(of, random_state=0)[0].success.value == 1.0
    assert Skewness(bands=40).run(of, random_state=0)[0].success.value == 0.0


def test_large_tables_are_compared_in_blocks(monkeypatch):
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"q": rng.integers(0, 50, 500), "pay": rng.integers(0, 30, 500)})
    of = TableTarget(released=frame, original=frame, quasi_identifiers=("q",), secrets=("pay",))
    whole = Skewness().run(of, random_state=0)[0].details["highest_ordered_distance"]
    monkeypatch.setattr("halfmask.assess.attacks.classes._disclosure.BLOCK", 200)
    assert Skewness().run(of, random_state=0)[0].details["highest_ordered_distance"] == whole


def test_settings_out_of_range_are_refused():
    with pytest.raises(ParameterError):
        Skewness(lift=1.5)
    with pytest.raises(ParameterError):
        Skewness(bands=1)


def release(guarantees) -> tuple[TableTarget, ...]:
    rng = np.random.default_rng(3)
    age = rng.integers(0, 5000, 4000)
    ill = np.where(rng.random(4000) < age / 6000, "flu", "cold")
    original = pl.DataFrame({"age": age, "ill": ill})
    protected = hm.Anonymizer(guarantees=guarantees, quasi_identifiers=["age"]).fit_transform(
        original
    )
    return tuple(
        TableTarget(released=t, original=original, quasi_identifiers=("age",), secrets=("ill",))
        for t in (protected, original)
    )


def test_l_diversity_is_broken_and_t_closeness_resists():
    """Li 2007, section 3.1: two values in each class don't keep one from being far likelier."""
    diverse, raw = release([hm.KAnonymity(k=10), hm.DistinctLDiversity(l=2, column="ill")])
    close, _ = release([hm.KAnonymity(k=10), hm.TCloseness(t=0.15, column="ill")])
    broken = attack(diverse, unprotected=raw, attacks=[Skewness()])
    resisted = attack(close, unprotected=raw, attacks=[Skewness()])
    assert broken.findings[0].verdict == "broken"
    assert resisted.findings[0].verdict == "resisted"
    assert resisted.findings[0].outcome.details["highest_equal_distance"] <= 0.15 + 1e-12
