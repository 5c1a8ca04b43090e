"""Hierarchies built from rules are trees of what the rule says."""

from __future__ import annotations

import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import HierarchyError, ParameterError
from halfmask.data.hierarchy._dates import Dates
from halfmask.data.hierarchy._rules import Groups, HierarchyRule, Intervals, Order, Prefix

CANARY = "CANARY"
NUMBER = re.compile(r"\[(.+), (.+)\)")


def contiguous(tree):
    for level in range(tree.height):
        labels = tree.labels(level)
        runs = [x for i, x in enumerate(labels) if i == 0 or labels[i - 1] != x]
        assert len(runs) == len(set(runs))
    assert tree.labels(tree.height - 1) == ("*",) * len(tree)


@pytest.mark.slow
@given(
    st.lists(st.integers(-(10**6), 10**6), min_size=1, unique=True),
    st.integers(1, 50),
    st.lists(st.integers(2, 7), max_size=3),
    st.integers(-9, 9),
)
def test_each_number_lies_in_its_interval_of_the_right_width(numbers, width, ratios, origin):
    widths = [width]
    for ratio in ratios:
        widths.append(widths[-1] * ratio)

    tree = Intervals(widths=widths, origin=origin).build(pl.Series(numbers), column="c")

    contiguous(tree)
    assert [int(x) for x in tree.leaves] == sorted(numbers)
    assert tree.height == len(widths) + 2
    for level, wide in enumerate(widths, start=1):
        for leaf, label in zip(tree.leaves, tree.labels(level), strict=True):
            low, high = map(int, NUMBER.findall(label)[0])
            assert low <= int(leaf) < high
            assert high - low == wide
            assert (low - origin) % wide == 0


def test_decimal_widths_are_exact():
    cells = [0.1, 0.2, 0.3, 0.6, 0.7, 0.35]

    tree = Intervals(widths=(0.1, 0.5)).build(pl.Series(cells), column="c")

    assert tree.labels(1) == (
        "[0.1, 0.2)", "[0.2, 0.3)", "[0.3, 0.4)", "[0.3, 0.4)", "[0.6, 0.7)", "[0.7, 0.8)",
    )  # fmt: skip
    assert tree.labels(2) == ("[0, 0.5)",) * 4 + ("[0.5, 1)",) * 2


def test_numbers_stored_as_text_are_in_the_order_of_numbers():
    tree = Intervals(widths=(10,)).build(pl.Series(["10", "9", "100"]), column="c")

    assert tree.leaves == ("9", "10", "100")


@pytest.mark.parametrize("cells", [["1", CANARY], [1.0, float("nan")], [float("inf")]])
def test_what_is_no_finite_number_is_refused_and_counted(cells):
    with pytest.raises(HierarchyError, match="'age' has 1 values that are no finite") as caught:
        Intervals(widths=(5,)).build(pl.Series(cells), column="age")

    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("widths", [(1, 1e28), (1, 10**19), (1e-300, 1e300), (1e28, 1)])
def test_intervals_that_cannot_be_counted_are_refused(widths):
    with pytest.raises(ParameterError, match="widths"):
        Intervals(widths=widths)


def test_the_widest_intervals_that_can_be_counted_are_built():
    tree = Intervals(widths=(1, 10**18)).build(pl.Series([-3, 0, 7]), column="c")
    assert tree.labels(2) == ("[-1000000000000000000, 0)", *["[0, 1000000000000000000)"] * 2)


@pytest.mark.parametrize("widths", [(), (0,), (-5,), (5, 12), (10, 5), (5, 5), (float("inf"),), 5])
def test_intervals_that_do_not_nest_are_refused(widths):
    with pytest.raises(ParameterError, match="widths"):
        Intervals(widths=widths)


def test_an_order_has_its_groups_as_levels():
    rule = Order([[["a", "b"], ["c"]], [["d", "e"]]])

    tree = rule.build(pl.Series(["e", "a"]), column="c")

    contiguous(tree)
    assert tree.leaves == ("a", "b", "c", "d", "e")
    assert tree.labels(1) == ("[a, b]", "[a, b]", "c", "[d, e]", "[d, e]")
    assert tree.labels(2) == ("[a, c]",) * 3 + ("[d, e]",) * 2


def test_a_flat_order_groups_neighbours_by_sizes():
    tree = Order([1, 2, 3, 4, 5], sizes=(2, 4)).build(pl.Series([3, 5]), column="c")

    assert tree.labels(1) == ("[1, 2]", "[1, 2]", "[3, 4]", "[3, 4]", "5")
    assert tree.labels(2) == ("[1, 4]",) * 4 + ("5",)
    assert Order(["low", "high"]).build(pl.Series(["low"]), column="c").height == 2


