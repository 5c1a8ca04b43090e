"""Representatives: every name has points of the classes' number, and others are refused."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask._errors import ParameterError
from halfmask.training import REPRESENTATIVES
from halfmask.training._points import ClassRows
from halfmask.training._representatives import CHOSEN, representative_named

X = np.random.default_rng(0).normal(size=(200, 2))
ROWS = ClassRows(
    encoded=X,
    others=np.empty((200, 0)),
    classes=np.argsort(np.argsort(X[:, 0])) // 20,
    guide=2 * X[:, :1],
    majority=np.ones(200, dtype=bool),
    parts=(np.array([0]), np.array([1])),
    shares=False,
)


@pytest.mark.parametrize("name", REPRESENTATIVES)
def test_each_is_a_point_for_each_class(name):
    assert representative_named(name) == name
    points = REPRESENTATIVES[name](ROWS)
    assert points.shape == (10, 2)
    assert (np.diff(points[:, 0]) > 0).all()  # classes are slices of the first column


def test_chosen_is_a_name_too_and_others_are_refused():
    assert representative_named(CHOSEN) == CHOSEN
    with pytest.raises(ParameterError, match="representative"):
        representative_named("mean")
