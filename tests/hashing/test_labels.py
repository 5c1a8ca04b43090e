"""Codes of labels: which class is which stays at home."""

from __future__ import annotations

import datetime as dt
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import DataError, HalfmaskError, SchemaError
from halfmask.hashing import LabelCodes
from halfmask.vault import Secret

SECRET = Secret.from_bytes(bytes(range(32)))
KINDS = {
    "text": st.text(max_size=5),
    "integer": st.integers(-(2**63), 2**63 - 1),
    "boolean": st.booleans(),
    "float": st.floats(allow_nan=False).map(lambda it: it + 0.0),
    "date": st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_codes_come_home(kind, data):
    labels = data.draw(st.lists(KINDS[kind], min_size=1, max_size=12))
    codes = LabelCodes.fit(labels, secret=SECRET)

    again = LabelCodes.from_bytes(codes.to_bytes())
    found = again.encode(labels)

    assert found.dtype == np.int32
    assert set(found.tolist()) == set(range(len(codes)))
    assert codes.decode(found).astype(object).tolist() == labels
    assert again.kind == kind


def test_the_order_is_the_key_s():
    """Over some secrets each order comes, and rows' order has no say."""
    labels = ["a", "b", "c"]
    orders = set()
    for number in range(40):
        secret = Secret.from_bytes(bytes([number]) * 32)
        codes = LabelCodes.fit(labels, secret=secret)
        orders.add(tuple(codes.encode(labels).tolist()))
        turned = LabelCodes.fit_batches([["c"], ["b", "a", "b"]], secret=secret)
        assert turned.encode(labels).tolist() == codes.encode(labels).tolist()
    assert len(orders) == 6
    assert (
        len(
            {
                tuple(LabelCodes.fit(labels, secret=SECRET, name=n).encode(labels))
                for n in "abcdefghi"
            }
        )
        > 1
    )


@pytest.mark.parametrize(
    "of",
    [list, np.array, pd.Series, pl.Series, pa.array, lambda it: pl.Series(it).cast(pl.Categorical),
     lambda it: pa.chunked_array([it[:1], it[1:]]), lambda it: pd.Series(it, dtype="category")],
    ids=range(8),
)  # fmt: skip
def test_labels_of_any_library(of):
    labels = ["yes", "no", "yes"]
    codes = LabelCodes.fit(of(labels), secret=SECRET)

    assert codes.decode(codes.encode(of(labels))).tolist() == labels


def test_probabilities_come_home():
    codes = LabelCodes.fit(["a", "b", "c"], secret=SECRET)
    sent = np.eye(3)[codes.encode(["c", "a", "b"])]

    assert codes.names.tolist() == ["a", "b", "c"]
    assert codes.decode_probabilities(sent).tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]


def test_one_probability_is_that_of_code_one():
    codes = LabelCodes.fit(["no", "yes"], secret=SECRET)

    found = codes.decode_probabilities([0.25, 1.0])

    one = codes.decode(np.array([1]))[0]
    assert found[:, codes.names.tolist().index(one)].tolist() == [0.25, 1.0]
    assert found.sum(axis=1).tolist() == [1.0, 1.0]


def test_one_class_is_one_of_two():
    codes = LabelCodes.fit([True, True], secret=SECRET)

    assert (len(codes), codes.classes, codes.encode([True]).tolist()) == (1, 2, [0])


BAD = [
    [], ["a", None], [1.5, float("nan")], ["a", 1], [["a"]], [b"a"], [dt.timedelta(1)],
]  # fmt: skip


@pytest.mark.parametrize("labels", BAD, ids=range(len(BAD)))
def test_what_is_no_label(labels):
    with pytest.raises((DataError, SchemaError)):
        LabelCodes.fit(labels, secret=SECRET)


def test_what_a_label_can_t_become():
    codes = LabelCodes.fit(["CANARY", "no"], secret=SECRET)

    for call in (
        lambda: codes.encode(["CANARY-new"]),
        lambda: codes.encode([1]),
        lambda: codes.encode([None]),
        lambda: codes.decode([2]),
        lambda: codes.decode([-1]),
        lambda: codes.decode([0.5]),
        lambda: codes.decode_probabilities([[1.0]]),
        lambda: LabelCodes.fit([2**64], secret=SECRET),
    ):
        with pytest.raises(HalfmaskError) as caught:
            call()
        assert "CANARY" not in str(caught.value)
    assert "CANARY" not in repr(codes)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "spell"}, {"version": 2}, {"values": []}, {"values": ["a", "a"]},
        {"values": [1, 2]}, {"values": None}, {"values": ["a", None]},
    ],
    ids=range(7),
)  # fmt: skip
def test_damaged_bytes_are_reported(change):
    said = json.loads(LabelCodes.fit(["a", "b"], secret=SECRET).to_bytes())

    for data in (json.dumps(said | change).encode(), b"", b"[]", b"null"):
        with pytest.raises(DataError):
            LabelCodes.from_bytes(data)
