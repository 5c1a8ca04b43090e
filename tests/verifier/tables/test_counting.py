"""The verifier's grouping, against a dictionary of rows."""

from __future__ import annotations

import functools
import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.verifier.tables import _counting
from halfmask.verifier.tables._counting import (
    KEY_LIMIT,
    RowKeys,
    count_classes,
    merge_counted,
    pack,
    starts_of,
    sum_cells,
)
from halfmask.verifier.tables.part import dictionaries, sensitive_values

cells = st.sampled_from(["a", "b", "", None])
tables = st.lists(st.tuples(cells, st.sampled_from([1, 2, None]), cells), min_size=1, max_size=30)
SCHEMA = {"x": pl.String, "n": pl.Int64, "ill": pl.String}


def counted(rows):
    frame = pl.LazyFrame(rows, schema=SCHEMA, orient="row")
    known = dictionaries(frame, dict(frame.collect_schema()))
    values = sensitive_values(known["ill"], kind="categorical")
    found = count_classes(frame, [known["x"], known["n"]], {"ill": (known["ill"], values)})
    return found, known, values


def check(rows):
    found, known, values = counted(rows)
    names = [[None, *known[name].texts.to_list()] for name in ("x", "n")]
    classes = [
        (names[0][x], None if names[1][n] is None else int(names[1][n]))
        for x, n in found.codes.tolist()
    ]
    labels = [*values.labels, None]
    in_classes: Counter[tuple[object, ...]] = Counter()
    for cell in range(len(found.cells["ill"].counts)):
        owner = int(found.cells["ill"].owners[cell])
        label = labels[found.cells["ill"].values[cell]]
        in_classes[*classes[owner], label] += int(found.cells["ill"].counts[cell])

    assert in_classes == Counter(rows)
    assert dict(zip(classes, found.sizes.tolist(), strict=True)) == Counter(
        (x, n) for x, n, _ in rows
    )
    assert found.cells["ill"].sizes.tolist() == found.sizes.tolist()
    assert found.row_cells.sizes.tolist() == found.sizes.tolist()
    assert found.rows == len(rows)


@pytest.mark.slow
@given(tables)
def test_every_row_is_counted_in_its_class(rows):
    check(rows)


@pytest.mark.slow
@given(tables)
def test_keys_that_are_numbered_anew_count_alike(rows):
    """With a bound so low that nothing fits in one word."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_counting, "KEY_LIMIT", 6)
        check(rows)


@pytest.mark.slow
@given(tables, st.integers(1, 29), st.sampled_from([6, 40, _counting.KEY_LIMIT]))
def test_classes_of_two_parts_add_up(rows, cut, limit):
    """Also where the codes of a row take several words."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_counting, "KEY_LIMIT", limit)
        whole, known, values = counted(rows)
        names = [known["x"], known["n"]]
        parts = [
            count_classes(
                pl.LazyFrame(part, schema=SCHEMA, orient="row"),
                names,
                {"ill": (known["ill"], values)},
            )
            for part in (rows[:cut], rows[cut:])
            if part
        ]
        found = functools.reduce(
            functools.partial(merge_counted, [each.n_codes for each in names]), parts
        )

    assert found.codes.tolist() == whole.codes.tolist()
    assert found.sizes.tolist() == whole.sizes.tolist()
    for name in ("starts", "values", "counts"):
        ours, theirs = (getattr(each.cells["ill"], name) for each in (found, whole))
        assert ours.tolist() == theirs.tolist()


def test_runs_start_where_owners_change():
    assert starts_of(np.array([0, 0, 1, 3])).tolist() == [0, 2, 3, 4]


def test_cells_of_the_same_owner_and_value_add_up():
    found = sum_cells(np.array([1, 0, 1, 1]), np.array([2, 0, 2, 0]), np.array([1, 5, 2, 4]), 3)

    assert found.starts.tolist() == [0, 1, 3]
    assert found.values.tolist() == [0, 0, 2]
    assert found.counts.tolist() == [5, 4, 3]


spans = st.lists(st.integers(1, 2**40), min_size=1, max_size=8)


@given(spans)
def test_words_hold_every_column_once_in_order_and_stay_in_bounds(spans):
    packing = pack(spans)

    assert [i for word in packing for i in word] == list(range(len(spans)))
    assert all(math.prod(spans[i] for i in word) <= KEY_LIMIT for word in packing)


@given(
    st.lists(
        st.tuples(st.integers(0, 2**61), st.integers(0, 3), st.integers(0, 2**60)),
        min_size=1,
        max_size=12,
    ),
    st.integers(1, 2**61),
)
def test_keys_are_equal_where_rows_are_and_lead_back_to_them(rows, n):
    words = [np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)]

    keys = RowKeys.of(words, [2**61 + 1, 4, 2**60 + 1]).with_room_for(n)

    same = np.equal.outer(keys.keys, keys.keys)
    assert same.tolist() == [[one == other for other in rows] for one in rows]
    assert keys.span * n <= KEY_LIMIT or keys.span <= len(rows)
    assert [tuple(row) for row in zip(*keys.words_of(keys.keys), strict=True)] == rows
