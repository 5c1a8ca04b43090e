"""Three digits of ZIP codes stay where the owner's map has enough people; others are 000."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from halfmask._errors import DataError, HierarchyError, ParameterError
from halfmask.geo import AreaMap, Points, Zip3
from halfmask.geo._zip3 import CENSUS_2000


def people_of(**many):
    names = pl.Series([name.removeprefix("z") for name in many])
    return AreaMap(names=names, people=np.array(list(many.values()), float))


def paths(rule, *codes):
    return {row[0]: row[1:] for row in rule.build(pl.Series(codes), column="zip").levels.rows()}


def test_the_census_of_2000_has_seventeen_prefixes_under_20000_people():
    # Guidance of HHS on de-identification, question 2.5.
    assert len(CENSUS_2000) == 17
    assert paths(Zip3(None), "03601", "89300", "10013", "00501-1234") == {
        "03601": ("000", "*"),
        "89300": ("000", "*"),
        "10013": ("100", "*"),
        "00501-1234": ("005", "*"),
    }


def test_the_owners_map_decides():
    people = people_of(z10001=15_000, z10013=5_000, z20001=19_999, z30001=4)
    rule = Zip3(people, (20_000,))

    assert paths(rule, "10099", "20001", "30001", "40001") == {
        "10099": ("100", "*"),
        "20001": ("000", "*"),
        "30001": ("000", "*"),
        "40001": ("000", "*"),
    }
    assert rule.people_of("100") == 20_000
    assert rule.people_of("000") == 20_003
    assert rule.people_of("10001") is rule.people_of("*") is Zip3(None).people_of("100") is None
    assert paths(Zip3(people_of(z100=20_000, z200=1), (20_000,)), "10001", "20001") == {
        "10001": ("100", "*"),
        "20001": ("000", "*"),
    }


def test_codes_that_were_numbers_get_their_zeros_again():
    numbers = pl.Series([501, 10013, None])
    codes = Zip3(None).of_codes(numbers, column="zip")

    assert codes.to_list() == ["005", "100", None]
    assert Zip3(None).of_codes(pl.Series(["10013-1234"]), column="zip").to_list() == ["100"]
    with pytest.raises(DataError, match="2 values that are no ZIP codes"):  # three digits already
        Zip3(None).of_codes(pl.Series([900, 893, None]), column="zip")
    with pytest.raises(DataError, match="1 values that are no ZIP codes"):
        Zip3(None).of_codes(pl.Series([36, 10013]), column="zip")
    assert paths(Zip3(None), 501, 3601) == {"501": ("005", "*"), "3601": ("000", "*")}


def test_a_column_of_codes_has_three_digits_at_most():
    rule = Zip3(people_of(z10001=20_000, z20001=19_999), (20_000,))
    codes = rule.of_codes(pl.Series(["10001", "20001", "20002-1234", None]), column="zip")

    assert codes.to_list() == ["100", "000", "000", None]
    assert paths(rule, "100", "000") == {"100": ("*",), "000": ("*",)}
    with pytest.raises(HierarchyError, match="has 1 values that are no digits of ZIP codes"):
        rule.build(pl.Series(["100", "200"]), column="zip")


def test_other_codes_are_counted_and_not_quoted():
    strange = pl.Series(["501", "CANARY", "1001", "1234 AB", "100133", "", "10013", None])

    with pytest.raises(DataError, match="'zip' has 6 values that are no ZIP codes") as refused:
        Zip3(None).of_codes(strange, column="zip")
    assert "CANARY" not in str(refused.value)
    with pytest.raises(HierarchyError, match="has 6 values that are no ZIP codes"):
        Zip3(None).build(strange.drop_nulls(), column="zip")
    with pytest.raises(DataError, match="1 of 2 names"):
        Zip3(people_of(z501=1, z1001=2), (20_000,)).build(pl.Series(["10013"]), column="zip")
    with pytest.raises(DataError, match="0 of 2 names"):
        Zip3(people_of(z501=1, z10013=2), (20_000,)).build(pl.Series(["10013"]), column="zip")


def test_a_map_goes_with_one_number_of_people():
    people = people_of(z100=20_000)
    for wrong in ((people, ()), (people, (1, 2)), (None, (20_000,))):
        with pytest.raises(ParameterError, match="one number of people"):
            Zip3(*wrong)
    with pytest.raises(ParameterError, match=r"with numbers of people\. Got AreaMap"):
        Zip3(AreaMap(names=pl.Series(["100"])), (20_000,))
    with pytest.raises(ParameterError, match="Zip3 needs codes"):
        Zip3(None).locate(Points(x=np.zeros(1), y=np.zeros(1)))
