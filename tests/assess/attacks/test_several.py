"""Settings that are lists: a single value is refused, in each attack with such a setting."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from halfmask._errors import ParameterError
from halfmask.assess.attacks import encodings, events, hashing, membership, poisoning, tables
from halfmask.assess.attacks._inputs import several

CANARY = "xqcanary"


def listed(values, **more):
    return several(values, parameter="known", owner="KnownEvents", of="numbers", **more)


@pytest.mark.parametrize(
    "values", [[2, 2], (2, 2), iter([2, 2]), np.array([2, 2]), pl.Series([2, 2])]
)
def test_a_list_of_any_kind_is_a_tuple_whatever_is_twice_in_it(values):
    assert listed(values) == (2, 2)


@pytest.mark.parametrize("values", [CANARY, CANARY.encode(), 3, None])
def test_one_value_is_no_list(values):
    kind = type(values).__name__
    with pytest.raises(ParameterError, match=f"'known' parameter of KnownEv.* {kind}") as caught:
        listed(values)
    assert CANARY not in str(caught.value)


def test_an_empty_list_is_told_unless_it_may_be():
    with pytest.raises(ParameterError, match=r"at least one\. Got an empty one"):
        listed([])
    assert listed([], or_none=True) == ()


@pytest.mark.parametrize(
    ("make", "setting", "lone"),
    [
        (events.KnownEvents, "known", 4),
        (events.IntervalFingerprint, "intervals", 3),
        (events.TrajectoryUniqueness, "points", 4),
        (events.TrajectoryUniqueness, "resolutions", 60.0),
        (membership.BlackBox, "hidden", 64),
        (membership.ShadowModels, "hidden", 64),
        (poisoning.ClientWorstCase, "weights", 5.0),
        (hashing.Dictionary, "salts", b"pepper"),
        (hashing.WeightReading, "salts", b"pepper"),
        (encodings.NameDictionary, "salts", b"pepper"),
        (tables.SinglingOutMultivariate, "n_columns", 3),
        (tables.Linkability, "parts", 3),
        (tables.Linkability, "parts", ("age", "zip")),
    ],
)
def test_a_setting_of_several_values_is_no_single_one(make, setting, lone):
    with pytest.raises(ParameterError, match=f"'{setting}' parameter of {make.__name__} must be"):
        make(**{setting: lone})


@pytest.mark.parametrize(
    ("make", "setting", "values"),
    [
        (events.KnownEvents, "known", (2, 4)),
        (events.IntervalFingerprint, "intervals", (2,)),
        (events.TrajectoryUniqueness, "points", (1,)),
        (events.TrajectoryUniqueness, "resolutions", ()),
        (membership.BlackBox, "hidden", (8, 8)),
        (membership.ShadowModels, "hidden", (8,)),
        (poisoning.ClientWorstCase, "weights", (1.0,)),
        (hashing.Dictionary, "salts", ()),
        (encodings.NameDictionary, "salts", (b"x",)),
        (tables.SinglingOutMultivariate, "n_columns", (2, 3)),
    ],
)
def test_lists_and_tuples_make_the_same_attack(make, setting, values):
    assert make(**{setting: list(values)}) == make(**{setting: values})


@pytest.mark.parametrize(
    "make", [hashing.Dictionary, hashing.WeightReading, encodings.NameDictionary]
)
def test_salts_are_bytes(make):
    with pytest.raises(ParameterError, match="must be bytes") as caught:
        make(salts=(CANARY,))
    assert CANARY not in str(caught.value)
