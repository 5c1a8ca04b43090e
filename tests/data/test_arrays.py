"""Arrays: a table is one, and nothing else is; no message shows a cell."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from halfmask._errors import ParameterError
from halfmask.anonymize import Anonymizer, Minimizer
from halfmask.data._arrays import table_like
from halfmask.guarantees import KAnonymity
from halfmask.hashing import KeyedHasher
from halfmask.vault import Secret

CANARY = "xqcanary"


def test_a_table_is_taken_as_it_is():
    array = np.zeros((2, 3))
    assert table_like(array) is array
    assert table_like([["a", 1], ["b", 2]]).shape == (2, 2)


def test_a_sparse_matrix_is_left_to_others():
    matrix = csr_array(np.eye(2))
    assert table_like(matrix) is matrix


NO_TABLES = [
    ([CANARY, CANARY], "Expected 2D array, got 1D"),
    (CANARY, "Expected 2D array, got 0D"),
    ([[[CANARY]]], "Expected 2D array, got 3D"),
    ([[CANARY], [CANARY, CANARY]], "same length"),
    (np.array([[7319 + 1j]]), "Complex data not supported"),
]


@pytest.mark.parametrize(("given", "said"), NO_TABLES)
@pytest.mark.parametrize(
    "read",
    [
        table_like,
        Anonymizer(guarantees=[KAnonymity(k=1)]).fit,
        Anonymizer(guarantees=[KAnonymity(k=1)]).fit(np.zeros((4, 1))).transform,
        Minimizer(lambda rows: rows[:, 0] > 1, target_accuracy=0.5, seed=0).fit,
        KeyedHasher(bits=10, secret=Secret.from_bytes(bytes(32))).fit,
    ],
)
def test_what_is_no_table_is_refused_without_a_cell(read, given, said):
    with pytest.raises(ParameterError, match=said) as caught:
        read(given)
    told = str(caught.value) + str(caught.value.__context__)
    assert CANARY not in told
    assert "7319" not in told
