from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import ColumnNotFoundError, ParameterError
from halfmask.guarantees import Classes, Histogram, _histogram

N_CLASSES, N_VALUES = 4, 5
ROWS = st.lists(st.tuples(st.integers(0, N_CLASSES - 1), st.integers(0, N_VALUES - 1)), max_size=40)


def grid(histogram: Histogram) -> list[list[int]]:
    """Write a histogram out, zeros included."""
    out = [[0] * histogram.n_values for _ in range(histogram.n_classes)]
    for place, (code, count) in enumerate(
        zip(histogram.codes.tolist(), histogram.counts.tolist(), strict=True)
    ):
        of = max(i for i, start in enumerate(histogram.offsets.tolist()[:-1]) if start <= place)
        out[of][code] += count
    return out


def counted(rows: list[tuple[int, int]], n: int = N_CLASSES) -> list[list[int]]:
    out = [[0] * N_VALUES for _ in range(n)]
    for row_class, code in rows:
        out[row_class][code] += 1
    return out


def classes_of(rows: list[tuple[int, int]]) -> Classes:
    return Classes.from_codes(
        [row[0] for row in rows], N_CLASSES, {"s": ([row[1] for row in rows], N_VALUES)}
    )


@pytest.fixture(params=["grid", "sorted"])
def _way(request, monkeypatch):
    """Count by both ways, into a grid and by sorting keys."""
    if request.param == "sorted":
        monkeypatch.setattr(_histogram, "_GRID_LIMIT", 0)


@pytest.mark.usefixtures("_way")
class TestCounting:
    def check(self, classes: Classes, expected: list[list[int]]) -> None:
        histogram = classes.histogram("s")
        assert grid(histogram) == expected
        assert classes.sizes.tolist() == [sum(row) for row in expected]
        assert histogram.totals.tolist() == [sum(column) for column in zip(*expected, strict=True)]
        assert (histogram.counts > 0).all()
        for start, end in zip(histogram.offsets[:-1], histogram.offsets[1:], strict=True):
            assert (np.diff(histogram.codes[start:end]) > 0).all()

    def test_counts_are_those_of_a_dictionary(self):
        @given(ROWS)
        def check(rows):
            self.check(classes_of(rows), counted(rows))

        check()

    def test_batches_add_up_to_the_whole_in_any_order(self):
        @given(ROWS, ROWS)
        def check(first, second):
            self.check(classes_of(first) + classes_of(second), counted(first + second))
            self.check(classes_of(second) + classes_of(first), counted(first + second))

        check()

    def test_merged_classes_have_the_rows_of_all(self):
        @given(ROWS, st.lists(st.integers(0, 2), min_size=N_CLASSES, max_size=N_CLASSES))
        def check(rows, into):
            merged = classes_of(rows).coarsened(into, 3)

            self.check(merged, counted([(into[row[0]], row[1]) for row in rows], 3))

        check()

    def test_suppressed_classes_leave_the_totals_too(self):
        @given(ROWS, st.sets(st.integers(0, N_CLASSES - 1)))
        def check(rows, dropped):
            kept = [i for i in range(N_CLASSES) if i not in dropped]
            left = [(kept.index(row[0]), row[1]) for row in rows if row[0] in kept]

            remaining = classes_of(rows).without(sorted(dropped))

            assert remaining.n_classes == len(kept)
            if kept:
                self.check(remaining, counted(left, len(kept)))

        check()


@given(ROWS)
def test_compact_drops_only_values_that_do_not_occur(rows):
    histogram = classes_of(rows).histogram("s").compact()

    occurring = sorted({row[1] for row in rows})
    full = counted(rows)
    assert grid(histogram) == [[row[i] for i in occurring] for row in full]
    assert histogram.totals.tolist() == [sum(row[i] for row in full) for i in occurring]


def test_a_frame_is_counted_by_its_values_with_missing_as_one():
    frame = pl.DataFrame(
        {"q": ["x", None, "x", None], "s": [3, 1, None, 1], "other": [0.1, 0.2, 0.3, 0.4]}
    )

    classes = Classes.of(frame, quasi_identifiers=["q"], sensitive=["s"], orders={"s": [3, 2, 1]})

    assert classes.sizes.tolist() == [2, 2]
    assert sorted(grid(classes.histogram("s"))) == [[0, 0, 2, 0], [1, 0, 0, 1]]


def test_a_column_that_was_not_counted_is_named():
    classes = Classes.of(pl.DataFrame({"q": [1]}), quasi_identifiers=["q"])

    with pytest.raises(ColumnNotFoundError, match="'ill'"):
        classes.histogram("ill")


def test_a_missing_sensitive_column_is_named_before_anything_is_counted():
    with pytest.raises(ColumnNotFoundError, match="'ill'"):
        Classes.of(pl.DataFrame({"q": [1]}), quasi_identifiers=["q"], sensitive=["ill"])


@pytest.mark.parametrize(
    ("rows", "codes"), [([0, 2], [0, 0]), ([0, -1], [0, 0]), ([0, 1], [0, 3]), ([0], [0, 0])]
)
def test_codes_out_of_range_and_lengths_that_differ_are_refused(rows, codes):
    with pytest.raises(ParameterError):
        Classes.from_codes(rows, 2, {"s": (codes, 3)})


def test_batches_of_different_shape_do_not_add_up():
    one, two = Classes.from_codes([0], 1), Classes.from_codes([0, 1], 2)

    with pytest.raises(ParameterError, match="don't add up"):
        one + two
    with pytest.raises(ParameterError, match="don't add up"):
        one + Classes.from_codes([0], 1, {"s": ([0], 1)})
    with pytest.raises(ParameterError, match="'into'"):
        two.coarsened([0], 1)
