"""EventsTarget: roles are checked, nested events become rows, times of any kind become seconds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError
from halfmask.assess.attacks import EventsTarget
from halfmask.assess.attacks.events._traces import merged_codes, seconds

ORDERS = [
    {
        "time": f"2014-09-0{k}T22:57:55",
        "customer": {"id": f"c{k % 2}"},
        "products": [{"id": f"x{j}", "quantity": j + k} for j in range(k)],
    }
    for k in range(1, 5)
]
RELEASED = [
    {
        "date": f"2014-09-0{k}T23:02:00",
        "group": [{"ref": j + 1, "delta": j + k} for j in range(k)],
    }
    for k in range(1, 5)
]


def nested(**more):
    return EventsTarget.of_events(
        RELEASED,
        ORDERS,
        entity="customer.id",
        time="time",
        items=("products[].id",),
        numbers=more.pop("numbers", ("products[].quantity",)),
        names={
            "time": "date", "products[].id": "group[].ref", "products[].quantity": "group[].delta",
        },
        **more,
    )  # fmt: skip


def test_nested_events_become_rows():
    target = nested()
    assert target.released.height == target.original.height == 10
    assert target.original["products[].quantity"].to_list() == [1, 2, 3, 3, 4, 5, 4, 5, 6, 7]
    assert target.owner_of_row.tolist() == list(range(10))
    assert target.original["customer.id"].n_unique() == 2
    assert target.released_name("products[].id") == "group[].ref"
    assert target.released_name("customer.id") == ""
    more = nested(numbers=("products[].quantity", "products[].price"))
    assert more.released_name("products[].price") == "", "it isn't in the renamed array"


def test_events_that_were_left_out_or_grew_keep_their_owners():
    group: Any = RELEASED[2]["group"]
    grown: list[dict[str, Any]] = [{**RELEASED[2], "group": group * 2}, RELEASED[0]]
    target = EventsTarget.of_events(
        grown, ORDERS, entity="customer.id", time="time", items=("products[].id",),
        names={"time": "date", "products[].id": "group[].ref"}, owners=[2, 0],
    )  # fmt: skip
    assert target.owner_of_row.tolist() == [3, 4, 5, 5, 5, 5, 0]


def test_a_field_that_no_event_has_was_dropped():
    target = EventsTarget.of_events(
        [{"date": 1}] * 4, ORDERS, entity="customer.id", time="time", items=("products[].id",),
        names={"time": "date"},
    )  # fmt: skip
    assert target.released_name("products[].id") == ""


def test_two_arrays_are_refused():
    with pytest.raises(ParameterError, match="one array"):
        EventsTarget.of_events([{}], [{}], entity="who", items=("a[].x", "b[].y"))


def test_roles_are_checked():
    rows = pl.DataFrame({"who": ["a", "b"], "at": [1.0, 2.0]})
    with pytest.raises(ColumnNotFoundError):
        EventsTarget(released=rows, original=rows, entity="whom")
    with pytest.raises(ColumnNotFoundError):
        EventsTarget(released=rows, original=rows, entity="who", pseudonym="nr")
    with pytest.raises(ColumnNotFoundError):
        EventsTarget(released=rows, original=rows, entity="who", time="at", names={"at": "date"})
    with pytest.raises(ColumnNotFoundError):
        EventsTarget(
            released=rows, original=rows, entity="who", time="at", control=rows.select("who")
        )
    with pytest.raises(ParameterError, match="must give the owner"):
        EventsTarget(released=rows[:1], original=rows, entity="who")
    for owners in ([0], [0, 2]):
        with pytest.raises(ParameterError, match="owners"):
            EventsTarget(released=rows, original=rows, entity="who", owners=np.array(owners))
    with pytest.raises(ParameterError, match="time_bounds"):
        EventsTarget(released=rows, original=rows, entity="who", time_bounds=(1.0, 0.0))


def test_no_cell_is_in_a_repr():
    found = repr(nested())
    assert "c1" not in found
    assert found == "EventsTarget(10 released of 10 rows, not joined)"


def test_the_unprotected_target_has_pseudonyms_that_say_nothing():
    target = replace(nested(), pseudonym="").unprotected()
    assert "customer.id" not in target.released.columns
    assert target.released["pseudonym"].n_unique() == 2


@pytest.mark.parametrize(
    "column",
    [
        pl.Series(["1970-01-01T00:01:00.000Z", None]),
        pl.Series(["1970-01-01T01:01:00+01:00", None]),
        pl.Series(["1970-01-01 00:01:00", None]),
        pl.Series(["1970-01-01 00:01", None]),
        pl.Series([60, None]),
        pl.Series([60_000, None]).cast(pl.Datetime("ms")),
        pl.Series([60_000_000, None]).cast(pl.Datetime("us", "Europe/Berlin")),
    ],
    ids=["zulu", "offset", "plain", "minutes", "seconds", "ms", "zoned"],
)
def test_times_of_any_kind_are_seconds(column):
    assert seconds(column)[0] == 60.0
    assert np.isnan(seconds(column)[1])


def test_days_are_seconds_and_other_texts_are_refused_without_saying_them():
    assert seconds(pl.Series(["1970-01-02"]))[0] == 86_400.0
    assert seconds(pl.Series(["1970-01-02"]).str.to_date())[0] == 86_400.0
    with pytest.raises(DataError) as refused:
        seconds(pl.Series(["secret"]))
    assert "secret" not in str(refused.value)


def test_codes_are_alike_where_all_cells_are():
    one = pl.DataFrame({"a": ["x", "x", None], "b": [1, 2, 1]})
    other = pl.DataFrame({"c": ["x", None], "d": [2, 1]})
    mine, theirs = merged_codes([(one, ["a", "b"]), (other, ["c", "d"])])
    assert len(set(mine.tolist())) == 3
    assert theirs.tolist() == mine[1:].tolist()
