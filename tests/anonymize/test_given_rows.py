"""Given rows: of any library, lazy or there, as a table in which what is missing is missing."""

from __future__ import annotations

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

import halfmask as hm
from halfmask._errors import ColumnNotFoundError, ParameterError
from halfmask.anonymize import Anonymizer
from halfmask.anonymize.given_rows import (
    as_array,
    collected,
    columns_of_array,
    is_frame,
    named,
    read,
)
from halfmask.minimize import Minimizer
from halfmask.training import AnonymizedEstimator
from halfmask.training._encoding import as_table

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


@pytest.mark.parametrize(
    "cells",
    [
        ["xqcanary", 3],
        [3, "xqcanary"],
        [3, date(2020, 1, 1)],
        [["xqcanary"]],
        [{"xqcanary": 3}],
        [b"xqcanary"],
    ],
)
def test_what_is_both_or_neither_is_refused(cells):
    column = np.empty((len(cells), 1), dtype=object)
    for place, cell in enumerate(cells):
        column[place, 0] = cell
    with pytest.raises(TypeError, match=r"Column 'x0'.*both, or neither") as caught:
        columns_of_array(column)
    assert "xqcanary" not in str(caught.value) + str(caught.value.__context__)


@pytest.mark.parametrize(
    ("cells", "dtype", "read_as"),
    [
        ([1, 2.5], pl.Float64, [1.0, 2.5]),
        ([2.5, True], pl.Float64, [2.5, 1.0]),
        ([None, NAN], pl.Float64, [None, None]),
        ([np.int64(3), None], pl.Int64, [3, None]),
        ([2**60 + 1, pd.NA], pl.Int64, [2**60 + 1, None]),
        ([True, None], pl.Boolean, [True, None]),
        (["1", NAN], pl.String, ["1", None]),
        ([date(2020, 1, 1), pd.NaT], pl.Date, [date(2020, 1, 1), None]),
    ],
)
def test_cells_keep_their_type_and_their_digits(cells, dtype, read_as):
    column = columns_of_array(np.array(cells, dtype=object)[:, None])["x0"]
    assert column.dtype == dtype
    assert column.to_list() == read_as


def test_what_is_no_number_in_an_array_is_missing():
    assert columns_of_array(np.array([[1.0], [NAN]]))["x0"].to_list() == [1.0, None]


def test_only_lazy_frames_are_collected():
    assert isinstance(collected(FRAME.lazy()), pl.DataFrame)
    array = np.zeros(2)
    assert collected(FRAME) is FRAME
    assert collected(array) is array


def test_a_stream_that_can_be_read_once_is_read():
    stream = pa.RecordBatchReader.from_batches(
        pa.schema({"age": pa.int64()}), [pa.record_batch({"age": [31, 40]})]
    )
    rows = collected(stream)
    assert [as_table(rows)["age"].to_list() for _ in range(2)] == [[31, 40]] * 2


@pytest.mark.parametrize("given", [pl.Series([31, 40]), pd.Series([31, 40])], ids=["pl", "pd"])
def test_a_series_is_refused_as_an_array_of_one_dimension_is(given):
    with pytest.raises(ParameterError, match="Expected 2D array, got 1D"):
        read(BaseEstimator(), given, reset=True)


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


@pytest.mark.parametrize(
    "given",
    [
        [1, 2],
        pl.Series([1, 2]),
        pd.Series([1, 2]),
        pd.Series([1, 2], dtype="Int64"),
        np.array([1, 2]),
        pa.array([1, 2]),
        pa.chunked_array([[1], [2]]),
    ],
)
def test_labels_of_any_kind_are_an_array(given):
    found = as_array(given)
    assert isinstance(found, np.ndarray)
    assert found.tolist() == [1, 2]


@pytest.mark.parametrize("given", [["a", "b"], [True, False]])
def test_labels_of_arrow_that_must_be_copied_are(given):
    assert as_array(pa.array(given)).tolist() == given


def test_masked_labels_are_refused():
    with pytest.raises(ParameterError, match="y is a masked array"):
        as_array(np.ma.masked_array([1, 7319], [False, True]))


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


@pytest.mark.slow
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
