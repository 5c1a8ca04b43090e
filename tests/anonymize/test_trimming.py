from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask.anonymize import Mondrian, Protection, Ranges
from halfmask.anonymize._trimming import trim
from halfmask.data import Column, Schema
from halfmask.guarantees import DistinctLDiversity, KAnonymity, TCloseness


def _fitted(frame, guarantees):
    columns = tuple(
        Column(
            name=name,
            role="insensitive" if name == "ill" else "quasi_identifier",
            kind="numeric",
        )
        for name in frame.columns
    )
    protection = Protection(
        schema=Schema(columns),
        guarantees=tuple(guarantees),
        method=Mondrian(),
        recoding=Ranges(),
        max_suppression_fraction=0.0,
    )
    return protection.fit(protection.summarize(frame))


def _loss(fitted):
    """The sum of the rows' losses, as the docstring states it, by hand."""
    total = 0.0
    for row, cell in enumerate(fitted.cell_of_row.tolist()):
        if cell < 0:
            total += 1.0
            continue
        members = [i for i, other in enumerate(fitted.cell_of_row.tolist()) if other == cell]
        widths = [
            (max(int(codes[i]) for i in members) - min(int(codes[i]) for i in members))
            / max(1, coding.n_codes - 1)
            for codes, coding in zip(fitted.codes, fitted.codings, strict=True)
        ]
        total += sum(widths) / len(widths)
        assert row in members
    return total


tables = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 5), st.integers(0, 3)), min_size=4, max_size=60
)


@given(tables, st.integers(1, 4), st.integers(0, 10))
@settings(max_examples=60, deadline=None)
def test_trimming_lowers_the_loss_and_keeps_every_guarantee(rows, k, max_rows):
    frame = pl.DataFrame(rows, schema=["age", "size", "ill"], orient="row")
    guarantees = [KAnonymity(k=k), DistinctLDiversity(l=1, column="ill")]
    fitted = _fitted(frame, guarantees)

    trimmed = trim(fitted, max_rows=max_rows)

    suppressed = int((trimmed.cell_of_row < 0).sum())
    assert suppressed <= max_rows
    assert all(judgement.holds for judgement in trimmed.judge())
    assert trimmed.partition.n_cells == fitted.partition.n_cells
    if suppressed:
        assert _loss(trimmed) < _loss(fitted)
    else:
        assert trimmed is fitted


def test_an_outlier_goes_and_the_others_become_narrow():
    frame = pl.DataFrame({"age": [20, 20, 21, 21, 90]})
    fitted = _fitted(frame, [KAnonymity(k=4)])

    trimmed = trim(fitted, max_rows=1)

    assert trimmed.cell_of_row.tolist() == [0, 0, 0, 0, -1]
    assert trimmed.partition.sizes.tolist() == [4]
    assert trimmed.partition.high.tolist() == [[1]]


def test_a_row_that_diversity_needs_stays():
    frame = pl.DataFrame({"age": [20, 20, 21, 21, 90], "ill": [0, 0, 0, 0, 1]})

    kept = trim(
        _fitted(frame, [KAnonymity(k=4), DistinctLDiversity(l=2, column="ill")]), max_rows=1
    )

    assert (kept.cell_of_row >= 0).all()


def test_nothing_is_trimmed_without_a_budget():
    frame = pl.DataFrame({"age": [20, 20, 21, 21, 90]})
    fitted = _fitted(frame, [KAnonymity(k=4)])

    assert trim(fitted, max_rows=0) is fitted


def test_nothing_is_trimmed_where_classes_are_held_against_the_whole_table():
    frame = pl.DataFrame({"age": [20, 20, 21, 21, 90], "ill": [0, 1, 0, 1, 0]})
    fitted = _fitted(frame, [KAnonymity(k=4), TCloseness(t=0.9, column="ill")])

    assert trim(fitted, max_rows=1) is fitted


@pytest.mark.real_data
def test_adult_loses_less_when_some_rows_may_be_suppressed(adult_csv):
    names = ["age", "education", "marital-status", "occupation", "race", "sex", "hours-per-week"]
    frame = pl.read_csv(adult_csv, columns=names)
    schema = Schema(
        tuple(
            Column(
                name=name,
                role="quasi_identifier",
                kind="numeric" if frame[name].dtype.is_numeric() else "categorical",
            )
            for name in names
        )
    )

    def loss(fraction):
        protection = Protection(
            schema=schema,
            guarantees=(KAnonymity(k=100),),
            method=Mondrian(),
            recoding=Ranges(),
            max_suppression_fraction=fraction,
        )
        _, fitted = protection.plan(protection.fit(protection.summarize(frame)))
        partition = fitted.partition
        scale = np.array([1 / max(1, coding.n_codes - 1) for coding in fitted.codings])
        width = ((partition.high - partition.low) * scale).mean(axis=1)
        gone = frame.height - int(partition.sizes.sum())
        assert gone <= fraction * frame.height
        return float(width @ partition.sizes) + gone

    assert loss(0.05) < 0.97 * loss(0.0)
