"""Numbers in sentences: never rounded to nothing, or to all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.assess._risk import percent, row_text


@given(st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_something_is_neither_nothing_nor_all(share):
    assert percent(share) not in {"0 %", "100 %"}


@pytest.mark.parametrize(
    ("share", "given"),
    [(0.5, "50 %"), (1 / 3, "33.33 %"), (0.0001, "0.01 %"), (0.9999, "99.99 %"), (1.0, "100 %")],
)
def test_two_digits_are_enough(share, given):
    assert percent(share) == given


def test_rows_are_counted_in_words():
    assert [row_text(n) for n in (0, 1, 2, 1_000_000)] == [
        "0 rows",
        "1 row",
        "2 rows",
        "1,000,000 rows",
    ]
