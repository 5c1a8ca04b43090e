"""What a model tells of itself while it goes on learning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from halfmask.hashing import HashedRows
from halfmask.trainer.store._curve import Curve
from halfmask.trainer.store._state import StoredState, new_learner


class Overtaken(Curve):
    """A curve that is asked, and then the model learns another record."""

    state: StoredState

    def summary(self) -> dict[str, Any]:
        found = super().summary()
        self.state.seq += 1
        return found


def test_a_record_that_is_told_of_has_its_rows_told_of():
    curve = Overtaken()
    state = StoredState(learner=new_learner({"loss": "logistic", "bits": 1}), seq=7, curve=curve)
    curve.state = state

    found = state.summary()

    assert found["learned"] == 7
    assert state.summary()["learned"] == 8


@pytest.mark.parametrize(
    ("n", "learned"), [(3_000, 0), (10_000, 10_000 - 4_096)], ids=["small", "one piece of three"]
)
def test_rows_with_which_learning_diverges_are_counted(n, learned):
    """A piece is learned wholly or not at all; each row is in one count, over a restart."""
    values = np.ones((n, 1), np.float32)
    values[0] = 1e-25
    labels = np.arange(n, dtype=np.int32) % 2
    rows = HashedRows(indices=np.zeros((n, 1), np.uint32), bits=1, values=values, labels=labels)
    state = StoredState(learner=new_learner({"loss": "logistic", "bits": 1}))

    for start in range(0, n, 4_096):
        state.learn((rows.slice(start, start + 4_096),))
    again = StoredState(learner=new_learner({"loss": "logistic", "bits": 1}))
    again.restore(state.learner.to_bytes(), state.metadata())

    for each in (state, again):
        found = each.summary()
        assert (found["rows"], found["skipped_rows"]) == (learned, n - learned)


def test_the_rest_of_a_batch_that_diverges_is_counted_too():
    """Nothing of a batch is learned behind the piece that diverges."""
    n = 10_000
    values = np.ones((n, 1), np.float32)
    values[5_000] = 1e19
    labels = np.arange(n, dtype=np.int32) % 2
    rows = HashedRows(indices=np.zeros((n, 1), np.uint32), bits=1, values=values, labels=labels)
    state = StoredState(learner=new_learner({"loss": "logistic", "bits": 1}))

    state.learn((rows.slice(0, 3_000), rows.slice(3_000, n)))

    found = state.summary()
    assert (found["rows"], found["skipped_rows"]) == (3_000, 7_000)
