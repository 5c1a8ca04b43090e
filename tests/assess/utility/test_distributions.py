"""Pictures hold their shares, and never what the release doesn't."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import ParameterError
from halfmask.assess.utility import ColumnExtents, categorical_distribution, numeric_distribution

CANARY = "zz-canary-zz"


def ranges(low, high):
    low, high = np.array(low, dtype=float), np.array(high, dtype=float)
    return ColumnExtents(
        low=low, high=high, domain_low=low.min(), domain_high=high.max(), categorical=False
    )


def test_an_exact_release_looks_like_the_raw_table():
    raw = np.repeat(np.arange(10.0), 20)

    picture = numeric_distribution(
        raw, ranges(raw, raw), np.ones(len(raw), dtype=np.int64), min_count=5
    )

    assert picture is not None
    assert picture.before == picture.after
    assert picture.distance == 0.0
    assert sum(picture.before) == pytest.approx(1.0)


def test_a_range_is_spread_evenly_over_its_width():
    """100 rows of [0, 10]: each of ten bins one wide holds 10 of them."""
    raw = np.repeat(np.arange(11.0), 10)

    picture = numeric_distribution(raw, ranges([0.0], [10.0]), np.array([100]), min_count=1)

    assert picture is not None
    assert picture.after == pytest.approx([0.1] * 10)


def test_numeric_ends_are_those_of_the_release():
    """The raw 9999 belongs to a suppressed row: the picture must not reach it."""
    raw = np.concatenate([np.repeat(np.arange(50.0), 10), [9999.0, -777.0]])

    picture = numeric_distribution(raw, ranges([0.0], [49.0]), np.array([500]), min_count=10)

    assert picture is not None
    assert "9,999" not in " ".join(picture.labels)
    assert picture.labels[0].startswith("0 to")
    assert picture.labels[-1].endswith("to 49")


@given(
    raw=st.lists(st.integers(-1000, 1000), min_size=2, max_size=80),
    least=st.integers(1, 12),
    data=st.data(),
)
def test_no_bin_shows_fewer_raw_rows_than_the_least(raw, least, data):
    values = np.array(raw, dtype=float)
    kept = data.draw(st.integers(1, len(raw)))
    released = ranges(values[:kept], values[:kept])

    picture = numeric_distribution(values, released, np.ones(kept, dtype=int), min_count=least)

    if picture is None:
        return
    assert 2 <= len(picture.labels) <= 24
    ends = [
        [float(end) for end in re.findall(r"-?[\d.]+", label.replace(",", ""))]
        for label in picture.labels
    ]
    clipped = np.clip(values, min(ends)[0], max(ends)[1])
    last = max(high for _, high in ends)
    for low, high in ends:
        inside = (clipped >= low) & ((clipped < high) | ((high == last) & (clipped == last)))
        assert inside.sum() >= least
    assert sum(picture.before) == pytest.approx(1.0)


@pytest.mark.parametrize("raw", [[], [float("nan")], [1.0, 1.0]])
def test_no_picture_where_there_is_nothing_to_see(raw):
    released = ranges([1.0], [1.0])

    assert numeric_distribution(np.array(raw), released, np.array([2]), min_count=1) is None


def test_a_release_too_wide_for_floating_point_has_no_picture():
    released = ranges([-1.7e308], [1.7e308])

    assert numeric_distribution(np.array([1.0]), released, np.array([2]), min_count=1) is None


@pytest.mark.parametrize(
    ("count", "in_release"),
    [(3, True), (9, True), (500, False)],
    ids=["rare", "one short", "not in release"],
)
def test_a_value_that_is_rare_or_not_in_the_release_is_never_named(count, in_release):
    before = {"a": 100.0, "b": 50.0, CANARY: float(count)}
    held = {"a", "b", CANARY} if in_release else {"a", "b"}

    picture = categorical_distribution(before, {"a": 100.0}, in_release=held, min_count=10)

    assert picture is not None
    assert CANARY not in json.dumps(picture.to_dict()) + repr(picture)


def test_a_value_that_may_be_named_is():
    """The control of the test above: the same value with one row more, and in the release."""
    before = {"a": 100.0, CANARY: 10.0}

    picture = categorical_distribution(before, before, in_release={"a", CANARY}, min_count=10)

    assert picture is not None
    assert CANARY in picture.labels


def test_other_is_left_out_where_it_would_show_a_few_rows():
    before = {"a": 100.0, "b": 50.0, "rare": 9.0}

    picture = categorical_distribution(before, before, in_release=set(before), min_count=10)

    assert picture is not None
    assert picture.labels == ("a", "b")


def test_the_top_twelve_are_named_and_the_rest_is_other():
    before = {f"v{place:02d}": 1000.0 - place for place in range(30)}

    picture = categorical_distribution(before, before, in_release=set(before), min_count=10)

    assert picture is not None
    assert picture.labels == (*(f"v{place:02d}" for place in range(12)), "other")


def test_counts_are_rounded_so_that_a_single_row_cannot_be_read_off():
    """1,003 and 1,004 raw rows of a value give one picture at a least count of 10."""
    pictures = {
        categorical_distribution(
            {"a": rows, "b": 500.0}, {"a": 1000.0, "b": 500.0}, in_release={"a", "b"}, min_count=10
        )
        for rows in (1003.0, 1004.0)
    }

    assert len(pictures) == 1


def test_a_least_count_below_one_is_refused():
    with pytest.raises(ParameterError, match="min_count"):
        categorical_distribution({"a": 1.0}, {"a": 1.0}, in_release={"a"}, min_count=0)
    with pytest.raises(ParameterError, match="min_count"):
        numeric_distribution(np.ones(1), ranges([1.0], [2.0]), np.ones(1, int), min_count=0)


def test_numbers_nearer_than_floats_have_no_distribution():
    raw = np.array([2.0**53 + 2, 2.0**53 + 4, 2.0**53 + 6])
    released = ColumnExtents(
        low=raw[:1], high=raw[-1:], domain_low=raw[0], domain_high=raw[-1], categorical=False
    )
    assert numeric_distribution(raw, released, np.array([3]), min_count=1) is None
