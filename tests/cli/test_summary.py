"""Percentages that are never rounded to nothing, or to all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from halfmask.cli._claims import percent
from halfmask.release.page import percent as percent_of_the_report

shares = st.floats(0, 1) | st.sampled_from([0.0, 0.0009, 0.001, 0.5, 0.999, 0.9991, 1.0])


@given(shares)
def test_something_is_neither_nothing_nor_all(share):
    assert (percent(share) == "0%") == (share == 0)
    assert (percent(share) == "100%") == (share == 1)


@given(shares)
def test_the_terminal_and_the_report_say_it_alike(share):
    assert percent(share) == percent_of_the_report(share)
