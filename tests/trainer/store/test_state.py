"""What a model tells of itself while it goes on learning."""

from __future__ import annotations

from typing import Any

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
