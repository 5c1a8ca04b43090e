"""Given rows: of any library, lazy or there, as a table in which what is missing is missing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator

from halfmask._errors import ParameterError
from halfmask.anonymize._given_rows import as_array, collected, columns_of_array, is_frame, read

NAN = float("nan")
FRAME = pl.DataFrame({"age": [31.0, NAN, None], "town": ["Ulm", None, "Bern"]})
MEANT = [(31.0, "Ulm"), (None, None), (None, "Bern")]


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (FRAME, pl.DataFrame),
        (FRAME.lazy(), pl.DataFrame),
        (pd.DataFrame({"age": [31.0, NAN, None], "town": ["Ulm", None, "Bern"]}), pd.DataFrame),
        (np.array([[31.0, "Ulm"], [NAN, None], [None, "Bern"]], dtype=object), np.ndarray),
    ],
)
def test_rows_are_read_alike_and_stay_in_their_library(given, kind):
    estimator = BaseEstimator()
    rows, table = read(estimator, given, reset=True)
    assert isinstance(rows, kind)
    assert table.rows() == MEANT
    assert estimator.n_features_in_ == 2
    assert table.columns == (["x0", "x1"] if kind is np.ndarray else ["age", "town"])


def test_other_columns_than_those_of_the_fit_are_refused():
    estimator = BaseEstimator()
    read(estimator, FRAME, reset=True)
    with pytest.raises(ValueError, match="feature names"):
        read(estimator, FRAME.rename({"age": "years"}), reset=False)
    of_array = BaseEstimator()
    read(of_array, np.zeros((4, 2)), reset=True)
    with pytest.raises(ValueError, match="3 features, but BaseEstimator is expecting 2"):
        read(of_array, np.zeros((4, 3)), reset=False)


@pytest.mark.parametrize("given", [FRAME, FRAME.lazy(), np.zeros((3, 2))])
def test_there_must_be_as_many_rows_as_are_needed(given):
    assert read(BaseEstimator(), given, reset=True, least=3)[1].height == 3
    with pytest.raises(ValueError, match=r"4 (are|is) required"):
        read(BaseEstimator(), given, reset=True, least=4)


def test_complex_numbers_are_refused_and_what_is_both_or_neither():
    with pytest.raises(ParameterError, match="Complex data not supported"):
        read(BaseEstimator(), np.zeros((2, 1), dtype=complex), reset=True)
    with pytest.raises(TypeError, match=r"Column 'x0'.*both, or neither") as caught:
        columns_of_array(np.array([["xqcanary"], [3]], dtype=object))
    assert "xqcanary" not in str(caught.value)


def test_numbers_stay_numbers_and_texts_texts():
    cells = np.array([[1, "1"], [2.5, NAN]], dtype=object)
    assert columns_of_array(cells).schema == {"x0": pl.Float64, "x1": pl.String}
    assert columns_of_array(np.array([[1], [2]])).schema == {"x0": pl.Int64}


def test_what_is_no_number_in_an_array_is_missing():
    assert columns_of_array(np.array([[1.0], [NAN]]))["x0"].to_list() == [1.0, None]


def test_only_lazy_frames_are_collected():
    assert isinstance(collected(FRAME.lazy()), pl.DataFrame)
    array = np.zeros(2)
    assert collected(FRAME) is FRAME
    assert collected(array) is array


@pytest.mark.parametrize(
    ("given", "frame"),
    [
        (FRAME, True),
        (FRAME.lazy(), True),
        (pd.DataFrame({"a": [1]}), True),
        (pa.table({"a": [1]}), True),
        (np.zeros((1, 1)), False),
        ([[1]], False),
    ],
)
def test_what_names_its_columns_is_a_frame(given, frame):
    assert is_frame(given) is frame


@pytest.mark.parametrize("given", [[1, 2], pl.Series([1, 2]), pd.Series([1, 2]), np.array([1, 2])])
def test_labels_of_any_kind_are_an_array(given):
    found = as_array(given)
    assert isinstance(found, np.ndarray)
    assert found.tolist() == [1, 2]
