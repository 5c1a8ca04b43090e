"""Targets: what is refused before an attack is run on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from halfmask._errors import ColumnNotFoundError, ParameterError
from halfmask.assess.attacks import ModelTarget, TableTarget


def model_target(**others: Any) -> ModelTarget:
    settings = {
        "members": np.zeros((3, 2)),
        "member_labels": [0, 1, 0],
        "non_members": np.zeros((2, 2)),
        "non_member_labels": [0, 1],
    }
    return ModelTarget(model=None, **{**settings, **others})


def table_target(**others: Any) -> TableTarget:
    frame = pl.DataFrame({"age": [1, 2, 3], "sex": ["f", "m", "f"]})
    return TableTarget(**{"released": frame, "original": frame, **others})


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ({"member_labels": [0]}, "members and member_labels must be as many. Got 3 and 1"),
        ({"non_member_labels": [0]}, "non_members and non_member_labels"),
        ({"trained_rows": np.zeros((2, 2))}, "trained_rows must be as many as members"),
        ({"groups": (("a",), np.zeros(4, int))}, "a number for each member and non-member"),
        ({"groups": (("a",), np.array([0, 0, 0, 1, -1]))}, "one of the 1 descriptions"),
        ({"groups": (("a",), np.array([0, 0, 0, -2, -1]))}, "Got -2 to 0"),
    ],
)
def test_rows_labels_and_groups_must_fit(others, said):
    with pytest.raises(ParameterError, match=said):
        model_target(**others)


def test_groups_may_leave_people_out():
    target = model_target(groups=(("a", "b"), np.array([-1, 0, 1, 1, -1])))
    assert (target.n_members, target.n_non_members) == (3, 2)
    assert repr(target) == "ModelTarget(3 members, 2 non-members)"


@pytest.mark.parametrize("secret", [0, 1])
def test_a_secret_of_an_array_is_a_number(secret):
    assert model_target(secrets=(secret,)).secrets == (secret,)
    for wrong in (2, "age"):
        with pytest.raises(ColumnNotFoundError, match=str(wrong)):
            model_target(secrets=(wrong,))


def test_a_secret_of_a_frame_is_a_name():
    frame = pl.DataFrame({"age": [1, 2, 3]})
    for rows in (frame, frame.to_pandas()):
        assert model_target(members=rows, secrets=("age",)).secrets == ("age",)
        with pytest.raises(ColumnNotFoundError, match="Did you mean 'age'"):
            model_target(members=rows, secrets=("agee",))


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ({"quasi_identifiers": ("zip",)}, "'zip' isn't in the original"),
        ({"secrets": ("zip",)}, "'zip' isn't in the original"),
        ({"owners": np.array([0, 1])}, "a number for each released row"),
        ({"owners": np.array([0, 1, 3])}, "numbers of the 3 original rows. Got 0 to 3"),
        ({"owners": np.array([0, 1, -1])}, "Got -1 to 1"),
        ({"released": pl.DataFrame({"age": [1]})}, "owners must say which is whose"),
    ],
)
def test_columns_and_owners_must_fit(others, said):
    with pytest.raises(ParameterError, match=said):
        table_target(**others)


def test_rows_are_in_the_same_order_unless_owners_say_otherwise():
    assert table_target().owner_of_row.tolist() == [0, 1, 2]
    assert table_target(owners=np.array([2, 2, 0])).owner_of_row.tolist() == [2, 2, 0]
    assert repr(table_target()) == "TableTarget(3 released of 3 rows)"


def test_targets_can_be_told_apart():
    # Rows have no truth value: targets are compared by who they are, not by what they hold.
    target = model_target()
    assert target == target  # noqa: PLR0124 # this is what is tested
    assert target != model_target()
    assert len({target, table_target()}) == 2
