"""Missing cells as wildcards: against every pair of rows."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.verifier.tables import _wildcards
from halfmask.verifier.tables._counting import count_classes
from halfmask.verifier.tables._wildcards import compatible_cells
from halfmask.verifier.tables.part import dictionaries, sensitive_values

cells = st.sampled_from(["a", "b", None])
tables = st.lists(st.tuples(cells, cells, cells, st.sampled_from("xyz")), min_size=1, max_size=14)
NAMES = ["q1", "q2", "q3", "ill"]


def agree(one, other):
    return all(a is None or b is None or a == b for a, b in zip(one[:3], other[:3], strict=True))


def compatible(rows, column):
    frame = pl.LazyFrame(rows, schema=dict.fromkeys(NAMES, pl.String), orient="row")
    known = dictionaries(frame, dict(frame.collect_schema()))
    values = sensitive_values(known["ill"], kind="categorical")
    counted = count_classes(frame, [known[n] for n in NAMES[:3]], {"ill": (known["ill"], values)})
    found = []
    for block in compatible_cells(counted, column):
        for owner in range(len(block.starts) - 1):
            part = slice(block.starts[owner], block.starts[owner + 1])
            labels = [values.labels[i] for i in block.values[part]]
            found.append(Counter(dict(zip(labels, block.counts[part].tolist(), strict=True))))
    return found


def as_multiset(counters):
    return Counter(frozenset(each.items()) for each in counters)


@pytest.mark.slow
@pytest.mark.parametrize("block", [1, 50_000])
@given(tables)
def test_each_class_is_judged_by_all_rows_it_may_be_one_of(block, rows):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_wildcards, "BLOCK", block)
        found = compatible(rows, "ill")

    classes = sorted({row[:3] for row in rows}, key=str)
    expected = [Counter(row[3] for row in rows if agree(own, row)) for own in classes]
    assert as_multiset(found) == as_multiset(expected)


@given(tables)
def test_without_a_column_rows_are_counted(rows):
    found = compatible(rows, None)

    classes = {row[:3] for row in rows}
    expected = [sum(agree(own, row) for row in rows) for own in classes]
    assert sorted(each.total() for each in found) == sorted(expected)
