"""Facts become JSON by the names of their fields, in their order."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from halfmask._facts import READINGS, Facts, facts_of, for_json


@dataclass(frozen=True)
class Part:
    low: int
    high: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole(Facts):
    parts: tuple[Part, ...]
    by_name: dict[str, Part]
    nothing: None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen(Facts):
    facts = ("doubled", "other=whole")

    number: int
    whole: Whole

    @property
    def doubled(self) -> int:
        return 2 * self.number


WHOLE = Whole(parts=(Part(1, None),), by_name={"a": Part(2, 3)})
AS_JSON = {
    "parts": [{"low": 1, "high": None}],
    "by_name": {"a": {"low": 2, "high": 3}},
    "nothing": None,
}


def test_all_fields_are_there_in_their_order_with_what_they_hold():
    assert WHOLE.to_dict() == AS_JSON
    assert list(WHOLE.to_dict()) == list(AS_JSON)


def test_chosen_facts_may_be_properties_and_have_other_keys():
    found = Chosen(number=4, whole=WHOLE).to_dict()

    assert list(found.items()) == [("doubled", 8), ("other", AS_JSON)]


def test_readings_are_named_by_how_missing_cells_are_read():
    @dataclass(frozen=True)
    class Read(Facts):
        facts = READINGS
        as_value: int
        as_wildcard: int | None

    assert Read(1, None).to_dict() == {"missing_as_value": 1, "missing_as_wildcard": None}


def test_a_fact_that_is_not_there_is_an_error():
    with pytest.raises(AttributeError):
        facts_of(WHOLE, ["absent"])


@pytest.mark.parametrize("value", [1, 0.5, "x", True, None, [1, [2]]])
def test_what_json_holds_stays_as_it_is(value):
    assert for_json(value) == value
