"""Columns: the one that is named is the one that is protected, or it is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import halfmask as hm
from halfmask._errors import ColumnNotFoundError, ParameterError
from halfmask.anonymize import Anonymizer
from halfmask.anonymize.columns import named
from halfmask.minimize import Minimizer
from halfmask.training import AnonymizedEstimator

RNG = np.random.default_rng(0)
ROWS = pd.DataFrame(RNG.normal(size=(120, 6)))
DROPPED = ROWS.drop(columns=0)  # columns 1 to 5 at positions 0 to 4
Y = (ROWS[1] > 0).to_numpy()
TWO = [hm.KAnonymity(k=10)]


def changed(before, after):
    same = [np.allclose(before.iloc[:, j], after.iloc[:, j]) for j in range(before.shape[1])]
    return [name for name, alike in zip(before.columns, same, strict=True) if not alike]


def test_a_name_is_itself_and_a_position_the_column_there():
    assert named("sex", ["age", "sex"]) == "sex"
    assert named(1, ["age", "sex"]) == "sex"
    assert named(int(np.int64(0)), ["age", "sex"]) == "age"
    assert named(2, ["age", "sex"]) == "2", "which is no column, and is told as such"
    assert named(1, ["0", "1", "2"]) == "1", "where both are the same column"


@pytest.mark.parametrize("names", [["1", "2", "0"], ["1", "0"], ["1", "2", "3"]])
def test_a_number_that_names_one_column_and_counts_to_another_is_refused(names):
    with pytest.raises(ParameterError, match="name of one column and the position of another"):
        named(1, names)


def test_frames_of_numbered_columns_are_protected_where_they_are_named():
    for fit in (
        lambda ids: Anonymizer(guarantees=TWO, quasi_identifiers=ids).fit(DROPPED),
        lambda ids: AnonymizedEstimator(
            LogisticRegression(), guarantees=TWO, quasi_identifiers=ids, representative="centroid"
        ).fit(DROPPED, Y),
        lambda ids: Minimizer(
            lambda rows: np.asarray(rows)[:, 0] > 0,
            target_accuracy=0.9,
            features=ids,
            random_state=0,
        ).fit(DROPPED),
    ):
        with pytest.raises(ParameterError, match="Give its name as text"):
            fit([1, 2])
        assert fit(["1", "2"]) is not None


def test_what_is_written_keeps_the_names_that_are_numbers():
    out = Anonymizer(guarantees=TWO, quasi_identifiers=["1", "2"]).fit_transform(DROPPED)
    assert list(out.columns) == [1, 2, 3, 4, 5]
    assert changed(DROPPED, out) == [1, 2]
    whole = Anonymizer(guarantees=TWO, quasi_identifiers=[1, 2]).fit_transform(ROWS)
    assert changed(ROWS, whole) == [1, 2]
    assert whole.groupby([1, 2]).size().min() >= 10


def test_names_that_are_numbers_are_no_feature_names():
    model = AnonymizedEstimator(
        LogisticRegression(), guarantees=TWO, split_targets="labels", representative="centroid"
    )
    assert not hasattr(model.fit(DROPPED, Y), "feature_names_in_")
    assert list(model.fit(DROPPED.add_prefix("x"), Y).feature_names_in_) == [
        "x1", "x2", "x3", "x4", "x5",
    ]  # fmt: skip


def test_a_position_that_isnt_there_is_no_column():
    with pytest.raises(ColumnNotFoundError):
        Anonymizer(guarantees=TWO, quasi_identifiers=[9]).fit(ROWS)
