"""Clips, caps and the guard, each alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import ParameterError
from halfmask.hashing import HashedRows
from halfmask.trainer.defences import ClientCaps, Guard, NormClip, Quality
from halfmask.trainer.defences._caps import Ledger


class Fixed:
    """Predicts given numbers."""

    def __init__(self, predictions):
        self.predictions = np.asarray(predictions, dtype=np.float64)

    def predict(self, _rows):
        return self.predictions


def canaries(labels, kind=np.int32, classes=2):
    return HashedRows(
        indices=np.zeros((len(labels), 1), dtype=np.uint32),
        labels=np.array(labels, dtype=kind),
        bits=2,
        classes=classes,
    )


@pytest.mark.slow
@given(
    values=st.lists(
        st.lists(st.floats(-1e3, 1e3, width=32), min_size=3, max_size=3), min_size=1, max_size=8
    ),
    norm=st.floats(0.01, 100),
    flat=st.booleans(),
)
def test_no_row_is_longer_than_the_norm_and_short_ones_stay(values, norm, flat):
    numbers = np.array(values, dtype=np.float32)
    shape = (-1,) if flat else numbers.shape
    rows = HashedRows(
        indices=np.zeros(numbers.shape, dtype=np.uint32).reshape(shape),
        indptr=np.arange(0, numbers.size + 1, 3, dtype=np.int64) if flat else None,
        values=numbers.reshape(shape),
        bits=2,
    )
    values = NormClip(norm=norm).clipped(rows).values
    assert values is not None
    clipped = values.reshape(numbers.shape)
    before = np.linalg.norm(numbers.astype(np.float64), axis=1)
    after = np.linalg.norm(clipped.astype(np.float64), axis=1)
    assert (after <= np.maximum(norm, 0) * (1 + 1e-5)).all()
    short = before <= norm
    assert (clipped[short] == numbers[short]).all()
    long = before > norm
    assert np.allclose(
        clipped[long] * before[long, None], numbers[long] * norm, rtol=1e-4, atol=1e-3
    )


def test_rows_within_bounds_are_the_same_object(make_rows):
    for rows in (make_rows(5, 0), make_rows(5, 0, weight=1.0)):
        assert NormClip(weight=1.0, norm=10.0).clipped(rows) is rows


def test_rows_without_values_are_shortened_too(make_rows):
    clipped = NormClip(norm=1.0).clipped(make_rows(4, 0))
    assert clipped.values is not None
    assert np.allclose(np.linalg.norm(clipped.values, axis=1), 1.0)


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.floats(0, 500)), max_size=60))
def test_nobody_untrusted_gets_above_the_cap(sent):
    caps = ClientCaps(share=0.3, free=50.0, trusted=frozenset("d"))
    ledger = Ledger()
    for client, weight in sent:
        ledger.add(client, min(weight, caps.allowed(ledger, client)))
        own = ledger.learned[client]
        if client != "d":
            assert own <= max(50.0, 0.3 * ledger.total) * (1 + 1e-9)
    assert ledger.total == pytest.approx(sum(ledger.learned.values()))


def test_all_may_be_one_clients_without_a_cap():
    assert ClientCaps(share=1.0).allowed(Ledger(), "a") == float("inf")


@pytest.mark.parametrize("wrong", [{"share": 0.0}, {"share": 1.1}, {"share": 0.1, "free": -1.0}])
def test_caps_out_of_range_are_refused(wrong):
    with pytest.raises(ParameterError):
        ClientCaps(**wrong)


def test_a_guard_takes_what_gets_better_and_refuses_what_gets_worse():
    guard = Guard(tolerance=0.1, drift=0.15, min_rows=4)
    rows = canaries([0, 1, 1, 0])
    good, fair, bad = Fixed([0.1, 0.9, 0.9, 0.1]), Fixed([0.3, 0.7, 0.7, 0.3]), Fixed([0.9] * 4)
    assert guard.judge(fair, good, rows).accepted
    assert guard.judge(good, fair, rows).accepted
    assert guard.judge(good, bad, rows).why == "error grew by more than the tolerance"


def test_small_steps_are_refused_where_they_add_up():
    guard = Guard(tolerance=0.1, drift=0.15, min_rows=4)
    rows = canaries([0, 1, 1, 0])
    best = last = Quality.of(Fixed([0.1, 0.9, 0.9, 0.1]), rows)
    whys = []
    for off in (0.3, 0.38, 0.45):
        verdict = guard.judge(last, Fixed([off, 1 - off, 1 - off, off]), rows, best=best)
        whys.append(verdict.why)
        last = verdict.after
    assert whys == ["", "", "loss grew by more than the drift"]


@pytest.mark.parametrize("given", [[np.nan] * 4, [0.1, 0.9, np.inf, 0.1]])
def test_predictions_that_are_no_numbers_are_refused(given):
    guard = Guard(tolerance=1.0, drift=1.0, min_rows=1)
    rows = canaries([0, 1, 1, 0])
    assert not guard.judge(Fixed([0.5] * 4), Fixed(given), rows).accepted
    assert not guard.judge(Fixed(given), Fixed(given), rows).accepted


def test_quality_of_margins_classes_and_numbers():
    margins = Fixed([-3.0, 2.0, -0.1, 5.0])
    assert Quality.of(margins, canaries([0, 1, 1, 1]), margins=True) == Quality(
        error=0.25, loss=0.25
    )
    guard = Guard(tolerance=0.1, drift=0.1, min_rows=1, margins=True)
    assert guard.quality(margins, canaries([0, 1, 0, 1])).error == 0.0
    classes = canaries([0, 2], classes=3)
    found = Fixed([[0.8, 0.1, 0.1], [0.6, 0.2, 0.2]])
    assert Quality.of(found, classes).error == 0.5
    assert Quality.of(found, classes).loss == pytest.approx((0.06 / 2 + 1.04 / 2) / 2)
    numbers = canaries([1.0, 3.0], kind=np.float32)
    assert Quality.of(Fixed([2.0, 2.0]), numbers).error == pytest.approx(1.0)


def test_too_few_canaries_and_those_without_labels_are_refused():
    guard = Guard(tolerance=0.1, drift=0.1)
    with pytest.raises(ParameterError, match="500 canaries"):
        guard.judge(Fixed([0.5] * 4), Fixed([0.5] * 4), canaries([0, 1, 0, 1]))
    bare = HashedRows(indices=np.zeros((2, 1), dtype=np.uint32), bits=2)
    with pytest.raises(ParameterError, match="labels"):
        Quality.of(Fixed([0.5, 0.5]), bare)
