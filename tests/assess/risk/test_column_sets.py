"""The risk over columns that no class covers."""

from __future__ import annotations

import json

import pytest

from halfmask._errors import ParameterError
from halfmask.assess.risk import ColumnSetRisk, ReleasedColumnsRisk, singling_out_sentence


def _set(*columns, unique, under_k):
    return ColumnSetRisk(columns=columns, rows=100, unique=unique, under_k=under_k)


def _risk(unchanged, *few, k=5, exact=True):
    every = _set("age", "pay", "town", unique=100, under_k=100)
    return ReleasedColumnsRisk(k=k, exact=exact, every=every, unchanged=unchanged, few=few)


WHOLE = _set("pay", "town", unique=60, under_k=90)
PAY = _set("pay", unique=20, under_k=40)


def test_the_worst_stands_in_one_sentence_with_whom_it_is_true_for():
    risk = _risk(WHOLE, PAY)

    assert risk.warning == (
        "20 % of the rows are unique on pay alone, 60 % on all 2 columns that are released "
        "unchanged. An attacker who knows these values finds the row; the guarantees cover "
        "quasi-identifiers only."
    )
    assert risk.advice == (
        "Round 'pay', merge its rare values before protect, generalize it (role quasi_identifier), "
        "or drop it (role identifier)."
    )


def test_rows_that_are_not_unique_but_few_are_said_with_k():
    risk = _risk(_set("pay", "town", unique=0, under_k=8), _set("pay", unique=0, under_k=3))

    assert risk.warning.startswith("3 % of the rows are in classes under k = 5 on pay alone, 8 %")


def test_nothing_is_said_where_each_row_has_its_company():
    for unchanged in (None, _set("pay", unique=0, under_k=0)):
        risk = _risk(unchanged)
        assert (risk.singles_out, risk.warning, risk.advice) == (False, None, None)


def test_a_set_of_all_columns_is_said_once():
    assert _risk(WHOLE, WHOLE).warning.startswith("60 % of the rows are unique on pay and town. An")
    assert _risk(PAY, PAY).warning.startswith("20 % of the rows are unique on pay alone. An")


def test_an_estimate_says_so():
    assert _risk(WHOLE, PAY, exact=False).warning.startswith("About 20 % of the rows are unique")


def test_of_equal_sets_the_one_of_fewest_columns_is_the_worst():
    assert _risk(WHOLE, PAY, _set("pay", "town", unique=20, under_k=40)).worst == PAY


def test_the_columns_of_the_worst_set_are_named_where_none_does_it_alone():
    pair = _set("pay", "town", unique=60, under_k=90)

    assert _risk(WHOLE, pair).advice.startswith("Round 'pay' and 'town', merge their rare")


def test_events_say_it_in_the_same_words():
    counts = [(["time"], 82), (["time", "ip", "page"], 100)]
    found = singling_out_sentence(counts, total=100, k=None, unit="event")

    assert found.startswith("82 % of the events are unique on time alone, 100 % on all 3 columns")
    assert "finds the event;" in found


def test_few_rows_are_said_as_a_number():
    """Rounded shares of nearly nothing say less than that it is one person, or three."""
    one = singling_out_sentence([(["a", "b"], 1)], total=48_842, k=None)
    three = singling_out_sentence([(["a"], 3), (["a", "b"], 40)], total=48_842, k=9)

    assert one.startswith("1 row is unique on all 2 columns that are released unchanged.")
    assert three.startswith("3 rows are in classes under k = 9 on a alone, 40 on all 2 columns")


def test_numbers_become_json():
    content = json.loads(json.dumps(_risk(WHOLE, PAY).to_dict()))

    assert content["unchanged"] == {
        "columns": ["pay", "town"], "unique": 60, "under_k": 90,
        "share_unique": 0.6, "share_under_k": 0.9,
    }  # fmt: skip
    assert (content["k"], content["exact"], len(content["few"])) == (5, True, 1)


def test_k_is_at_least_two():
    with pytest.raises(ParameterError, match="'k' parameter"):
        _risk(WHOLE, k=1)
