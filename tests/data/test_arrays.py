"""Arrays: a table is one, and nothing else is; no message shows a cell."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.tree import DecisionTreeClassifier

from halfmask._errors import DataError, ParameterError
from halfmask.anonymize import Anonymizer
from halfmask.data.arrays import is_missing, table_like, unmasked
from halfmask.guarantees import KAnonymity
from halfmask.hashing import KeyedHasher
from halfmask.minimize import Minimizer
from halfmask.training import AnonymizedEstimator
from halfmask.vault import Secret

CANARY = "xqcanary"


def test_a_table_is_taken_as_it_is():
    array = np.zeros((2, 3))
    assert table_like(array) is array
    assert table_like([["a", 1], ["b", 2]]).shape == (2, 2)


def test_a_sparse_matrix_is_left_to_others():
    matrix = csr_array(np.eye(2))
    assert table_like(matrix) is matrix


def test_numbers_beside_texts_stay_numbers():
    read = table_like([[31, "Ulm"], [40, "Bern"]])
    assert read.dtype == object
    assert read[:, 0].tolist() == [31, 40]
    texts = np.array([["31", "Ulm"]])
    assert table_like(texts) is texts
    assert table_like([[31, 1.5], [40, 2]]).dtype == np.float64


@pytest.mark.parametrize(
    "cell",
    [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("sNaN")],
)
def test_what_holds_nothing_is_missing(cell):
    assert is_missing(cell)


@pytest.mark.parametrize("cell", [0, "", False, "nan", Decimal(0), np.array([1, float("nan")]), []])
def test_what_holds_something_is_there(cell):
    assert not is_missing(cell)


MASKED = np.ma.masked_array([[31.0], [7319.0]], mask=[[False], [True]])


def test_what_is_masked_isnt_read():
    with pytest.raises(ParameterError, match="y is a masked array with 1 masked cells") as caught:
        unmasked(MASKED, name="y")
    assert "7319" not in str(caught.value)
    assert "array.filled" in str(caught.value)


def test_what_is_masked_in_a_list_of_rows_isnt_read_and_is_told_as_asked():
    rows = [np.ma.masked_equal([31.0, 7319.0], 31.0), [1.0, 2.0], np.ma.masked]
    with pytest.raises(DataError, match="y is a masked array with 2 masked cells"):
        unmasked(rows, name="y", told_as=DataError)


@pytest.mark.parametrize("given", [np.ma.masked_array([[1.0]]), [[1]], "a", None])
def test_what_masks_nothing_is_as_it_is(given):
    assert unmasked(given, name="y") is given


NO_TABLES = [
    ([CANARY, CANARY], "Expected 2D array, got 1D"),
    (CANARY, "Expected 2D array, got 0D"),
    ([[[CANARY]]], "Expected 2D array, got 3D"),
    ([[CANARY], [CANARY, CANARY]], "same length"),
    (np.array([[7319 + 1j]]), "Complex data not supported"),
    (MASKED, "X is a masked array with 1 masked cells"),
]


@pytest.mark.parametrize(("given", "said"), NO_TABLES)
@pytest.mark.parametrize(
    "read",
    [
        table_like,
        Anonymizer(guarantees=[KAnonymity(k=1)]).fit,
        Anonymizer(guarantees=[KAnonymity(k=1)]).fit(np.zeros((4, 1))).transform,
        Minimizer(lambda rows: rows[:, 0] > 1, target_accuracy=0.5, random_state=0).fit,
        lambda rows: AnonymizedEstimator(
            DecisionTreeClassifier(), guarantees=[KAnonymity(k=1)]
        ).fit(rows, [0, 1]),
        KeyedHasher(bits=10, secret=Secret.from_bytes(bytes(32))).fit,
    ],
)
def test_what_is_no_table_is_refused_without_a_cell(read, given, said):
    with pytest.raises(ParameterError, match=said) as caught:
        read(given)
    told = str(caught.value) + str(caught.value.__context__)
    assert CANARY not in told
    assert "7319" not in told
