"""Which values fit a label: ranges, sets, quoted texts, nodes; everything else is refused."""

from __future__ import annotations

import pytest

from halfmask._errors import VerificationError
from halfmask.verifier.tables._labels import node_fits, value_fits


def fitting(label, values, *, is_number=False, is_scale=False):
    fits = value_fits([label], values, is_number=is_number, is_scale=is_scale)
    assert fits[0].tolist() == [True] + [False] * len(values)  # missing fits missing alone
    return fits[1, 0].item(), [v for v, it in zip(values, fits[1, 1:], strict=True) if it]


@pytest.mark.parametrize(
    ("label", "values", "expected"),
    [
        ("[21, 22]", ["20", "21", "21.5", "22", "22.5", "100"], ["21", "21.5", "22"]),
        ("[-5, 1e2]", ["-6", "-5", "99.99", "100", "100.01"], ["-5", "99.99", "100"]),
        ("[0.1, 0.3]", ["0.1", "0.30000000000000004", "0.3"], ["0.1", "0.3"]),
        ("[2020-01-31, 2020-02-02]", ["2020-01-30", "2020-02-01"], ["2020-02-01"]),
        (
            "[2020-01-01 00:00:00.000000, 2020-01-01 12:00:00.000001]",
            ["2020-01-01 12:00:00.000001", "2020-01-01 12:00:00.000002"],
            ["2020-01-01 12:00:00.000001"],
        ),
        (
            "[9007199254740993, 9007199254740993]",
            ["9007199254740992", "9007199254740993"],
            ["9007199254740993"],
        ),
        ("{Lyon, Nice}", ["Lyon", "Nice", "Lyo", "Lyon, Nice"], ["Lyon", "Nice"]),
        ('{"a, b", c}', ["a, b", "a", "b", "c"], ["a, b", "c"]),
        ('{"{", "", " "}', ["{", "", " "], ["{", "", " "]),
        ("{a, b, c, d, ... 40 in all}", ["a", "d", "e", "... 40 in all"], ["a", "d"]),
        ('{a, "... 40 in all"}', ["a", "... 40 in all"], ["a", "... 40 in all"]),
        ("Lyon", ["Lyon", "Lyon "], ["Lyon"]),
        ('"[1, 2]"', ["[1, 2]", "1"], ["[1, 2]"]),
        ('"x or missing"', ["x or missing", "x"], ["x or missing"]),
    ],
)
def test_a_label_covers_what_it_says(label, values, expected):
    assert fitting(label, values) == (False, expected)
    missing, found = fitting(f"{label} or missing", values)
    assert (missing, found) == (True, expected)


def test_numbers_are_compared_as_numbers_where_they_are():
    assert fitting("{1.0, 3.0}", ["1", "2", "3"], is_number=True) == (False, ["1", "3"])
    assert fitting("{1.0, 3.0}", ["1", "2", "3"]) == (False, [])
    assert fitting("21", ["21", "22"], is_scale=True) == (False, ["21"])
    assert fitting("01", ["1"]) == (False, [])


@pytest.mark.parametrize(
    ("label", "values", "why"),
    [
        ("[1, 2", ["1"], "range of the release"),
        ("[1, 2, 3]", ["1"], "range of the release"),
        ("[a, b]", ["1"], "aren't all numbers"),
        ("[1, 2]", ["CANARY"], "1 values of the population"),
        ("[1, 2]", ["NaN"], "1 values of the population"),
        ("[1, 2]", ["2020-01-01"], "aren't all numbers"),
        ("[2020-01-01 10:00:00+01:00, 2020-01-02 10:00:00+01:00]", ["2020-01-01"], "with a zone"),
        ("[2020-01-01, 2020-01-02]", ["2020-01-01 00:00:00.0000001"], "1 values"),
        ("{a, b", ["a"], "set of the release"),
        ("{a b]", ["a"], "set of the release"),
        ('"a', ["a"], "quoted label"),
    ],
)
def test_what_cant_be_read_is_refused(label, values, why):
    with pytest.raises(VerificationError, match=why) as caught:
        value_fits([label], values, is_number=False, is_scale=False)
    assert "CANARY" not in str(caught.value)


def test_a_node_covers_the_leaves_that_have_it_above():
    rows = {"lyon": ["lyon", "fr", "*"], "nice": ["nice", "fr", "*"], "fr": ["fr", "it", "*"]}
    labels = ["fr", "fr or missing", "lyon", "*", "no"]
    fits = node_fits(labels, ["lyon", "nice", "fr", "rome"], rows)

    assert fits.astype(int).tolist() == [
        [1, 0, 0, 0, 0],
        [0, 1, 1, 1, 0],
        [1, 1, 1, 1, 0],
        [0, 1, 0, 0, 0],
        [0, 1, 1, 1, 0],
        [0, 0, 0, 0, 0],
    ]