@pytest.mark.parametrize("build", [Order([["a"], ["b"]]).build, Groups({"x": ["a", "b"]}).build])
def test_a_list_that_lacks_a_value_is_refused_and_the_value_not_shown(build):
    with pytest.raises(HierarchyError, match="'c' lacks 1 value") as caught:
        build(pl.Series(["a", CANARY]), column="c")

    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (Order([["a"], [["b"]]]).build, "uneven"),
        (Order([["a"], ["a"]]).build, "duplicates"),
        (Groups({"x": ["a"], "y": {"z": ["b"]}}).build, "uneven"),
        (Groups({"x": ["a"], "y": ["a"]}).build, "duplicates"),
        (Groups({"x": {"s": ["a"]}, "y": {"s": ["b"]}}).build, "more than one parent"),
        (Groups({"x": {"b": ["a"]}, "a": {"y": ["b"]}}).build, "cycle"),
    ],
)
def test_lists_that_are_no_tree_are_refused(build, says):
    with pytest.raises(HierarchyError, match=says):
        build(pl.Series(["a"]), column="c")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Order([]),
        lambda: Order("abc"),
        lambda: Order([["a"]], sizes=(2,)),
        lambda: Order(["a"], sizes=(2, 3)),
        lambda: Groups({}),
        lambda: Groups([["a"]]),  # type: ignore[arg-type] # what a policy file may hold
        lambda: Groups({"x": "abc"}).build(pl.Series(["a"]), column="c"),
        lambda: Prefix(keep=()),
        lambda: Prefix(keep=(2, 3)),
        lambda: Prefix(keep=(3, 0)),
        lambda: Prefix(keep=(3,), length=2),
        lambda: Prefix(keep=(3,), mask="**"),
        lambda: Dates(levels=()),
        lambda: Dates(levels=("year", "month")),
        lambda: Dates(levels=("months",)),
        lambda: Dates(levels="day"),
    ],
)
def test_rules_that_say_nothing_or_too_much_are_refused(wrong):
    with pytest.raises(ParameterError):
        wrong()


@pytest.mark.slow
@given(
    st.lists(st.text("ab*0", min_size=1, max_size=6), min_size=1, unique=True),
    st.lists(st.integers(1, 7), min_size=1, unique=True),
)
def test_prefixes_keep_what_they_say_and_mask_the_rest(cells, keep):
    keep = sorted(keep, reverse=True)

    tree = Prefix(keep=keep, length=8).build(pl.Series(cells), column="c")

    assert sorted(tree.leaves) == sorted(cells)
    for level, n in enumerate(keep, start=1):
        for leaf, label in zip(tree.leaves, tree.labels(level), strict=True):
            assert label == leaf[:n].ljust(8, "*")


def test_codes_read_as_numbers_get_their_zeros_back():
    tree = Prefix(keep=(3,), length=5).build(pl.Series([2139, 90210]), column="zip")

    assert tree.leaves == ("2139", "90210")
    assert tree.labels(1) == ("021**", "902**")


def test_text_longer_than_the_length_is_refused_without_showing_it():
    with pytest.raises(HierarchyError, match="1 values of more than 5 characters") as caught:
        Prefix(keep=(3,), length=5).build(pl.Series([CANARY, "ab"]), column="zip")

    assert CANARY not in str(caught.value)


@pytest.mark.slow
@given(st.lists(st.dates(), min_size=1, unique=True))
def test_dates_agree_with_the_calendar_of_python(dates):
    levels = ("day", "month", "quarter", "year", "decade")

    tree = Dates(levels=levels).build(pl.Series(dates, dtype=pl.Date), column="c")

    assert list(tree.leaves) == [day.isoformat() for day in sorted(dates)]
    for i, day in enumerate(sorted(dates)):
        assert [tree.labels(n)[i] for n in range(1, 7)] == [
            day.isoformat(),
            f"{day.year:04d}-{day.month:02d}",
            f"{day.year:04d}-Q{(day.month + 2) // 3}",
            f"{day.year:04d}",
            f"{day.year // 10 * 10:04d}s",
            "*",
        ]


def test_dates_in_text_by_iso_or_by_a_format():
    iso = Dates(levels=("month",)).build(
        pl.Series(["2020-01-31", "2020-01-05T10:00:00"]), column="c"
    )
    us = Dates(levels=("month",), format="%m/%d/%Y").build(pl.Series(["3/29/1982"]), column="c")

    assert iso.labels(1) == ("2020-01", "2020-01")
    assert us.labels(1) == ("1982-03",)


@pytest.mark.parametrize("cell", [CANARY, "2020-13-01", "29/03/1982"])
def test_text_that_is_no_date_is_refused_and_counted(cell):
    with pytest.raises(HierarchyError, match="1 values that are no dates") as caught:
        Dates(levels=("year",)).build(pl.Series([cell, "2020-01-01"]), column="c")

    assert cell not in str(caught.value)


@pytest.mark.parametrize(
    "rule",
    [Intervals(widths=(5,)), Order(["a"]), Prefix(keep=(1,)), Groups({"x": ["a"]}),
     Dates(levels=("year",))],
    ids=lambda rule: type(rule).__name__,
)  # fmt: skip
def test_rules_are_values_that_build(rule):
    assert isinstance(rule, HierarchyRule)
    assert hash(rule) == hash(rule)
