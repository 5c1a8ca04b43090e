"""Checks of arguments: what passes, what doesn't, and what a message may repeat."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import HalfmaskError, ParameterError
from halfmask._validation import (
    check_fields,
    fraction,
    integer_at_least,
    is_text,
    list_of,
    mapping_of,
    number_between,
    one_of,
    rows_of_share,
)
from halfmask.anonymize import Anonymizer
from halfmask.data import ReadOptions, Schema, open_table
from halfmask.dp.ledger import PrivacyLedger
from halfmask.dp.queries import PrivateTable
from halfmask.guarantees import KAnonymity
from halfmask.masks import Masker, mask_table
from halfmask.synth import Synthesizer


@pytest.mark.parametrize("value", [2, 3, 10**30, np.int64(2), np.uint8(200)])
def test_integers_of_at_least_the_minimum_pass(value):
    integer_at_least(2, owner="It", k=value)


@pytest.mark.parametrize(
    "value", [1, 0, -5, True, 2.0, "2", None, np.int64(1), math.nan, np.array([2, 3])]
)
def test_other_values_are_no_integers_of_at_least_the_minimum(value):
    with pytest.raises(ParameterError, match=r"'k' parameter of It .* \[2, inf\)"):
        integer_at_least(2, owner="It", k=value)


@pytest.mark.parametrize(
    ("value", "low_open", "high_open", "passes"),
    [
        (0.0, False, False, True),
        (1.0, False, False, True),
        (0.0, True, False, False),
        (1.0, False, True, False),
        (0.5, True, True, True),
        (-1e-9, False, False, False),
        (1.0 + 1e-9, False, False, False),
        (math.nan, False, False, False),
        (math.inf, False, False, False),
        (True, False, False, False),
        ("0.5", False, False, False),
        (10**400, False, False, False),
    ],
)
def test_ends_of_a_range_belong_to_it_unless_they_are_open(value, low_open, high_open, passes):
    def check():
        number_between(0, 1, owner="It", low_open=low_open, high_open=high_open, t=value)

    if passes:
        check()
    else:
        left, right = "(" if low_open else r"\[", r"\)" if high_open else r"\]"
        with pytest.raises(ParameterError, match=rf"range \{left[-1]}0, 1{right}"):
            check()


def test_no_number_is_infinite_even_where_the_range_is():
    number_between(0, math.inf, owner="It", c=1e300)
    for wrong in (math.inf, 10**400):  # no float holds it
        with pytest.raises(ParameterError, match=r"range \[0, inf\)"):
            number_between(0, math.inf, owner="It", c=wrong)


def test_a_fraction_is_from_0_to_1():
    fraction(owner="It", low=0.0, high=1)
    with pytest.raises(ParameterError, match=r"'high' .* \[0, 1\]\. Got 1\.5 instead"):
        fraction(owner="It", low=0.0, high=1.5)


def test_a_word_is_one_of_those_allowed():
    one_of(("mean", "median"), owner="It", numeric="mean")
    with pytest.raises(ParameterError, match=r"one of 'mean', 'median'\. Got 'mode' instead"):
        one_of(("mean", "median"), owner="It", numeric="mode")


def test_a_message_repeats_no_long_text_and_no_object():
    with pytest.raises(ParameterError) as long:
        one_of(("a",), owner="It", word="CANARY" * 10)
    with pytest.raises(ParameterError) as listed:
        one_of(("a",), owner="It", word=("CANARY",))

    assert "CANARY" not in f"{long.value} {listed.value}"
    assert "a value of type tuple" in str(listed.value)


@given(st.integers(0, 1000), st.integers(0, 10**6))
def test_a_share_of_rows_is_that_of_its_digits(thousandths, rows):
    share = thousandths / 1000

    assert rows_of_share(share, rows) == thousandths * rows // 1000
    assert rows_of_share(share, rows, nearest=True) == (thousandths * rows + 500) // 1000


WRONG = ["age", {"age"}, 3.5, [{"age": 1}], {0: "x"}, {"age": 1}, None]


@pytest.mark.parametrize("value", WRONG)
def test_mappings_map_names_to_what_fits(value):
    with pytest.raises(ParameterError, match="'it' parameter of It must map names") as refused:
        mapping_of("texts", is_text, owner="It", hint="Write it.", it=value)
    assert refused.value.hint == "Write it."
    mapping_of("texts", is_text, owner="It", it={"age": "x"})


@pytest.mark.parametrize("value", ["age", 3.5, [0], ["age", None], {"age": "x"}, None])
def test_lists_hold_what_fits(value):
    with pytest.raises(ParameterError, match="'it' parameter of It must be a list of texts"):
        list_of("texts", is_text, owner="It", it=value)
    for fits in (["age"], ("age",), {"age"}, np.array(["age"]), {"age": 1}.keys()):
        list_of("texts", is_text, owner="It", it=fits)


def test_public_doors_refuse_other_shapes_with_errors_of_the_tree(tmp_path):
    """Not with an AttributeError that names something inside."""
    table = pl.DataFrame({"age": range(60), "town": ["x", "y", "z"] * 20})
    ledger = PrivacyLedger.create(tmp_path / "v", table, dataset="d", epsilon=9, delta=1e-6)
    private = PrivateTable.open(table, ledger=ledger)
    k = [KAnonymity(k=2)]
    doors: dict[str, Callable[[Any], object]] = {
        "group_by": private.group_by,
        "select": private.select,
        "masks": lambda it: Masker(it).fit(table),
        "table_masks": lambda it: Masker({}, table_masks=it).fit(table),
        "mask_table": lambda it: mask_table(open_table(table), it, key=bytes(32)),
        "rules": lambda it: Synthesizer(rules=it).fit(table),
        "kinds": lambda it: Anonymizer(guarantees=k, kinds=it).fit(table),
        "recoding": lambda it: Anonymizer(guarantees=k, recoding=it).fit(table),
        "options": lambda it: open_table(table, options=it),
        "dtypes": lambda it: ReadOptions(dtypes=it),
        "columns": lambda it: open_table(table).batches(columns=it),
        "schema": Schema,
    }
    for door in doors.values():
        for wrong in ("a", [{"a": 1}], {0: 1}, 3.5, object()):
            with pytest.raises(HalfmaskError):
                door(wrong)


@given(st.integers(1, 10**6), st.data())
def test_a_share_of_rows_is_the_quotient_that_it_was_computed_as(rows, data):
    part = data.draw(st.integers(0, rows))

    assert rows_of_share(part / rows, rows) == part
    assert rows_of_share(part / rows, rows, nearest=True) == part


@dataclass(frozen=True)
class Settings:
    """Fields with the bounds of their metadata."""

    rows: int = field(default=1, metadata={"ge": 1})
    most: int | None = field(default=None, metadata={"ge": 2})
    share: float = field(default=0.5, metadata={"gt": 0, "lt": 1})
    scale: float = field(default=1.0, metadata={"ge": 0})
    kind: str = field(default="a", metadata={"one_of": ("a", "b")})
    widths: tuple[int, ...] = field(default=(), metadata={"of": "widths", "ge": 1})
    free: object = None

    def __post_init__(self) -> None:
        check_fields(self)


@pytest.mark.parametrize(
    "given",
    [
        {"rows": 7},
        {"most": None},
        {"most": 2},
        {"share": 0.1},
        {"scale": 0},
        {"kind": "b"},
        {"widths": (1, 9)},
    ],
)
def test_settings_within_the_bounds_of_their_fields_are_taken(given):
    Settings(**given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rows": 0}, r"'rows' parameter of Settings must be an int in the range \[1, inf\)"),
        ({"rows": None}, "'rows' parameter"),
        ({"most": 1}, r"range \[2, inf\)"),
        ({"share": 0}, r"number in the range \(0, 1\)"),
        ({"share": 1}, r"number in the range \(0, 1\)"),
        ({"scale": -0.1}, r"number in the range \[0, inf\)"),
        ({"kind": "c"}, "one of 'a', 'b'"),
        ({"widths": (1, 0)}, "'widths' parameter of Settings must be an int"),
    ],
)
def test_a_setting_outside_of_the_bounds_of_its_field_is_refused(given, words):
    with pytest.raises(ParameterError, match=words):
        Settings(**given)
