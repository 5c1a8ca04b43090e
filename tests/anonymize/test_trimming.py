"""Suppression that pays: it narrows what others are written as, and breaks nothing."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask.anonymize import Mondrian, Protection, Ranges
from halfmask.anonymize._trimming import trim
from halfmask.data import Column, Schema
from halfmask.guarantees import (
    AverageRisk,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    RecursiveCLDiversity,
    TCloseness,
    measure,
)

QUASI = ("a", "b", "c")


def table(seed, n):
    rng = np.random.default_rng(seed)
    letters = pl.Series(rng.choice(["x", "y", "z", ""], n, p=[0.6, 0.2, 0.1, 0.1]))
    return pl.DataFrame(
        {
            "a": np.round(rng.standard_cauchy(n) * 10).clip(-500, 500).astype(np.int64),
            "b": (rng.random(n) ** 3 * 40).astype(np.int64),
            "c": letters.replace("", None),
            "s": rng.choice(["p", "q", "r"], n, p=[0.6, 0.3, 0.1]),
        }
    )


def protection(*guarantees, fraction=0.0):
    columns = [
        Column(name=name, role="quasi_identifier", kind="categorical" if name == "c" else "numeric")
        for name in QUASI
    ]
    return Protection(
        schema=Schema((*columns, Column(name="s", role="sensitive", kind="categorical"))),
        guarantees=guarantees,
        method=Mondrian(),
        recoding=Ranges(),
        max_suppression_fraction=fraction,
    )


def grown(frame, *guarantees):
    each = protection(*guarantees)
    return each.fit(each.summarize(frame))


def loss(fitted):
    """Return the sum of the rows' losses: the mean normalized width, 1 where suppressed."""
    total = float((fitted.cell_of_row < 0).sum())
    for cell in range(fitted.partition.n_cells):
        inside = fitted.cell_of_row == cell
        widths = [
            float(np.ptp(codes[inside].astype(np.int64))) / max(1, coding.n_codes - 1)
            for codes, coding in zip(fitted.codes, fitted.codings, strict=True)
        ]
        total += inside.sum() * np.mean(widths)
    return total


PROMISES = {
    "k": (KAnonymity(k=5),),
    "large k": (KAnonymity(k=30),),
    "distinct": (KAnonymity(k=20), DistinctLDiversity(l=2, column="s")),
    "entropy": (KAnonymity(k=4), EntropyLDiversity(l=1.6, column="s")),
    "recursive": (RecursiveCLDiversity(c=3, l=2, column="s"),),
}


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(30, 400),
    budget=st.integers(0, 60),
    promised=st.sampled_from(sorted(PROMISES)),
)
def test_what_is_left_keeps_every_promise_and_loses_less(seed, n, budget, promised):
    frame, guarantees = table(seed, n), PROMISES[promised]
    if not all(j.holds for j in measure(frame, quasi_identifiers=(), guarantees=guarantees)):
        return
    fitted = grown(frame, *guarantees)

    trimmed = trim(fitted, max_rows=budget)

    gone = trimmed.cell_of_row < 0
    assert gone.sum() <= budget
    assert all(judgement.holds for judgement in trimmed.judge())
    assert trimmed.partition.n_cells == fitted.partition.n_cells
    np.testing.assert_array_equal(trimmed.cell_of_row[~gone], fitted.cell_of_row[~gone])
    assert loss(trimmed) < loss(fitted) if gone.any() else trimmed is fitted
    for j, codes in enumerate(trimmed.codes):
        for cell in range(trimmed.partition.n_cells):
            inside = codes[trimmed.cell_of_row == cell]
            assert trimmed.partition.low[cell, j] == inside.min()
            assert trimmed.partition.high[cell, j] == inside.max()
    np.testing.assert_array_equal(
        np.bincount(trimmed.cell_of_row[~gone], minlength=trimmed.partition.n_cells),
        trimmed.partition.sizes,
    )


def test_the_row_that_widens_all_others_goes():
    """Column b is 0 but for one row: without it eleven rows are written as one value."""
    frame = table(0, 12).with_columns(
        a=pl.lit(1), b=pl.Series([0] * 11 + [9]), c=pl.Series(["x", "y", "z"] * 4)
    )
    each = protection(KAnonymity(k=11), fraction=0.1)

    plan, fitted = each.plan(each.fit(each.summarize(frame)))

    assert np.flatnonzero(fitted.cell_of_row < 0).tolist() == [11]
    assert plan.apply(frame, cells=fitted.cell_of_row)["b"].to_list() == ["0"] * 11


@pytest.mark.parametrize("fraction", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("promised", sorted(PROMISES))
def test_a_protection_suppresses_no_more_than_it_may(promised, fraction):
    frame, guarantees = table(1, 500), PROMISES[promised]
    each = protection(*guarantees, fraction=fraction)

    plan, fitted = each.plan(each.fit(each.summarize(frame)))
    released = plan.apply(frame, cells=fitted.cell_of_row)

    assert frame.height - released.height <= fraction * frame.height
    judged = measure(released, quasi_identifiers=QUASI, guarantees=guarantees)
    assert all(judgement.holds for judgement in judged)


@pytest.mark.parametrize("whole", [TCloseness(t=0.5, column="s"), AverageRisk(risk=0.2)], ids=str)
def test_what_is_held_against_the_whole_table_is_left_alone(whole):
    """Suppression would move the table that every class is held against."""
    fitted = grown(table(2, 300), KAnonymity(k=5), whole)

    assert trim(fitted, max_rows=100) is fitted


def test_with_suppression_the_loss_falls():
    frame = table(3, 500)
    fitted = grown(frame, KAnonymity(k=50), DistinctLDiversity(l=2, column="s"))

    losses = [loss(trim(fitted, max_rows=budget)) for budget in (0, 5, 25, 100)]

    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]
